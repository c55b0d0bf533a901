// The row locks of prepared transactions that recovery found in the log.
//
// RocksDB brings prepared transactions back without their locks. Until somebody decides them, no
// other transaction may change the rows they changed, or a decision would overwrite what came
// later. With range locks they are kept in the table of those.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/base/status.h"
#include "engine/store/database.h"
#include "engine/txn/transaction_id.h"
#include "rocksdb/utilities/transaction.h"

namespace cairn {

// Thread-safe. Mutex: mutex_ guards holders_. Locked are the keys that a transaction wrote, and
// those that it listed when it was prepared (TransactionSettings::prepares_locks): a list may have
// some that a rollback to a savepoint released.
class PreparedLocks {
 public:
  // Locks the keys for every prepared transaction of `database`, which outlives the result: in
  // `table`, or with RocksDB's locks when that is null. Called before any session exists, and again
  // for a table that the database is to use. Errors: those of RocksDB, kCorruption.
  static Result<std::unique_ptr<PreparedLocks>> Take(Database* database, RangeLockTable* table);

  // Whether there were any, decided by now or not.
  bool any_recovered() const { return any_recovered_; }
  // The transaction is decided.
  void Release(const TransactionId& id);
  // Hands over what locks the keys of a transaction until it is destroyed: null for one that holds
  // its locks itself, or in a table of ranges.
  std::unique_ptr<rocksdb::Transaction> GiveUp(const TransactionId& id);

 private:
  PreparedLocks() = default;

  bool any_recovered_ = false;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<rocksdb::Transaction>> holders_;  // By transaction name.
};

}  // namespace cairn
