// RocksDB's locks of keys and its transactions, at less cost where a transaction does little.
#pragma once

#include <memory>

#include "rocksdb/options.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn::lsm {

// Has the database that is opened with `options` keep its transactions' locks as HeldKeys. For one
// database; its transactions must not expire (TransactionOptions::expiration).
void UseKeyLocks(rocksdb::TransactionDBOptions* options);

// Begins a transaction as TransactionDB::BeginTransaction does, and takes the object of an earlier
// one for it, if any.
std::unique_ptr<rocksdb::Transaction> BeginTransaction(
    rocksdb::TransactionDB* database, const rocksdb::WriteOptions& write_options,
    const rocksdb::TransactionOptions& options, std::unique_ptr<rocksdb::Transaction> earlier);

}  // namespace cairn::lsm
