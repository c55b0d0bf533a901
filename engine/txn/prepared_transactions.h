// Prepared transactions that no session runs: those that recovery found in the log, and those that sessions left behind.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/database.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/transaction_id.h"
#include "rocksdb/utilities/transaction.h"

namespace cairn {

// Those whose names are ids. Of others, which no server has prepared and which stay as they are, the log says so.
std::vector<TransactionId> ListPreparedTransactions(Database* database);

// Decides one. `locks`: of those that recovery found. Errors: kNotFound, those of RocksDB; the transaction then stays
// prepared, with its locks, and one that is to be committed is in Database::unfinished_commits().
Status CommitPrepared(Database* database, PreparedLocks* locks, const TransactionId& id);
Status RollbackPrepared(Database* database, PreparedLocks* locks, const TransactionId& id);

// Gives up a prepared transaction, which RocksDB finds again by its name.
void LeavePrepared(std::unique_ptr<rocksdb::Transaction>* transaction);
// The same for one that is to be committed, which failed. `holder`: as UnfinishedCommits has it.
void LeaveUnfinished(Database* database, std::unique_ptr<rocksdb::Transaction>* transaction,
                     std::unique_ptr<rocksdb::Transaction> holder);

}  // namespace cairn
