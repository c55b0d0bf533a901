// Commits in the server's order: when they are synced, and what becomes of them when they fail.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>

#include "engine/locks/interruptible_mutex.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/prepared_transactions.h"
#include "engine/txn/transaction.h"
#include "rocksdb/env.h"
#include "tests/unit/store/log_file_control.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

class OrderedCommitTest : public ::testing::Test {
 protected:
  OrderedCommitTest() {
    env_ = rocksdb::NewCompositeEnv(
        std::make_shared<ControlledFileSystem>(disk_.env()->GetFileSystem(), &control_));
    Open();
  }

  void Open() {
    DatabaseOptions options = disk_.Options();
    options.db.env = env_.get();
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    auto database = Database::Open(std::move(options), &disk_.log());
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
  }

  // The disk has room again, which RocksDB is told.
  void MakeRoom() {
    control_.full = false;
    ASSERT_TRUE(database_->rocksdb()->Resume().ok());
  }

  // A transaction that has locked and put `key`.
  std::unique_ptr<Transaction> Writer(std::string_view key) {
    auto transaction = std::make_unique<Transaction>(database_.get());
    transaction->Start(TransactionSettings{.autocommit = false, .lock_wait_timeout_ms = 50});
    EXPECT_TRUE(transaction->Lock(family(), key, LockMode::kExclusive).ok());
    EXPECT_TRUE(transaction->Put(family(), key, "new").ok());
    return transaction;
  }

  bool Exists(std::string_view key) {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    rocksdb::PinnableSlice value;
    return transaction.Get(family(), key, Transaction::View::kSnapshot, &value).ok();
  }

  bool IsLocked(std::string_view key) {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings{.lock_wait_timeout_ms = 50});
    return transaction.Lock(family(), key, LockMode::kExclusive).code() == StatusCode::kLockTimeout;
  }

  const ColumnFamily& family() { return database_->default_family(); }

  MemoryDisk disk_;
  LogFileControl control_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<Database> database_;
};

const TransactionId kOrderedId{1, "id", ""};

TEST_F(OrderedCommitTest, ShowsTheChangesBeforeTheTransactionEnds) {
  const auto transaction = Writer("key1");
  ASSERT_TRUE(transaction->Prepare(kOrderedId, Durability::kSync).ok());
  EXPECT_FALSE(Exists("key1"));
  std::thread([&] { transaction->CommitOrdered(); }).join();
  EXPECT_TRUE(Exists("key1"));
  EXPECT_FALSE(IsLocked("key1"));
  EXPECT_TRUE(transaction->started());
  EXPECT_TRUE(transaction->Commit(Durability::kSync).ok());
  EXPECT_FALSE(transaction->started());
}

TEST_F(OrderedCommitTest, OfWhatIsPreparedNeedsNoSync) {
  const auto transaction = Writer("key1");
  const int before = control_.syncs;
  ASSERT_TRUE(transaction->Prepare(kOrderedId, Durability::kSync).ok());
  EXPECT_EQ(control_.syncs, before + 1);
  transaction->CommitOrdered();
  ASSERT_TRUE(transaction->Commit(Durability::kSync).ok());
  EXPECT_EQ(control_.syncs, before + 1);
  EXPECT_TRUE(database_->MakeCommitsDurable().ok());
  EXPECT_EQ(control_.syncs, before + 2);
}

TEST_F(OrderedCommitTest, OfWhatIsNotPreparedIsAsDurableAsAsked) {
  const auto transaction = Writer("key1");
  const int before = control_.syncs;
  transaction->CommitOrdered();
  EXPECT_EQ(control_.syncs, before);
  ASSERT_TRUE(transaction->Commit(Durability::kSync).ok());
  EXPECT_EQ(control_.syncs, before + 1);
}

TEST_F(OrderedCommitTest, LeavesReadersToCommit) {
  Transaction transaction(database_.get());
  transaction.Start(TransactionSettings{.autocommit = false});
  ASSERT_TRUE(transaction.Lock(family(), "key1", LockMode::kExclusive).ok());
  transaction.CommitOrdered();
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_FALSE(IsLocked("key1"));
}

TEST_F(OrderedCommitTest, ThatFailsStaysPreparedAndIsTriedAgain) {
  const auto transaction = Writer("key1");
  ASSERT_TRUE(transaction->Prepare(kOrderedId, Durability::kSync).ok());
  control_.full = true;
  transaction->CommitOrdered();
  EXPECT_FALSE(transaction->Commit(Durability::kSync).ok());
  EXPECT_FALSE(transaction->started());
  EXPECT_TRUE(IsLocked("key1")) << "nobody may write what this transaction will";
  EXPECT_FALSE(database_->MakeCommitsDurable().ok());

  MakeRoom();
  EXPECT_TRUE(database_->MakeCommitsDurable().ok());
  EXPECT_TRUE(Exists("key1"));
  EXPECT_FALSE(IsLocked("key1"));
}

TEST_F(OrderedCommitTest, ThatFailsUnpreparedIsRolledBack) {
  const auto transaction = Writer("key1");
  control_.full = true;
  transaction->CommitOrdered();
  EXPECT_FALSE(transaction->Commit(Durability::kSync).ok());
  EXPECT_FALSE(IsLocked("key1"));
  EXPECT_FALSE(Exists("key1"));
}

TEST_F(OrderedCommitTest, RollbackThatFailsStaysPreparedAndIsTriedAgain) {
  const auto transaction = Writer("key1");
  ASSERT_TRUE(transaction->Prepare(kOrderedId, Durability::kSync).ok());
  control_.full = true;
  EXPECT_FALSE(transaction->Rollback().ok());
  EXPECT_FALSE(transaction->started());
  EXPECT_TRUE(IsLocked("key1")) << "after a restart the transaction is prepared again";
  EXPECT_FALSE(database_->MakeCommitsDurable().ok());

  MakeRoom();
  EXPECT_TRUE(database_->MakeCommitsDurable().ok());
  EXPECT_FALSE(Exists("key1"));
  EXPECT_FALSE(IsLocked("key1"));
  EXPECT_TRUE(ListPreparedTransactions(database_.get()).empty());
}

// Whose locks are RocksDB's, or ranges.
class DecisionTest : public OrderedCommitTest, public ::testing::WithParamInterface<bool> {
 protected:
  // After a restart, as after a crash.
  void LeavePreparedAndOpenAgain() {
    const auto transaction = Writer("key1");
    ASSERT_TRUE(transaction->Prepare(kOrderedId, Durability::kSync).ok());
    transaction->Detach();
    database_.reset();
    Open();
    auto table = GetParam() ? std::make_unique<RangeLockTable>(
                                  database_->options().transaction.custom_mutex_factory)
                            : nullptr;
    auto locks = PreparedLocks::Take(database_.get(), table.get());
    ASSERT_TRUE(locks.ok()) << locks.status().ToString();
    locks_ = std::move(locks).value();
    if (table != nullptr) database_->UseRangeLocks(std::move(table));
  }

  void TearDown() override { locks_.reset(); }

  std::unique_ptr<PreparedLocks> locks_;
};

TEST_P(DecisionTest, ToCommitThatFailsIsTriedAgain) {
  LeavePreparedAndOpenAgain();
  control_.full = true;
  EXPECT_FALSE(
      CommitPrepared(database_.get(), locks_.get(), kOrderedId, OnFailure::kTryAgain).ok());
  EXPECT_TRUE(IsLocked("key1"));

  MakeRoom();
  EXPECT_TRUE(database_->MakeCommitsDurable().ok());
  EXPECT_TRUE(Exists("key1"));
  EXPECT_FALSE(IsLocked("key1"));
}

TEST_P(DecisionTest, ToRollBackThatFailsIsTriedAgain) {
  LeavePreparedAndOpenAgain();
  control_.full = true;
  EXPECT_FALSE(
      RollbackPrepared(database_.get(), locks_.get(), kOrderedId, OnFailure::kTryAgain).ok());
  EXPECT_TRUE(IsLocked("key1"));

  MakeRoom();
  EXPECT_TRUE(database_->MakeCommitsDurable().ok());
  EXPECT_FALSE(Exists("key1"));
  EXPECT_FALSE(IsLocked("key1"));
}

TEST_P(DecisionTest, ThatFailsIsLeftToWhoeverIsTold) {
  for (const bool commits : {false, true}) {
    LeavePreparedAndOpenAgain();
    const auto decide = commits ? &CommitPrepared : &RollbackPrepared;
    control_.full = true;
    EXPECT_FALSE(
        decide(database_.get(), locks_.get(), kOrderedId, OnFailure::kRemember, Durability::kSync)
            .ok());

    MakeRoom();
    EXPECT_TRUE(database_->MakeCommitsDurable().ok());
    EXPECT_TRUE(IsLocked("key1"));
    EXPECT_FALSE(Exists("key1"));
    EXPECT_EQ(ListPreparedTransactions(database_.get()).size(), 1u);
    EXPECT_TRUE(
        decide(database_.get(), locks_.get(), kOrderedId, OnFailure::kRemember, Durability::kSync)
            .ok());
    EXPECT_EQ(Exists("key1"), commits);
    EXPECT_FALSE(IsLocked("key1"));
    locks_.reset();
  }
}

TEST_P(DecisionTest, ThatFailedAndIsToBeRememberedAllowsNoOther) {
  for (const bool commits : {false, true}) {
    LeavePreparedAndOpenAgain();
    const auto decide = commits ? &CommitPrepared : &RollbackPrepared;
    const auto other = commits ? &RollbackPrepared : &CommitPrepared;
    control_.full = true;
    EXPECT_FALSE(
        decide(database_.get(), locks_.get(), kOrderedId, OnFailure::kRemember, Durability::kSync)
            .ok());

    MakeRoom();
    EXPECT_EQ(
        other(database_.get(), locks_.get(), kOrderedId, OnFailure::kRemember, Durability::kSync)
            .code(),
        StatusCode::kInvalidArgument);
    EXPECT_TRUE(IsLocked("key1"));
    EXPECT_TRUE(
        decide(database_.get(), locks_.get(), kOrderedId, OnFailure::kRemember, Durability::kSync)
            .ok());
    EXPECT_EQ(Exists("key1"), commits);
    locks_.reset();
  }
}

TEST_F(OrderedCommitTest, TheNameOfWhatIsRolledBackIsFree) {
  const auto first = Writer("key1");
  ASSERT_TRUE(first->Prepare(kOrderedId, Durability::kSync).ok());
  ASSERT_TRUE(first->Rollback().ok());
  const auto second = Writer("key2");
  EXPECT_TRUE(second->Prepare(kOrderedId, Durability::kSync).ok());
  EXPECT_TRUE(second->Commit(Durability::kSync).ok());
}

TEST_P(DecisionTest, ThatFailedDoesNotKeepTheDatabaseFromClosing) {
  LeavePreparedAndOpenAgain();
  control_.full = true;
  EXPECT_FALSE(
      CommitPrepared(database_.get(), locks_.get(), kOrderedId, OnFailure::kTryAgain).ok());
  locks_.reset();
  MakeRoom();
  database_.reset();
  Open();
  EXPECT_EQ(ListPreparedTransactions(database_.get()).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(BothKindsOfLocks, DecisionTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& ranges) {
                           return ranges.param ? "Ranges" : "Keys";
                         });

}  // namespace
}  // namespace cairn
