#include "engine/txn/claimed_tables.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/foreign_key_record.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/txn/transaction.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

constexpr uint32_t kIndexNumber = 300;
constexpr uint32_t kUniqueIndexNumber = 301;

class ClaimedTablesTest : public ::testing::Test {
 protected:
  ClaimedTablesTest() {
    DatabaseOptions options = disk_.Options();
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
    table_ = TableOf({kIndexNumber, kUniqueIndexNumber});
  }

  const ColumnFamily& family() { return database_->default_family(); }

  TableDefinition TableOf(const std::vector<uint32_t>& index_numbers) {
    TableDefinition table;
    for (const uint32_t number : index_numbers) {
      IndexDefinition index;
      index.id = {family().id, number};
      index.family = &family();
      table.indexes.push_back(index);
    }
    return table;
  }

  static std::string Key(uint32_t row, uint32_t index_number = kIndexNumber) {
    std::string key;
    AppendBigEndian(index_number, &key);
    AppendBigEndian(row, &key);
    return key;
  }

  // What one statement does.
  std::unique_ptr<Transaction> Begin() {
    auto transaction = std::make_unique<Transaction>(database_.get());
    TransactionSettings settings;
    settings.lock_wait_timeout_ms = 50;
    transaction->Start(settings);
    return transaction;
  }

  // As a row is inserted. Errors: kDuplicateKey.
  Status Insert(Transaction* transaction, const std::string& key) {
    rocksdb::PinnableSlice value;
    const Status read = transaction->GetForUpdate(family(), key, LockMode::kExclusive, &value);
    if (read.ok()) return Status(StatusCode::kDuplicateKey);
    if (read.code() != StatusCode::kNotFound) return read;
    return transaction->Put(family(), key, "row");
  }

  size_t LocksInRocksDb() const { return database_->rocksdb()->GetLockStatusData().size(); }
  bool AnyClaims() const { return database_->table_claims().any(); }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  TableDefinition table_;
};

TEST_F(ClaimedTablesTest, RowsOfAnEmptyTableAreNotLockedOneByOne) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  for (uint32_t row = 1; row <= 100; ++row) {
    ASSERT_TRUE(Insert(loader.get(), Key(row)).ok());
    ASSERT_TRUE(loader->Lock(family(), Key(row, kUniqueIndexNumber), LockMode::kExclusive).ok());
  }
  EXPECT_EQ(LocksInRocksDb(), 0u);
  EXPECT_EQ(loader->lock_count(), 200u);
  ASSERT_TRUE(loader->Commit(Durability::kDelayed).ok());
  EXPECT_FALSE(AnyClaims());
  EXPECT_EQ(loader->lock_count(), 0u);
  EXPECT_EQ(Insert(Begin().get(), Key(7)).code(), StatusCode::kDuplicateKey);
}

TEST_F(ClaimedTablesTest, TheTransactionFindsItsOwnRows) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  for (const uint32_t row : {5, 9, 3, 7}) ASSERT_TRUE(Insert(loader.get(), Key(row)).ok());
  for (const uint32_t row : {3, 9}) {
    EXPECT_EQ(Insert(loader.get(), Key(row)).code(), StatusCode::kDuplicateKey);
  }
  EXPECT_TRUE(Insert(loader.get(), Key(4)).ok());
  ASSERT_TRUE(loader->Delete(family(), Key(9)).ok());
  EXPECT_TRUE(Insert(loader.get(), Key(9)).ok());
}

TEST_F(ClaimedTablesTest, WhoComesMeetsTheRowsAndNothingElse) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  for (const uint32_t row : {1, 2, 3}) ASSERT_TRUE(Insert(loader.get(), Key(row)).ok());

  const std::unique_ptr<Transaction> other = Begin();
  EXPECT_EQ(Insert(other.get(), Key(2)).code(), StatusCode::kLockTimeout);
  EXPECT_FALSE(AnyClaims());
  EXPECT_EQ(LocksInRocksDb(), 3u);
  EXPECT_TRUE(Insert(other.get(), Key(4)).ok());
  // The loader goes on with locks, and sees what others have.
  EXPECT_EQ(Insert(loader.get(), Key(4)).code(), StatusCode::kLockTimeout);
  ASSERT_TRUE(Insert(loader.get(), Key(5)).ok());
  EXPECT_EQ(loader->lock_count(), 4u);
  ASSERT_TRUE(other->Commit(Durability::kDelayed).ok());
  EXPECT_EQ(Insert(loader.get(), Key(4)).code(), StatusCode::kDuplicateKey);
  ASSERT_TRUE(loader->Commit(Durability::kDelayed).ok());
  EXPECT_EQ(LocksInRocksDb(), 0u);
  for (const uint32_t row : {1, 2, 3, 4, 5}) {
    EXPECT_EQ(Insert(Begin().get(), Key(row)).code(), StatusCode::kDuplicateKey);
  }
}

TEST_F(ClaimedTablesTest, WhatIsLockedInAnotherIndexOfTheTableCountsAsWell) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  ASSERT_TRUE(loader->Lock(family(), Key(1, kUniqueIndexNumber), LockMode::kExclusive).ok());
  const std::unique_ptr<Transaction> other = Begin();
  EXPECT_EQ(other->Lock(family(), Key(1, kUniqueIndexNumber), LockMode::kShared).code(),
            StatusCode::kLockTimeout);
}

TEST_F(ClaimedTablesTest, SharedLocksStayShared) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  ASSERT_TRUE(loader->Lock(family(), Key(1), LockMode::kShared).ok());
  const std::unique_ptr<Transaction> other = Begin();
  EXPECT_TRUE(other->Lock(family(), Key(1), LockMode::kShared).ok());
  EXPECT_EQ(other->Lock(family(), Key(1), LockMode::kExclusive).code(), StatusCode::kLockTimeout);
}

TEST_F(ClaimedTablesTest, ATableWhereOthersHaveLocksIsNotClaimed) {
  const std::unique_ptr<Transaction> loader = Begin();
  {
    const std::unique_ptr<Transaction> other = Begin();
    ASSERT_TRUE(other->Lock(family(), Key(1, kUniqueIndexNumber), LockMode::kShared).ok());
    loader->Claim(table_);
    EXPECT_FALSE(AnyClaims());
  }
  const std::unique_ptr<Transaction> other = Begin();
  ASSERT_TRUE(Insert(other.get(), Key(1)).ok());
  loader->Claim(table_);
  EXPECT_FALSE(AnyClaims());
  loader->Claim(TableOf({kIndexNumber + 10}));
  EXPECT_TRUE(AnyClaims());
}

TEST_F(ClaimedTablesTest, RowsThatAreThereAreFound) {
  const std::unique_ptr<Transaction> other = Begin();
  ASSERT_TRUE(Insert(other.get(), Key(5)).ok());
  ASSERT_TRUE(other->Commit(Durability::kDelayed).ok());
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  for (uint32_t row = 1; row <= 9; ++row) {
    EXPECT_EQ(Insert(loader.get(), Key(row)).code(),
              row == 5 ? StatusCode::kDuplicateKey : StatusCode::kOk);
  }
  EXPECT_EQ(Insert(loader.get(), Key(9)).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(LocksInRocksDb(), 0u);
}

TEST_F(ClaimedTablesTest, LocksFromBeforeTheClaimStay) {
  const std::unique_ptr<Transaction> loader = Begin();
  for (const uint32_t row : {7, 8}) ASSERT_TRUE(Insert(loader.get(), Key(row)).ok());
  loader->Claim(table_);
  EXPECT_TRUE(AnyClaims());
  for (const uint32_t row : {1, 2}) ASSERT_TRUE(Insert(loader.get(), Key(row)).ok());
  for (const uint32_t row : {7, 1}) {
    EXPECT_EQ(Insert(loader.get(), Key(row)).code(), StatusCode::kDuplicateKey);
  }
  EXPECT_EQ(LocksInRocksDb(), 2u);
  for (const uint32_t row : {7, 1}) {
    EXPECT_EQ(Insert(Begin().get(), Key(row)).code(), StatusCode::kLockTimeout);
  }
  EXPECT_EQ(LocksInRocksDb(), 4u);
}

TEST_F(ClaimedTablesTest, ALockThatIsTakenBackIsNotExchanged) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  ASSERT_TRUE(Insert(loader.get(), Key(1)).ok());
  ASSERT_TRUE(loader->Lock(family(), Key(2), LockMode::kExclusive).ok());
  loader->Unlock(family(), Key(2));
  EXPECT_EQ(loader->lock_count(), 1u);
  const std::unique_ptr<Transaction> other = Begin();
  EXPECT_TRUE(Insert(other.get(), Key(2)).ok());
  EXPECT_EQ(Insert(other.get(), Key(1)).code(), StatusCode::kLockTimeout);
}

TEST_F(ClaimedTablesTest, ATableIsClaimedByOneAlone) {
  const std::unique_ptr<Transaction> first = Begin();
  const std::unique_ptr<Transaction> second = Begin();
  first->Claim(table_);
  ASSERT_TRUE(Insert(first.get(), Key(1)).ok());
  second->Claim(table_);
  EXPECT_EQ(Insert(second.get(), Key(1)).code(), StatusCode::kLockTimeout);
}

TEST_F(ClaimedTablesTest, WhoLocksElsewhereHasNoClaimAnyMore) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  ASSERT_TRUE(Insert(loader.get(), Key(1)).ok());
  ASSERT_TRUE(loader->Lock(family(), Key(1, kIndexNumber + 10), LockMode::kExclusive).ok());
  EXPECT_FALSE(AnyClaims());
  EXPECT_EQ(LocksInRocksDb(), 2u);
  EXPECT_EQ(Insert(Begin().get(), Key(1)).code(), StatusCode::kLockTimeout);
}

TEST_F(ClaimedTablesTest, SeveralTablesCanBeClaimed) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  ASSERT_TRUE(Insert(loader.get(), Key(1)).ok());
  loader->Claim(TableOf({kIndexNumber + 10}));
  ASSERT_TRUE(Insert(loader.get(), Key(1, kIndexNumber + 10)).ok());
  ASSERT_TRUE(Insert(loader.get(), Key(2)).ok());
  EXPECT_EQ(LocksInRocksDb(), 0u);
  EXPECT_EQ(Insert(Begin().get(), Key(1, kIndexNumber + 10)).code(), StatusCode::kLockTimeout);
  EXPECT_EQ(LocksInRocksDb(), 3u);
}

TEST_F(ClaimedTablesTest, ValuesOfForeignKeysAreClaimedByTheNumberOfTheirKey) {
  const auto value = [](uint32_t foreign_key, char hash) {
    return ForeignKeyKey(foreign_key) + std::string(8, hash);
  };
  const ColumnFamily& system = database_->system_family();
  const std::unique_ptr<Transaction> loader = Begin();
  loader->ClaimForeignKeyValues({310});
  EXPECT_FALSE(AnyClaims());  // It has claimed no table.
  loader->Claim(table_);
  loader->ClaimForeignKeyValues({310, 311});
  ASSERT_TRUE(Insert(loader.get(), Key(1)).ok());
  ASSERT_TRUE(loader->Lock(system, value(310, 'a'), LockMode::kShared).ok());
  ASSERT_TRUE(loader->Lock(system, value(311, 'a'), LockMode::kExclusive).ok());
  EXPECT_EQ(LocksInRocksDb(), 0u);

  // Somebody who loads another table, and somebody who checks there.
  const std::unique_ptr<Transaction> second = Begin();
  second->Claim(TableOf({kIndexNumber + 20}));
  second->ClaimForeignKeyValues({312});
  ASSERT_TRUE(second->Lock(system, value(312, 'a'), LockMode::kShared).ok());
  const std::unique_ptr<Transaction> other = Begin();
  ASSERT_TRUE(other->Lock(system, value(313, 'a'), LockMode::kExclusive).ok());
  EXPECT_EQ(LocksInRocksDb(), 1u);
  // Somebody who checks here.
  EXPECT_TRUE(other->Lock(system, value(310, 'a'), LockMode::kShared).ok());
  EXPECT_EQ(LocksInRocksDb(), 4u);  // One of them has two holders.
  EXPECT_EQ(other->Lock(system, value(310, 'a'), LockMode::kExclusive).code(),
            StatusCode::kLockTimeout);
  EXPECT_EQ(other->Lock(system, value(311, 'a'), LockMode::kShared).code(),
            StatusCode::kLockTimeout);
  EXPECT_TRUE(other->Lock(system, value(310, 'b'), LockMode::kExclusive).ok());
}

TEST_F(ClaimedTablesTest, TransactionsOfSeveralStatementsClaimNothing) {
  Transaction transaction(database_.get());
  TransactionSettings settings;
  settings.autocommit = false;
  transaction.Start(settings);
  transaction.Claim(table_);
  EXPECT_FALSE(AnyClaims());
}

TEST_F(ClaimedTablesTest, APreparedTransactionKeepsOthersAway) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  for (const uint32_t row : {1, 2}) ASSERT_TRUE(Insert(loader.get(), Key(row)).ok());
  ASSERT_TRUE(loader->Prepare(TransactionId{1, "load", ""}, Durability::kDelayed).ok());
  const std::unique_ptr<Transaction> other = Begin();
  EXPECT_EQ(Insert(other.get(), Key(1)).code(), StatusCode::kLockTimeout);
  EXPECT_TRUE(Insert(other.get(), Key(3)).ok());
  loader->CommitOrdered();
  ASSERT_TRUE(loader->Commit(Durability::kDelayed).ok());
  EXPECT_EQ(Insert(other.get(), Key(1)).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(LocksInRocksDb(), 2u);  // Of the other one.
}

TEST_F(ClaimedTablesTest, ARollbackLeavesNothing) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  ASSERT_TRUE(Insert(loader.get(), Key(1)).ok());
  ASSERT_TRUE(loader->Rollback().ok());
  EXPECT_FALSE(AnyClaims());
  const std::unique_ptr<Transaction> other = Begin();
  EXPECT_TRUE(Insert(other.get(), Key(1)).ok());
}

TEST_F(ClaimedTablesTest, WhatIsNotedCountsAsLocked) {
  Transaction loader(database_.get());
  TransactionSettings settings;
  settings.max_row_locks = 3;
  loader.Start(settings);
  loader.Claim(table_);
  for (uint32_t row = 1; row <= 3; ++row) ASSERT_TRUE(Insert(&loader, Key(row)).ok());
  EXPECT_EQ(Insert(&loader, Key(4)).code(), StatusCode::kLockLimit);
  EXPECT_TRUE(AnyClaims());
}

TEST_F(ClaimedTablesTest, ATableWhereRowsAreWrittenWithoutLocksIsNotTakenForEmpty) {
  table_.indexes[0].info.kind = IndexKind::kHiddenPrimary;
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  ASSERT_TRUE(loader->Put(family(), Key(1), "row").ok());
  EXPECT_EQ(Insert(loader.get(), Key(1)).code(), StatusCode::kDuplicateKey);
}

TEST_F(ClaimedTablesTest, WhoWritesWithoutLocksEndsClaimsWhenHeCommits) {
  const std::unique_ptr<Transaction> loader = Begin();
  loader->Claim(table_);
  Transaction other(database_.get());
  TransactionSettings settings;
  settings.lock_rows = false;
  other.Start(settings);
  ASSERT_TRUE(Insert(&other, Key(1)).ok());
  EXPECT_TRUE(AnyClaims());
  ASSERT_TRUE(other.Commit(Durability::kDelayed).ok());
  EXPECT_FALSE(AnyClaims());
  EXPECT_EQ(Insert(loader.get(), Key(1)).code(), StatusCode::kDuplicateKey);
}

// Each row goes to the first who locks it, whoever has claimed the table by then.
TEST_F(ClaimedTablesTest, NoRowIsInsertedTwiceByThreadsThatMeet) {
  constexpr uint32_t kTables = 60;
  constexpr uint32_t kRows = 50;
  constexpr size_t kThreads = 4;
  std::atomic<uint32_t> started = 0;
  std::array<std::atomic<uint32_t>, size_t{kTables} * kRows> inserted{};
  const auto work = [&](size_t number) {
    for (uint32_t t = 0; t < kTables; ++t) {
      const uint32_t index = kIndexNumber + t;
      ++started;
      while (started < kThreads * (t + 1)) std::this_thread::yield();
      for (uint32_t first = 0; first < kRows; first += 10) {
        Transaction transaction(database_.get());
        TransactionSettings settings;
        settings.lock_wait_timeout_ms = 10'000;
        transaction.Start(settings);
        if (number % 2 == 0) transaction.Claim(TableOf({index}));
        std::vector<uint32_t> rows;
        for (uint32_t row = first; row < first + 10; ++row) {
          const Status done = Insert(&transaction, Key(row, index));
          if (done.ok()) rows.push_back(row);
          ASSERT_TRUE(done.ok() || done.code() == StatusCode::kDuplicateKey) << done.ToString();
        }
        if ((first / 10 + number) % 4 == 3) {
          ASSERT_TRUE(transaction.Rollback().ok());
          continue;
        }
        ASSERT_TRUE(transaction.Commit(Durability::kDelayed).ok());
        for (const uint32_t row : rows) ++inserted[t * kRows + row];
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<uint32_t>& times : inserted) EXPECT_EQ(times, 1u);
  EXPECT_FALSE(AnyClaims());
  EXPECT_EQ(LocksInRocksDb(), 0u);
}

}  // namespace
}  // namespace cairn
