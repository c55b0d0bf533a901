// Files that RocksDB has taken over, in a database whose transactions write before they commit
// (WRITE_PREPARED).
//
// A file may get a sequence number of its own. RocksDB does not note that number as committed, and
// so hides the file's entries from everybody as long as an older transaction is prepared.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "rocksdb/listener.h"
#include "rocksdb/types.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn::lsm {

// Thread-safe.
class IngestedFiles {
 public:
  // A file has this number.
  void Note(rocksdb::SequenceNumber number);
  // After an ingestion: its files are visible to snapshots from then on, also if another thread
  // makes them so. `db`, the same each time, has the policy WRITE_PREPARED.
  void Commit(rocksdb::TransactionDB* db);

 private:
  std::mutex mutex_;
  std::vector<rocksdb::SequenceNumber> numbers_;  // Guarded by mutex_. Not yet committed.
};

// Notes the files that its database ingests. RocksDB calls it before the ingestion returns.
std::shared_ptr<rocksdb::EventListener> MakeIngestionListener(std::shared_ptr<IngestedFiles> files);

}  // namespace cairn::lsm
