// Prepared transactions that somebody has durably decided to commit, but whose commit failed.
//
// They stay prepared, with their locks, and are tried again; a restart commits them as well. Whoever decided must
// not forget the decision before they are committed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/base/status.h"
#include "engine/store/range_lock_table.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn {

// Thread-safe. Mutex: mutex_ guards all members and is held while the transactions are tried.
class UnfinishedCommits {
 public:
  enum class Chance : uint8_t {
    kNow,      // To try again.
    kAtStart,  // RocksDB has lost the batch; the log has it.
  };

  // `name`: of a transaction that RocksDB knows as prepared, and that no other object owns. `holder`: that has its locks
  // (PreparedLocks); null: it has them itself, or a table of ranges does.
  void Add(std::string name, std::unique_ptr<rocksdb::Transaction> holder, Chance chance);
  // Commits what there is and releases what `locks`, if there are any, keep for it. Errors: those of the first that
  // fails; it and the others stay. kIoError: some wait for the next start.
  Status Retry(rocksdb::TransactionDB* database, RangeLockTable* locks);
  // Releases the holders: before the database is closed, which leaves the transactions prepared.
  void Clear();

 private:
  std::mutex mutex_;
  using Holders =
      std::map<std::string, std::unique_ptr<rocksdb::Transaction>>;  // By transaction name.
  Holders holders_;
  Holders for_the_next_start_;
};

}  // namespace cairn
