// Entries of indexes are put once and removed once, also by transactions that were prepared and are
// rolled back: with write_prepared their changes lie in the database already, and RocksDB takes
// them back by writing what was there before.
#include <gtest/gtest.h>

#include "engine/locks/interruptible_mutex.h"
#include "engine/store/directory_marker.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/prepared_transactions.h"
#include "engine/txn/transaction.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

constexpr std::string_view kEntry = "entry";

class RolledBackEntriesTest : public ::testing::TestWithParam<rocksdb::TxnDBWritePolicy> {
 protected:
  RolledBackEntriesTest() { Open(GetParam()); }

  void Open(rocksdb::TxnDBWritePolicy policy) {
    database_.reset();
    DatabaseOptions options = disk_.Options();
    options.transaction.write_policy = policy;
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    auto opened = Database::Open(std::move(options), &disk_.log());
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    database_ = std::move(opened).value();
    locks_ = std::move(*PreparedLocks::Take(database_.get(), /*table=*/nullptr));
  }

  const ColumnFamily& family() { return database_->default_family(); }

  // Changes one row's value `times` times, away and back: the entry goes and comes.
  void GoAndCome(Transaction* transaction, int times) {
    transaction->Start(TransactionSettings());
    ASSERT_TRUE(transaction->Lock(family(), kEntry, LockMode::kExclusive).ok());
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(transaction->SingleDelete(family(), kEntry).ok());
      ASSERT_TRUE(transaction->Put(family(), kEntry, "").ok());
    }
  }

  void PutEntry() {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    ASSERT_TRUE(transaction.Put(family(), kEntry, "").ok());
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  }

  void RollBackPrepared(int times) {
    const TransactionId id{1, "xa", ""};
    Transaction transaction(database_.get());
    GoAndCome(&transaction, times);
    ASSERT_TRUE(transaction.Prepare(id, Durability::kSync).ok());
    transaction.Detach();
    ASSERT_TRUE(RollbackPrepared(database_.get(), locks_.get(), id, OnFailure::kRemember).ok());
  }

  // Removes the entry, as a change of its row does; it is not there, before files are merged and
  // after.
  void ExpectToGo() {
    {
      Transaction transaction(database_.get());
      transaction.Start(TransactionSettings());
      ASSERT_TRUE(transaction.Lock(family(), kEntry, LockMode::kExclusive).ok());
      ASSERT_TRUE(transaction.SingleDelete(family(), kEntry).ok());
      ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
    }
    EXPECT_FALSE(IsThere());
    ASSERT_TRUE(database_->rocksdb()->Flush({}, family().handle).ok());
    EXPECT_FALSE(IsThere()) << "after a flush";
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(
        database_->rocksdb()->CompactRange(options, family().handle, nullptr, nullptr).ok());
    EXPECT_FALSE(IsThere()) << "after a compaction";
  }

  // All that the database has is in the last level; what comes later lies above it.
  void Settle() {
    ASSERT_TRUE(database_->rocksdb()->Flush({}, family().handle).ok());
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(
        database_->rocksdb()->CompactRange(options, family().handle, nullptr, nullptr).ok());
  }

  // Merges the files above the last level with each other alone.
  void MergeUpperFiles() {
    rocksdb::ColumnFamilyMetaData files;
    database_->rocksdb()->GetColumnFamilyMetaData(family().handle, &files);
    std::vector<std::string> upper;
    for (const auto& file : files.levels[0].files) upper.push_back(file.name);
    ASSERT_GT(upper.size(), 1u);
    ASSERT_TRUE(database_->rocksdb()->CompactFiles({}, family().handle, upper, 1).ok());
  }

  void RollBackPreparedThatHasSettled() {
    const TransactionId id{1, "xa", ""};
    Transaction transaction(database_.get());
    GoAndCome(&transaction, 1);
    ASSERT_TRUE(transaction.Prepare(id, Durability::kSync).ok());
    transaction.Detach();
    Settle();
    ASSERT_TRUE(RollbackPrepared(database_.get(), locks_.get(), id, OnFailure::kRemember).ok());
    ASSERT_TRUE(database_->rocksdb()->Flush({}, family().handle).ok());
    EXPECT_TRUE(IsThere());
  }

  void RemoveAboveTheLastLevel() {
    Transaction other(database_.get());
    other.Start(TransactionSettings());
    ASSERT_TRUE(other.SingleDelete(family(), kEntry).ok());
    ASSERT_TRUE(other.Commit(Durability::kSync).ok());
    ASSERT_TRUE(database_->rocksdb()->Flush({}, family().handle).ok());
    EXPECT_FALSE(IsThere());
    if (GetParam() == rocksdb::WRITE_PREPARED) MergeUpperFiles();
    EXPECT_FALSE(IsThere()) << "after the upper files were merged";
  }

  bool IsThere() {
    Transaction reader(database_.get());
    reader.Start(TransactionSettings());
    rocksdb::PinnableSlice value;
    return reader.Get(family(), kEntry, Transaction::View::kSnapshot, &value).ok();
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<PreparedLocks> locks_;
};

INSTANTIATE_TEST_SUITE_P(Policies, RolledBackEntriesTest,
                         ::testing::Values(rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED),
                         [](const auto& info) {
                           return info.param == rocksdb::WRITE_COMMITTED ? "WriteCommitted"
                                                                         : "WritePrepared";
                         });

TEST_P(RolledBackEntriesTest, AnEntryThatWentAndCameAgainGoesForGood) {
  for (const int times : {1, 2, 3}) {
    PutEntry();
    RollBackPrepared(times);
    EXPECT_TRUE(IsThere());
    ExpectToGo();
  }
}

// The changes of the prepared transaction are merged before it is rolled back; what takes them back
// and what removes the entry later are merged without them.
TEST_P(RolledBackEntriesTest, AnEntryGoesForGoodWhereverItsChangesLie) {
  PutEntry();
  RollBackPreparedThatHasSettled();
  RemoveAboveTheLastLevel();
}

TEST_P(RolledBackEntriesTest, ItGoesForGoodWithWriteCommittedLater) {
  PutEntry();
  RollBackPreparedThatHasSettled();
  // RocksDB takes another policy only where no log has anything left.
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  Open(rocksdb::WRITE_COMMITTED);
  ASSERT_NE(database_, nullptr);
  RemoveAboveTheLastLevel();
}

TEST_P(RolledBackEntriesTest, ItGoesForGoodFromACopyAsWell) {
  const std::string copy = database_->directory() + "_copy";
  ASSERT_TRUE(database_->maintenance().CreateCheckpoint(copy).ok());
  rocksdb::Env* const env = database_->env();
  EXPECT_EQ(*HasWritePreparedMark(env, copy), GetParam() == rocksdb::WRITE_PREPARED);
}

}  // namespace
}  // namespace cairn
