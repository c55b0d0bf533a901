// Prepared transactions that somebody has durably decided to commit, but whose commit failed.
//
// They stay prepared, with their locks, and are tried again; a restart commits them as well. Whoever decided must
// not forget the decision before they are committed.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "engine/base/status.h"
#include "engine/store/range_lock_table.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn {

// Thread-safe. Mutex: mutex_ guards names_ and is held while the transactions are tried.
class UnfinishedCommits {
 public:
  // `name`: of a transaction that RocksDB knows as prepared, and that no other object owns.
  void Add(std::string name);
  // Commits what there is and releases what `locks`, if there are any, keep for it. Errors: those of the first that
  // fails; it and the others stay.
  Status Retry(rocksdb::TransactionDB* database, RangeLockTable* locks);

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

}  // namespace cairn
