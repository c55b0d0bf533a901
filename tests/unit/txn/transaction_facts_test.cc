// What other threads see of a transaction while its own thread works.
#include "engine/txn/transaction_facts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/locks/interruptible_mutex.h"
#include "engine/txn/transaction.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

// Passes what RocksDB's locks tell on to the transaction, as a session does.
class WaitingSession final : public WaitObserver {
 public:
  explicit WaitingSession(Transaction* transaction) : transaction_(transaction) {}
  bool Interrupted() override { return killed_; }
  void WaitBegins() override { transaction_->WaitBegins(); }
  void WaitEnds() override { transaction_->WaitEnds(); }
  void Kill() { killed_ = true; }

 private:
  Transaction* const transaction_;
  std::atomic<bool> killed_{false};
};

class TransactionFactsTest : public ::testing::Test {
 protected:
  TransactionFactsTest() {
    DatabaseOptions options = disk_.Options();
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
  }

  const ColumnFamily& family() { return database_->default_family(); }

  static TransactionSettings Explicit(int64_t timeout_ms) {
    TransactionSettings settings;
    settings.autocommit = false;
    settings.lock_wait_timeout_ms = timeout_ms;
    settings.deadlock_detect = false;
    return settings;
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
};

TEST_F(TransactionFactsTest, FollowATransactionFromStartToEnd) {
  Transaction transaction(database_.get());
  EXPECT_EQ(transaction.facts().Describe().state, TransactionState::kIdle);
  transaction.Start(Explicit(50));
  TransactionDescription seen = transaction.facts().Describe();
  EXPECT_EQ(seen.state, TransactionState::kStarted);
  EXPECT_NE(seen.traits.id, 0u);
  EXPECT_EQ(seen.traits.lock_wait_timeout_ms, 50);
  EXPECT_FALSE(seen.traits.deadlock_detect);
  transaction.Start(Explicit(70));
  EXPECT_EQ(transaction.facts().Describe().traits.lock_wait_timeout_ms, 70);

  ASSERT_TRUE(transaction.Lock(family(), "key1", LockMode::kExclusive).ok());
  ASSERT_TRUE(transaction.Lock(family(), "key2", LockMode::kExclusive).ok());
  ASSERT_TRUE(transaction.Put(family(), "key1", "value").ok());
  seen = transaction.facts().Describe();
  EXPECT_EQ(seen.lock_count, 2u);
  EXPECT_EQ(seen.write_count, 1u);
  transaction.Unlock(family(), "key2");
  EXPECT_EQ(transaction.facts().Describe().lock_count, 1u);

  ASSERT_TRUE(transaction.Prepare(TransactionId{1, "global", "branch"}, Durability::kSync).ok());
  seen = transaction.facts().Describe();
  EXPECT_EQ(seen.state, TransactionState::kPrepared);
  EXPECT_EQ(seen.name, EncodeTransactionName(TransactionId{1, "global", "branch"}));
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  seen = transaction.facts().Describe();
  EXPECT_EQ(seen.state, TransactionState::kIdle);
  EXPECT_EQ(seen.lock_count, 0u);
  EXPECT_EQ(seen.write_count, 0u);
  EXPECT_EQ(seen.name, "");
  EXPECT_EQ(database_->commit_latency().count(), 1u);
}

TEST_F(TransactionFactsTest, AnUndoneStatementTakesItsWritesBack) {
  Transaction transaction(database_.get());
  transaction.Start(Explicit(50));
  transaction.BeginStatement();
  ASSERT_TRUE(transaction.Put(family(), "key1", "value").ok());
  transaction.EndStatement();
  transaction.BeginStatement();
  ASSERT_TRUE(transaction.Put(family(), "key2", "value").ok());
  ASSERT_TRUE(transaction.SingleDelete(family(), "key3").ok());
  EXPECT_EQ(transaction.facts().Describe().write_count, 3u);
  ASSERT_TRUE(transaction.RollbackStatement().ok());
  EXPECT_EQ(transaction.facts().Describe().write_count, 1u);
}

TEST_F(TransactionFactsTest, NameTheKeyThatIsWaitedForAndCountHowTheWaitEnded) {
  Transaction holder(database_.get());
  holder.Start(Explicit(50));
  ASSERT_TRUE(holder.Lock(family(), "key1", LockMode::kExclusive).ok());

  Transaction waiter(database_.get());
  waiter.Start(Explicit(60'000));
  WaitingSession session(&waiter);
  Status waited;
  std::thread thread([&] {
    ScopedWaitObserver observer(&session);
    waited = waiter.Lock(family(), "key1", LockMode::kExclusive);
  });
  while (!waiter.facts().Describe().waits_for.has_value()) std::this_thread::yield();
  EXPECT_EQ(waiter.facts().Describe().waits_for->first, "key1");
  EXPECT_EQ(waiter.facts().Describe().waits_for->family, family().id);
  session.Kill();
  thread.join();
  EXPECT_EQ(waited.code(), StatusCode::kInterrupted);
  EXPECT_FALSE(waiter.facts().Describe().waits_for.has_value());
  EXPECT_EQ(database_->work().Total(Work::kLockTimeouts), 0u);

  Transaction impatient(database_.get());
  impatient.Start(Explicit(10));
  EXPECT_EQ(impatient.Lock(family(), "key1", LockMode::kExclusive).code(),
            StatusCode::kLockTimeout);
  EXPECT_EQ(database_->work().Total(Work::kLockTimeouts), 1u);
}

TEST_F(TransactionFactsTest, ReadersOfFactsAndTheirTransactionDoNotDisturbEachOther) {
  Transaction transaction(database_.get());
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      const TransactionDescription seen = transaction.facts().Describe();
      ASSERT_LE(seen.write_count, 1u);
      ASSERT_LE(seen.lock_count, 1u);
    }
  });
  for (int i = 0; i < 1000; ++i) {
    transaction.Start(Explicit(50));
    ASSERT_TRUE(transaction.Lock(family(), "key", LockMode::kExclusive).ok());
    ASSERT_TRUE(transaction.Put(family(), "key", "value").ok());
    ASSERT_TRUE(
        (i % 2 == 0 ? transaction.Commit(Durability::kDelayed) : transaction.Rollback()).ok());
  }
  done = true;
  reader.join();
}

}  // namespace
}  // namespace cairn
