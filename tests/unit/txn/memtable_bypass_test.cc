#include "engine/txn/memtable_bypass.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "engine/locks/interruptible_mutex.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/prepared_transactions.h"
#include "engine/txn/transaction.h"
#include "rocksdb/env.h"
#include "rocksdb/statistics.h"
#include "tests/unit/store/log_file_control.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

constexpr int kRows = 1000;
const TransactionId kId{1, "id", ""};

class MemtableBypassTest : public ::testing::Test {
 protected:
  MemtableBypassTest() {
    env_ = rocksdb::NewCompositeEnv(
        std::make_shared<ControlledFileSystem>(disk_.env()->GetFileSystem(), &control_));
    Open();
  }

  // With so few memtables that each commit past them changes RocksDB's stall conditions.
  void Open() {
    DatabaseOptions options = disk_.Options();
    options.db.env = env_.get();
    options.db.statistics = statistics_;
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    options.default_column_family_text = "max_write_buffer_number=2";
    options.bypass_memtable_bytes = kRows * 10;
    auto database = Database::Open(std::move(options), &disk_.log());
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
    auto dictionary = Dictionary::Load(database_.get());
    ASSERT_TRUE(dictionary.ok());
    dictionary_ = std::move(dictionary).value();
  }

  static std::string Key(int row) { return "key" + std::to_string(row); }

  static void Start(Transaction& transaction) {
    transaction.Start(TransactionSettings{.autocommit = false, .lock_wait_timeout_ms = 50});
  }

  void Put(Transaction& transaction, int row, std::string_view value) {
    ASSERT_TRUE(transaction.Lock(family(), Key(row), LockMode::kExclusive).ok());
    ASSERT_TRUE(transaction.Put(family(), Key(row), value).ok());
  }

  // Has put all rows, and is prepared.
  std::unique_ptr<Transaction> Prepared(std::string_view value) {
    auto transaction = std::make_unique<Transaction>(database_.get());
    Start(*transaction);
    for (int row = 0; row < kRows; ++row) Put(*transaction, row, value);
    EXPECT_TRUE(transaction->Prepare(kId, Durability::kSync).ok());
    return transaction;
  }

  std::string Read(int row) {
    Transaction transaction(database_.get());
    Start(transaction);
    rocksdb::PinnableSlice value;
    const Status read = transaction.Get(family(), Key(row), Transaction::View::kSnapshot, &value);
    return read.ok() ? value.ToString() : std::string(ToString(read.code()));
  }

  bool IsLocked(int row) {
    Transaction transaction(database_.get());
    Start(transaction);
    return transaction.Lock(family(), Key(row), LockMode::kExclusive).code() ==
           StatusCode::kLockTimeout;
  }

  uint64_t Bypasses() const { return statistics_->getTickerCount(rocksdb::NUMBER_WBWI_INGEST); }
  const ColumnFamily& family() { return database_->default_family(); }

  MemoryDisk disk_;
  LogFileControl control_;
  std::shared_ptr<rocksdb::Statistics> statistics_ = rocksdb::CreateDBStatistics();
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
};

TEST_F(MemtableBypassTest, ALargeCommitIsInFilesWhenItReturns) {
  for (int round = 1; round <= 3; ++round) {
    const std::string value = "value" + std::to_string(round);
    const auto transaction = Prepared(value);
    transaction->CommitOrdered();
    EXPECT_EQ(Read(0), value);
    EXPECT_FALSE(IsLocked(0));
    ASSERT_TRUE(transaction->Commit(Durability::kSync).ok());
    EXPECT_EQ(Read(kRows - 1), value);
    uint64_t memtables = 0;
    ASSERT_TRUE(database_->rocksdb()->GetIntProperty(rocksdb::DB::Properties::kNumImmutableMemTable,
                                                     &memtables));
    EXPECT_EQ(memtables, 0u);
    EXPECT_EQ(database_->memory_accounts().Bytes(MemoryPart::kWriteBatches), 0u);
    EXPECT_EQ(Bypasses(), static_cast<uint64_t>(round));
  }
  dictionary_.reset();
  database_.reset();
  Open();
  EXPECT_EQ(Read(0), "value3");
  EXPECT_TRUE(ListPreparedTransactions(database_.get()).empty());
}

TEST_F(MemtableBypassTest, SmallOnesAndThoseThatAreNotPreparedGoThroughTheMemtable) {
  Transaction transaction(database_.get());
  Start(transaction);
  for (int row = 0; row < kRows; ++row) Put(transaction, row, "value");
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  Start(transaction);
  Put(transaction, 0, "small");
  ASSERT_TRUE(transaction.Prepare(kId, Durability::kSync).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_EQ(Bypasses(), 0u);
  EXPECT_EQ(Read(0), "small");
}

TEST_F(MemtableBypassTest, WhatWasUndoneIsNotCommitted) {
  Transaction transaction(database_.get());
  Start(transaction);
  for (int row = 0; row < kRows; ++row) Put(transaction, row, "kept");
  transaction.BeginStatement();
  for (int row = 0; row < 2 * kRows; ++row) Put(transaction, row, "undone");
  ASSERT_TRUE(transaction.RollbackStatement().ok());
  ASSERT_TRUE(transaction.Delete(family(), Key(1)).ok());
  ASSERT_TRUE(transaction.Prepare(kId, Durability::kSync).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_EQ(Bypasses(), 1u);
  EXPECT_EQ(Read(0), "kept");
  EXPECT_EQ(Read(1), "not found");
  EXPECT_EQ(Read(kRows), "not found");
}

TEST_F(MemtableBypassTest, AutoIncrementIsRaisedBeforeTheTransactionIsPrepared) {
  const auto table = *dictionary_->CreateTable("db.t", {{IndexKind::kPrimary}}, std::nullopt);
  Transaction transaction(database_.get());
  Start(transaction);
  for (int row = 0; row < kRows; ++row) Put(transaction, row, "value");
  transaction.RaiseAutoIncrement(*table, 8);
  ASSERT_TRUE(transaction.Prepare(kId, Durability::kSync).ok());
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(*table), 8u);
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_EQ(Bypasses(), 1u);
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(*table), 8u);
}

TEST_F(MemtableBypassTest, WithoutRoomTheCommitIsAnOrdinaryOne) {
  control_.free_bytes = 1 << 20;
  ASSERT_TRUE(Prepared("value")->Commit(Durability::kSync).ok());
  EXPECT_EQ(Bypasses(), 0u);
  EXPECT_EQ(Read(0), "value");
}

TEST_F(MemtableBypassTest, ACommitThatFailsIsRepeatedAtTheNextStart) {
  const auto transaction = Prepared("value");
  control_.full = true;
  EXPECT_FALSE(transaction->Commit(Durability::kSync).ok());
  control_.full = false;
  ASSERT_TRUE(database_->rocksdb()->Resume().ok());
  const int syncs = control_.syncs;
  EXPECT_FALSE(database_->MakeCommitsDurable().ok());
  EXPECT_EQ(control_.syncs, syncs + 1) << "what others have committed is on disk";
  EXPECT_EQ(Read(0), "not found");
  EXPECT_TRUE(IsLocked(0));
  // RocksDB would commit nothing by that name, and say that it has.
  EXPECT_EQ(CommitPrepared(database_.get(), /*locks=*/nullptr, kId, OnFailure::kRemember).code(),
            StatusCode::kIoError);
  EXPECT_TRUE(IsLocked(0));

  dictionary_.reset();
  database_.reset();
  Open();
  const auto locks = PreparedLocks::Take(database_.get(), /*table=*/nullptr);
  ASSERT_TRUE(locks.ok());
  ASSERT_TRUE(CommitPrepared(database_.get(), locks->get(), kId, OnFailure::kTryAgain).ok());
  EXPECT_EQ(Read(kRows - 1), "value");
  EXPECT_FALSE(IsLocked(0));
}

}  // namespace
}  // namespace cairn
