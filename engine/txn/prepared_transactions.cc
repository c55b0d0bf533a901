#include "engine/txn/prepared_transactions.h"

#include <utility>

#include "engine/store/rocksdb_status.h"

namespace cairn {
namespace {

std::unique_ptr<rocksdb::Transaction> Find(Database* database, const TransactionId& id) {
  return std::unique_ptr<rocksdb::Transaction>(
      database->rocksdb()->GetTransactionByName(EncodeTransactionName(id)));
}

// The locks go with the transaction.
Status Decide(Database* database, PreparedLocks* locks, const TransactionId& id,
              rocksdb::Transaction* transaction,
              rocksdb::Status (rocksdb::Transaction::*decide)()) {
  transaction->GetWriteOptions()->sync = true;
  CAIRN_RETURN_IF_ERROR(FromRocksDb((transaction->*decide)()));
  RangeLockTable* const ranges = database->range_locks();
  if (ranges != nullptr) ranges->ReleaseKept(EncodeTransactionName(id));
  locks->Release(id);
  return Status();
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

Status CommitPrepared(Database* database, PreparedLocks* locks, const TransactionId& id) {
  std::unique_ptr<rocksdb::Transaction> transaction = Find(database, id);
  if (transaction == nullptr) return Status(StatusCode::kNotFound);
  const Status committed =
      Decide(database, locks, id, transaction.get(), &rocksdb::Transaction::Commit);
  if (committed.ok()) return committed;
  LeaveUnfinished(database, &transaction, locks->GiveUp(id));
  return committed.WithContext("the transaction stays prepared until it can be committed");
}

Status RollbackPrepared(Database* database, PreparedLocks* locks, const TransactionId& id) {
  std::unique_ptr<rocksdb::Transaction> transaction = Find(database, id);
  if (transaction == nullptr) return Status(StatusCode::kNotFound);
  const Status rolled_back =
      Decide(database, locks, id, transaction.get(), &rocksdb::Transaction::Rollback);
  if (rolled_back.ok()) return rolled_back;
  LeavePrepared(&transaction);
  return rolled_back.WithContext("the transaction stays prepared");
}

void LeavePrepared(std::unique_ptr<rocksdb::Transaction>* transaction) {
  (*transaction)->ClearSnapshot();
  transaction->release();  // NOLINT(bugprone-unused-return-value)
}

void LeaveUnfinished(Database* database, std::unique_ptr<rocksdb::Transaction>* transaction,
                     std::unique_ptr<rocksdb::Transaction> holder) {
  // A commit past the memtable takes the batch with it, and the next one would commit nothing.
  const bool whole = (*transaction)->GetWriteBatch()->GetWriteBatch()->Count() > 0;
  database->unfinished_commits().Add(
      (*transaction)->GetName(), std::move(holder),
      whole ? UnfinishedCommits::Chance::kNow : UnfinishedCommits::Chance::kAtStart);
  LeavePrepared(transaction);
}

}  // namespace cairn
