#include "engine/txn/prepared_transactions.h"

#include <utility>

#include "engine/lsm/rocksdb_status.h"
#include "engine/txn/auto_increment_raises.h"
#include "engine/txn/memtable_bypass.h"

namespace cairn {
namespace {

using Decision = UnfinishedDecisions::Decision;

std::unique_ptr<rocksdb::Transaction> Find(Database* database, const TransactionId& id) {
  return std::unique_ptr<rocksdb::Transaction>(
      database->rocksdb()->GetTransactionByName(EncodeTransactionName(id)));
}

// A commit past the memtable takes the batch with it, and the next one would commit nothing.
bool IsWhole(rocksdb::Transaction& transaction) {
  return transaction.GetWriteBatch()->GetWriteBatch()->Count() > 0;
}

// The locks go with the transaction.
Status CarryOut(Database* database, PreparedLocks* locks, const TransactionId& id,
                rocksdb::Transaction* transaction, Decision decision, Durability durability) {
  transaction->GetWriteOptions()->sync = durability == Durability::kSync;
  std::vector<rocksdb::ColumnFamilyHandle*> bypassed;
  if (decision == Decision::kCommit && MayBypassMemtable(*database, transaction->GetWriteBatch())) {
    bypassed = ChangedFamilies(*database, transaction->GetWriteBatch());
  }
  if (decision == Decision::kRollback) {
    AutoIncrementRaises::Of(*database, *transaction->GetWriteBatch()->GetWriteBatch())
        .WriteForRollback(database);
  }
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(decision == Decision::kCommit ? transaction->Commit() : transaction->Rollback()));
  RangeLockTable* const ranges = database->range_locks();
  if (ranges != nullptr) ranges->ReleaseKept(EncodeTransactionName(id));
  locks->Release(id);
  database->unfinished_decisions().Forget(EncodeTransactionName(id));
  if (!bypassed.empty()) WriteOut(*database, bypassed);
  return Status();
}

// Whether what was decided before allows this decision.
Status CheckMayDecide(Database* database, const std::string& name, Decision decision) {
  UnfinishedDecisions& unfinished = database->unfinished_decisions();
  if (unfinished.IsForTheNextStart(name)) {
    return Status(StatusCode::kIoError,
                  "a commit of the transaction has failed; it can be decided after a restart");
  }
  // Whoever tries it again has the transaction in hand.
  if (unfinished.IsTriedAgain(name)) {
    return Status(StatusCode::kBusy, "a decision has failed and is tried again within a second");
  }
  if (unfinished.Told(name).value_or(decision) == decision) return Status();
  return Status(
      StatusCode::kInvalidArgument,
      decision == Decision::kRollback
          ? "the transaction is to be committed, which has failed: repeat the commit"
          : "the transaction is to be rolled back, which has failed: repeat the rollback");
}

Status Decide(Database* database, PreparedLocks* locks, const TransactionId& id, Decision decision,
              OnFailure on_failure, Durability durability) {
  std::unique_ptr<rocksdb::Transaction> transaction = Find(database, id);
  if (transaction == nullptr) return Status(StatusCode::kNotFound);
  const std::string name = transaction->GetName();
  Status allowed = CheckMayDecide(database, name, decision);
  if (!allowed.ok()) {
    LeavePrepared(&transaction);
    return allowed;
  }
  Status decided = CarryOut(database, locks, id, transaction.get(), decision, durability);
  if (decided.ok()) return decided;
  if (on_failure == OnFailure::kRemember && IsWhole(*transaction)) {
    database->unfinished_decisions().NoteTold(name, decision);
    LeavePrepared(&transaction);
    return decided.WithContext("the transaction stays prepared");
  }
  LeaveUnfinished(database, &transaction, decision, locks->GiveUp(id));
  return decided.WithContext("the transaction stays prepared until this can be done");
}

}  // namespace

std::vector<TransactionId> ListPreparedTransactions(Database* database) {
  std::vector<rocksdb::Transaction*> prepared;
  database->rocksdb()->GetAllPreparedTransactions(&prepared);
  std::vector<TransactionId> ids;
  for (rocksdb::Transaction* transaction : prepared) {
    auto id = DecodeTransactionName(transaction->GetName());
    if (id.ok()) {
      ids.push_back(std::move(id).value());
    } else {
      database->log().Write(Severity::kError,
                            "a prepared transaction is left alone: " + id.status().ToString());
    }
  }
  return ids;
}

bool IsPrepared(const Database& database, const std::string& name) {
  return database.rocksdb()->GetTransactionByName(name) != nullptr;
}

Status CommitPrepared(Database* database, PreparedLocks* locks, const TransactionId& id,
                      OnFailure on_failure, Durability durability) {
  return Decide(database, locks, id, Decision::kCommit, on_failure, durability);
}

Status RollbackPrepared(Database* database, PreparedLocks* locks, const TransactionId& id,
                        OnFailure on_failure, Durability durability) {
  return Decide(database, locks, id, Decision::kRollback, on_failure, durability);
}

void LeavePrepared(std::unique_ptr<rocksdb::Transaction>* transaction) {
  (*transaction)->ClearSnapshot();
  transaction->release();  // NOLINT(bugprone-unused-return-value)
}

void LeaveUnfinished(Database* database, std::unique_ptr<rocksdb::Transaction>* transaction,
                     Decision decision, std::unique_ptr<rocksdb::Transaction> holder) {
  database->unfinished_decisions().Add((*transaction)->GetName(), decision, std::move(holder),
                                       IsWhole(**transaction)
                                           ? UnfinishedDecisions::Chance::kNow
                                           : UnfinishedDecisions::Chance::kAtStart);
  LeavePrepared(transaction);
}

}  // namespace cairn
