// Prepared transactions that belong to their names: those of XA PREPARE, and those that recovery
// found in the log.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/database.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/transaction.h"
#include "engine/txn/transaction_id.h"
#include "rocksdb/utilities/transaction.h"

namespace cairn {

// Those whose names are ids. Of others, which no server has prepared and which stay as they are,
// the log says so.
std::vector<TransactionId> ListPreparedTransactions(Database* database);

// Whether RocksDB knows a prepared transaction by that name.
bool IsPrepared(const Database& database, const std::string& name);

// What becomes of a decision that fails; the transaction stays prepared, with its locks.
enum class OnFailure : uint8_t {
  // Whoever decided is told, and may repeat it. Nobody decides otherwise: a binary log may have the
  // decision, or another
  // engine may have carried it out.
  kRemember,
  kTryAgain,  // The decision stands: it is in Database::unfinished_decisions().
};

// Decides one, whoever prepared it. `locks`: of those that recovery found. kSync: it is on disk
// then. Errors: kNotFound, kInvalidArgument (the other decision has failed), kBusy (one is being
// tried again), those of RocksDB.
Status CommitPrepared(Database* database, PreparedLocks* locks, const TransactionId& id,
                      OnFailure on_failure, Durability durability = Durability::kSync);
Status RollbackPrepared(Database* database, PreparedLocks* locks, const TransactionId& id,
                        OnFailure on_failure, Durability durability = Durability::kSync);

// Gives up a prepared transaction, which RocksDB finds again by its name.
void LeavePrepared(std::unique_ptr<rocksdb::Transaction>* transaction);
// The same for one whose decision failed. `holder`: as UnfinishedDecisions has it.
void LeaveUnfinished(Database* database, std::unique_ptr<rocksdb::Transaction>* transaction,
                     UnfinishedDecisions::Decision decision,
                     std::unique_ptr<rocksdb::Transaction> holder);

}  // namespace cairn
