// Files that RocksDB has taken over, in a database whose transactions write before they commit
// (WRITE_PREPARED).
//
// A file may get a sequence number of its own. RocksDB does not note that number as committed, and
// so hides the file's entries from everybody as long as an older transaction is prepared.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/listener.h"
#include "rocksdb/types.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn::lsm {

// Thread-safe.
class IngestedFiles {
 public:
  // As DB::IngestExternalFiles; the files are visible to every snapshot that is taken later. `db`,
  // the same each time, has the policy WRITE_PREPARED.
  rocksdb::Status Ingest(rocksdb::TransactionDB* db,
                         const std::vector<rocksdb::IngestExternalFileArg>& files);

  // Held while a snapshot is taken, or an iterator made that shows the state of now. One that was
  // taken between a file's coming and its number's being noted would show first none of its entries
  // and then all of them.
  std::shared_lock<std::shared_mutex> KeepOut() { return std::shared_lock(ingesting_); }

  // A file has this number.
  void Note(rocksdb::SequenceNumber number);

 private:
  void Commit(rocksdb::TransactionDB* db);

  std::shared_mutex ingesting_;  // Held alone from before an ingestion until Commit() has ended.
  std::mutex mutex_;
  std::vector<rocksdb::SequenceNumber> numbers_;  // Guarded by mutex_. Not yet committed.
};

// Notes the files that its database ingests. RocksDB calls it before the ingestion returns.
std::shared_ptr<rocksdb::EventListener> MakeIngestionListener(std::shared_ptr<IngestedFiles> files);

}  // namespace cairn::lsm
