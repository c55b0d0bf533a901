// Decisions on prepared transactions, to commit or to roll back, that could not be carried out.
//
// The transactions stay prepared, with their locks. Some decisions are tried again; whoever made
// one must not forget it before it is carried out, as after a restart these are prepared
// transactions like others. Of others whoever decided knows that they failed: they are remembered
// so that nobody decides otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/base/status.h"
#include "engine/locks/range_lock_table.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn {

// Thread-safe. Mutex: mutex_ guards all members and is held while the transactions are tried.
class UnfinishedDecisions {
 public:
  enum class Chance : uint8_t {
    kNow,      // To try again.
    kAtStart,  // RocksDB has lost the batch; the log has it.
  };

  enum class Decision : uint8_t { kCommit, kRollback };

  // `name`: of a transaction that RocksDB knows as prepared, and that no other object owns.
  // `holder`: that has its locks (PreparedLocks); null: it has them itself, or a table of ranges
  // does.
  void Add(std::string name, Decision decision, std::unique_ptr<rocksdb::Transaction> holder,
           Chance chance);
  // Carries out what there is and releases what `locks`, if there are any, keep for it. Errors:
  // those of the first that fails; it and the others stay. kIoError: some wait for the next start.
  Status Retry(rocksdb::TransactionDB* database, RangeLockTable* locks);
  // Whether it is among those that only the next start can decide.
  bool IsForTheNextStart(const std::string& name);

  // Whether Retry() will carry it out.
  bool IsTriedAgain(const std::string& name);

  // Somebody was told that this decision has failed, and may repeat it.
  void NoteTold(std::string name, Decision decision);
  // The one that was told to have failed, if any, since the transaction was prepared.
  std::optional<Decision> Told(const std::string& name);
  // It is decided.
  void Forget(const std::string& name);

  // Releases the holders: before the database is closed, which leaves the transactions prepared.
  void Clear();

 private:
  std::mutex mutex_;
  struct Unfinished {
    Decision decision;
    std::unique_ptr<rocksdb::Transaction> holder;
  };
  using Transactions = std::map<std::string, Unfinished>;  // By transaction name.
  Transactions waiting_;
  Transactions for_the_next_start_;
  std::map<std::string, Decision> told_;
};

}  // namespace cairn
