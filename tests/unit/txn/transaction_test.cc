#include "engine/txn/transaction.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/locks/interruptible_mutex.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/prepared_transactions.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using View = Transaction::View;

TransactionSettings Explicit(IsolationLevel isolation) {
  TransactionSettings settings;
  settings.isolation = isolation;
  settings.autocommit = false;
  settings.lock_wait_timeout_ms = 50;
  return settings;
}

TransactionSettings TakingLatest(IsolationLevel isolation) {
  TransactionSettings settings = Explicit(isolation);
  settings.snapshot_conflicts = SnapshotConflicts::kLatest;
  return settings;
}

class TransactionTest : public ::testing::Test {
 protected:
  TransactionTest() {
    DatabaseOptions options = disk_.Options();
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
  }

  const ColumnFamily& family() { return database_->default_family(); }

  void CommitValue(std::string_view key, std::string_view value) {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    ASSERT_TRUE(transaction.Lock(family(), key, LockMode::kExclusive).ok());
    ASSERT_TRUE(transaction.Put(family(), key, value).ok());
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  }

  // The value that a transaction sees, or the name of the error.
  std::string Read(Transaction& transaction, std::string_view key, View view = View::kSnapshot) {
    rocksdb::PinnableSlice value;
    const Status read = transaction.Get(family(), key, view, &value);
    return read.ok() ? value.ToString() : std::string(ToString(read.code()));
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
};

TEST_F(TransactionTest, CommittedWritesAreVisibleAndRolledBackOnesAreNot) {
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  ASSERT_TRUE(transaction.Put(family(), "key1", "one").ok());
  EXPECT_EQ(Read(transaction, "key1"), "one") << "own writes are visible at once";
  ASSERT_TRUE(transaction.Rollback().ok());
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  EXPECT_EQ(Read(transaction, "key1"), "not found");
  ASSERT_TRUE(transaction.Put(family(), "key1", "two").ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  Transaction reader(database_.get());
  reader.Start(TransactionSettings());
  EXPECT_EQ(Read(reader, "key1"), "two");
}

TEST_F(TransactionTest, RepeatableReadSeesOneSnapshotAndReadCommittedOnePerStatement) {
  CommitValue("key1", "old");
  Transaction repeatable(database_.get());
  repeatable.Start(Explicit(IsolationLevel::kRepeatableRead));
  Transaction committed(database_.get());
  committed.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(Read(repeatable, "key1"), "old");
  EXPECT_EQ(Read(committed, "key1"), "old");
  CommitValue("key1", "new");
  EXPECT_EQ(Read(committed, "key1"), "old") << "the same statement";
  repeatable.EndStatement();
  committed.EndStatement();
  EXPECT_EQ(Read(repeatable, "key1"), "old");
  EXPECT_EQ(Read(committed, "key1"), "new");
  EXPECT_EQ(Read(repeatable, "key1", View::kLatest), "new");
}

TEST_F(TransactionTest, LockingARowChangedSinceTheSnapshotConflictsInRepeatableReadOnly) {
  CommitValue("key1", "old");
  Transaction repeatable(database_.get());
  repeatable.Start(Explicit(IsolationLevel::kRepeatableRead));
  EXPECT_EQ(Read(repeatable, "key1"), "old");
  Transaction committed(database_.get());
  committed.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(Read(committed, "key1"), "old");
  CommitValue("key1", "new");

  rocksdb::PinnableSlice value;
  EXPECT_EQ(repeatable.GetForUpdate(family(), "key1", LockMode::kExclusive, &value).code(),
            StatusCode::kSnapshotConflict);
  value.Reset();
  ASSERT_TRUE(committed.GetForUpdate(family(), "key1", LockMode::kExclusive, &value).ok());
  EXPECT_EQ(value.ToString(), "new");
}

// No memtable is kept to find conflicts in: they are found in files.
TEST_F(TransactionTest, AConflictIsFoundAfterFlushesAndCompaction) {
  for (const std::string key : {"changed", "deleted", "same"}) CommitValue(key, "old");
  Transaction repeatable(database_.get());
  repeatable.Start(Explicit(IsolationLevel::kRepeatableRead));
  EXPECT_EQ(Read(repeatable, "changed"), "old");
  CommitValue("changed", "new");
  CommitValue("inserted", "new");
  Transaction deleter(database_.get());
  deleter.Start(TransactionSettings());
  ASSERT_TRUE(deleter.Lock(family(), "deleted", LockMode::kExclusive).ok());
  ASSERT_TRUE(deleter.Delete(family(), "deleted").ok());
  ASSERT_TRUE(deleter.Commit(Durability::kSync).ok());
  rocksdb::DB* const db = database_->rocksdb();
  ASSERT_TRUE(db->Flush({}, family().handle).ok());
  CommitValue("other1", "new");
  CommitValue("other2", "new");
  uint64_t kept = 0;
  uint64_t used = 0;
  ASSERT_TRUE(
      db->GetIntProperty(family().handle, rocksdb::DB::Properties::kSizeAllMemTables, &kept));
  ASSERT_TRUE(
      db->GetIntProperty(family().handle, rocksdb::DB::Properties::kCurSizeAllMemTables, &used));
  EXPECT_EQ(kept, used);
  ASSERT_TRUE(db->CompactRange({}, family().handle, nullptr, nullptr).ok());
  for (const std::string_view key : {"changed", "deleted", "inserted"}) {
    rocksdb::PinnableSlice value;
    EXPECT_EQ(repeatable.GetForUpdate(family(), key, LockMode::kExclusive, &value).code(),
              StatusCode::kSnapshotConflict)
        << key;
  }
  rocksdb::PinnableSlice value;
  EXPECT_TRUE(repeatable.GetForUpdate(family(), "same", LockMode::kExclusive, &value).ok());
}

TEST_F(TransactionTest, FirstLockOfRepeatableReadNeverConflicts) {
  CommitValue("key1", "old");
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  CommitValue("key1", "new");
  rocksdb::PinnableSlice value;
  ASSERT_TRUE(transaction.GetForUpdate(family(), "key1", LockMode::kExclusive, &value).ok());
  EXPECT_EQ(value.ToString(), "new");
  EXPECT_EQ(Read(transaction, "key1"), "new") << "the snapshot follows the lock";
}

TEST_F(TransactionTest, WhereConflictsTakeTheLatestPlainReadsAloneRepeat) {
  CommitValue("key1", "old");
  Transaction transaction(database_.get());
  transaction.Start(TakingLatest(IsolationLevel::kRepeatableRead));
  EXPECT_EQ(Read(transaction, "key1"), "old");
  CommitValue("key1", "new");
  rocksdb::PinnableSlice value;
  ASSERT_TRUE(transaction.GetForUpdate(family(), "key1", LockMode::kExclusive, &value).ok());
  EXPECT_EQ(value.ToString(), "new");
  EXPECT_EQ(Read(transaction, "key1"), "old");
  EXPECT_EQ(Read(transaction, "key1", transaction.ViewOfLockingReads()), "new");
  ASSERT_TRUE(transaction.Put(family(), "key1", "mine").ok());
  EXPECT_EQ(Read(transaction, "key1"), "mine");
  transaction.EndStatement();
  EXPECT_EQ(Read(transaction, "key1"), "mine");
}

TEST_F(TransactionTest, AStatementThatChangesSeesOneStateWhereConflictsTakeTheLatest) {
  CommitValue("key1", "old");
  Transaction transaction(database_.get());
  transaction.Start(TakingLatest(IsolationLevel::kRepeatableRead));
  EXPECT_EQ(Read(transaction, "key1", View::kStatement), "old");
  CommitValue("key1", "new");
  EXPECT_EQ(Read(transaction, "key1", View::kStatement), "old") << "the same statement";
  transaction.EndStatement();
  EXPECT_EQ(Read(transaction, "key1", View::kStatement), "new");
  CommitValue("key1", "newer");
  EXPECT_EQ(Read(transaction, "key1"), "newer") << "only plain reads take the snapshot";
}

TEST_F(TransactionTest, ALockTakesNoSnapshotWhereConflictsTakeTheLatest) {
  CommitValue("key1", "old");
  CommitValue("key2", "old");
  Transaction transaction(database_.get());
  transaction.Start(TakingLatest(IsolationLevel::kRepeatableRead));
  rocksdb::PinnableSlice value;
  ASSERT_TRUE(transaction.GetForUpdate(family(), "key1", LockMode::kExclusive, &value).ok());
  CommitValue("key2", "new");
  EXPECT_EQ(Read(transaction, "key2"), "new");
}

TEST_F(TransactionTest, AStatementIsToldOfARowThatChangedAfterItsState) {
  CommitValue("key1", "old");
  CommitValue("key2", "old");
  CommitValue("key3", "old");
  Transaction transaction(database_.get());
  transaction.Start(TakingLatest(IsolationLevel::kRepeatableRead));
  EXPECT_EQ(Read(transaction, "key1"), "old");
  CommitValue("key1", "new");
  EXPECT_TRUE(transaction.CheckStatementUnchanged(family(), "key1").ok()) << "no state yet";
  EXPECT_EQ(Read(transaction, "key2", View::kStatement), "old");
  CommitValue("key2", "new");
  CommitValue("key3", "new");
  CommitValue("key3", "old");
  EXPECT_TRUE(transaction.CheckStatementUnchanged(family(), "key1").ok()) << "as of the state";
  EXPECT_EQ(transaction.CheckStatementUnchanged(family(), "key2").code(),
            StatusCode::kSnapshotConflict);
  EXPECT_TRUE(transaction.CheckStatementUnchanged(family(), "key3").ok()) << "the same again";
  ASSERT_TRUE(transaction.Lock(family(), "key1", LockMode::kExclusive).ok());
  ASSERT_TRUE(transaction.Put(family(), "key1", "mine").ok());
  EXPECT_TRUE(transaction.CheckStatementUnchanged(family(), "key1").ok()) << "an own change";
  transaction.EndStatement();
  EXPECT_TRUE(transaction.CheckStatementUnchanged(family(), "key2").ok()) << "the next statement";
}

// At SERIALIZABLE a row that changed behind the reads is one that the transaction should have kept.
TEST_F(TransactionTest, SerializableMeetsConflictsWhateverIsSet) {
  CommitValue("key1", "old");
  Transaction transaction(database_.get());
  transaction.Start(TakingLatest(IsolationLevel::kSerializable));
  EXPECT_EQ(Read(transaction, "key1"), "old");
  CommitValue("key1", "new");
  rocksdb::PinnableSlice value;
  EXPECT_EQ(transaction.GetForUpdate(family(), "key1", LockMode::kExclusive, &value).code(),
            StatusCode::kSnapshotConflict);
}

// The next statement may want conflicts again: what it locks must not have changed since.
TEST_F(TransactionTest, EachStatementDecidesOnConflicts) {
  CommitValue("key1", "old");
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  EXPECT_EQ(Read(transaction, "key1"), "old");
  CommitValue("key1", "new");
  rocksdb::PinnableSlice value;
  EXPECT_EQ(transaction.GetForUpdate(family(), "key1", LockMode::kExclusive, &value).code(),
            StatusCode::kSnapshotConflict);
  transaction.Start(TakingLatest(IsolationLevel::kRepeatableRead));
  value.Reset();
  ASSERT_TRUE(transaction.GetForUpdate(family(), "key1", LockMode::kExclusive, &value).ok());
  EXPECT_EQ(value.ToString(), "new");
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  EXPECT_EQ(transaction.Lock(family(), "key1", LockMode::kExclusive).code(),
            StatusCode::kSnapshotConflict);
}

TEST_F(TransactionTest, FailedStatementUndoesItselfOnly) {
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  transaction.BeginStatement();
  ASSERT_TRUE(transaction.Put(family(), "key1", "first").ok());
  transaction.EndStatement();
  transaction.BeginStatement();
  ASSERT_TRUE(transaction.Put(family(), "key1", "second").ok());
  ASSERT_TRUE(transaction.Put(family(), "key2", "second").ok());
  ASSERT_TRUE(transaction.RollbackStatement().ok());
  EXPECT_EQ(Read(transaction, "key1"), "first");
  EXPECT_EQ(Read(transaction, "key2"), "not found");
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  Transaction reader(database_.get());
  reader.Start(TransactionSettings());
  EXPECT_EQ(Read(reader, "key1"), "first");
}

TEST_F(TransactionTest, LockWaitEndsByTimeout) {
  Transaction holder(database_.get());
  holder.Start(Explicit(IsolationLevel::kReadCommitted));
  ASSERT_TRUE(holder.Lock(family(), "key1", LockMode::kExclusive).ok());
  Transaction waiter(database_.get());
  waiter.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(waiter.Lock(family(), "key1", LockMode::kShared).code(), StatusCode::kLockTimeout);
  ASSERT_TRUE(holder.Rollback().ok());
  EXPECT_TRUE(waiter.Lock(family(), "key1", LockMode::kShared).ok());
}

TEST_F(TransactionTest, SharedLocksGoTogether) {
  Transaction first(database_.get());
  first.Start(Explicit(IsolationLevel::kReadCommitted));
  Transaction second(database_.get());
  second.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_TRUE(first.Lock(family(), "key1", LockMode::kShared).ok());
  EXPECT_TRUE(second.Lock(family(), "key1", LockMode::kShared).ok());
  EXPECT_EQ(second.Lock(family(), "key1", LockMode::kExclusive).code(), StatusCode::kLockTimeout);
}

class KilledSession final : public WaitObserver {
 public:
  bool Interrupted() override { return killed_; }
  void WaitBegins() override { ++waits_; }
  void WaitEnds() override { --waits_; }
  int waits() const { return waits_; }
  void Kill() { killed_ = true; }

 private:
  std::atomic<bool> killed_{false};
  std::atomic<int> waits_{0};
};

TEST_F(TransactionTest, KillEndsALockWait) {
  Transaction holder(database_.get());
  holder.Start(Explicit(IsolationLevel::kReadCommitted));
  ASSERT_TRUE(holder.Lock(family(), "key1", LockMode::kExclusive).ok());
  KilledSession session;
  Status waited;
  std::thread waiter([&] {
    Transaction transaction(database_.get());
    TransactionSettings settings = Explicit(IsolationLevel::kReadCommitted);
    settings.lock_wait_timeout_ms = 3'600'000;
    transaction.Start(settings);
    ScopedWaitObserver observer(&session);
    waited = transaction.Lock(family(), "key1", LockMode::kExclusive);
  });
  while (session.waits() == 0) std::this_thread::yield();
  session.Kill();
  waiter.join();
  EXPECT_EQ(session.waits(), 0);
  EXPECT_EQ(waited.code(), StatusCode::kInterrupted);
}

TEST_F(TransactionTest, DeadlockIsFoundWhenTheCycleCloses) {
  TransactionSettings settings = Explicit(IsolationLevel::kReadCommitted);
  settings.lock_wait_timeout_ms = 60'000;
  Transaction first(database_.get());
  first.Start(settings);
  Transaction second(database_.get());
  second.Start(settings);
  ASSERT_TRUE(first.Lock(family(), "key1", LockMode::kExclusive).ok());
  ASSERT_TRUE(second.Lock(family(), "key2", LockMode::kExclusive).ok());
  Status first_waited;
  std::thread waiter([&] {
    first_waited = first.Lock(family(), "key2", LockMode::kExclusive);
    if (!first_waited.ok()) (void)first.Rollback().ok();
  });
  const Status second_waited = second.Lock(family(), "key1", LockMode::kExclusive);
  if (!second_waited.ok()) {
    ASSERT_TRUE(second.Rollback().ok());
  }
  waiter.join();
  EXPECT_NE(first_waited.ok(), second_waited.ok()) << "one of them is the victim";
  EXPECT_EQ((first_waited.ok() ? second_waited : first_waited).code(), StatusCode::kDeadlock);
}

TEST_F(TransactionTest, RowLockLimitNamesItsVariable) {
  TransactionSettings settings = Explicit(IsolationLevel::kReadCommitted);
  settings.max_row_locks = 1;
  Transaction transaction(database_.get());
  transaction.Start(settings);
  ASSERT_TRUE(transaction.Lock(family(), "key1", LockMode::kExclusive).ok());
  const Status limited = transaction.Lock(family(), "key2", LockMode::kExclusive);
  EXPECT_EQ(limited.code(), StatusCode::kLockLimit);
  EXPECT_NE(limited.message().find("rocksdb_max_row_locks"), std::string_view::npos);
}

TEST_F(TransactionTest, UnlockReleasesWhatWasNotWritten) {
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kReadCommitted));
  ASSERT_TRUE(transaction.Lock(family(), "key1", LockMode::kExclusive).ok());
  transaction.Unlock(family(), "key1");
  CommitValue("key1", "free");
}

TEST_F(TransactionTest, FullWriteBatchIsAnErrorAndKeepsTheTransaction) {
  TransactionSettings settings = Explicit(IsolationLevel::kReadCommitted);
  settings.max_write_batch_bytes = 1000;
  Transaction transaction(database_.get());
  transaction.Start(settings);
  transaction.BeginStatement();
  const Status full = transaction.Put(family(), "key1", std::string(2000, 'x'));
  EXPECT_EQ(full.code(), StatusCode::kAborted);
  EXPECT_NE(full.message().find("rocksdb_write_batch_max_bytes (1000)"), std::string_view::npos);
  ASSERT_TRUE(transaction.RollbackStatement().ok());
  EXPECT_TRUE(transaction.Put(family(), "key1", "short").ok());
  EXPECT_TRUE(transaction.Commit(Durability::kSync).ok());
}

TEST_F(TransactionTest, APreparedTransactionThatNoServerHasNamedHidesNoOther) {
  const TransactionId id{1, "ours", ""};
  Transaction ours(database_.get());
  ours.Start(Explicit(IsolationLevel::kReadCommitted));
  ASSERT_TRUE(ours.Put(family(), "ours", "prepared").ok());
  ASSERT_TRUE(ours.Prepare(id, Durability::kSync).ok());
  ours.Detach();
  for (const char* name : {"a foreign name", "another one"}) {
    std::unique_ptr<rocksdb::Transaction> foreign(
        database_->rocksdb()->BeginTransaction(rocksdb::WriteOptions()));
    ASSERT_TRUE(foreign->SetName(name).ok());
    ASSERT_TRUE(foreign->Put(family().handle, name, "prepared").ok());
    ASSERT_TRUE(foreign->Prepare().ok());
    LeavePrepared(&foreign);
  }
  database_.reset();
  database_ = disk_.Open();
  const std::vector<TransactionId> found = ListPreparedTransactions(database_.get());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], id);
  size_t told = 0;
  for (const std::string& message : disk_.log().messages()) {
    told += message.find("a prepared transaction is left alone") != std::string::npos;
  }
  EXPECT_EQ(told, 2u);
}

// What a replica's events do: whatever the isolation level, each reads and locks what is committed.
TEST_F(TransactionTest, StatementsThatRepeatNoReadsSeeWhatIsCommittedNow) {
  CommitValue("key1", "one");
  TransactionSettings settings = Explicit(IsolationLevel::kRepeatableRead);
  Transaction transaction(database_.get());
  transaction.Start(settings);
  EXPECT_EQ(Read(transaction, "key1"), "one");
  transaction.EndStatement();
  CommitValue("key1", "two");
  EXPECT_EQ(Read(transaction, "key1"), "one");
  EXPECT_EQ(transaction.Lock(family(), "key1", LockMode::kExclusive).code(),
            StatusCode::kSnapshotConflict);
  transaction.EndStatement();

  settings.repeat_reads = false;
  transaction.Start(settings);
  transaction.BeginStatement();
  EXPECT_EQ(Read(transaction, "key1"), "two");
  CommitValue("key1", "three");
  EXPECT_EQ(Read(transaction, "key1"), "two");
  transaction.RenewSnapshot();
  EXPECT_EQ(Read(transaction, "key1"), "three");
  CommitValue("key1", "four");
  EXPECT_TRUE(transaction.Lock(family(), "key1", LockMode::kExclusive).ok());
  transaction.EndStatement();
  EXPECT_EQ(Read(transaction, "key1"), "four");
}

TEST_F(TransactionTest, PreparedTransactionIsDecidedByNameAfterReopening) {
  const TransactionId committed{1, "commit", ""};
  const TransactionId rolled_back{1, "rollback", ""};
  for (const TransactionId& id : {committed, rolled_back}) {
    Transaction transaction(database_.get());
    transaction.Start(Explicit(IsolationLevel::kReadCommitted));
    ASSERT_TRUE(transaction.Lock(family(), id.global, LockMode::kExclusive).ok());
    ASSERT_TRUE(transaction.Put(family(), id.global, "prepared").ok());
    ASSERT_TRUE(transaction.Prepare(id, Durability::kSync).ok());
    transaction.Detach();
  }
  database_.reset();
  database_ = disk_.Open();
  EXPECT_EQ(ListPreparedTransactions(database_.get()).size(), 2u);
  const auto locks = PreparedLocks::Take(database_.get(), /*table=*/nullptr);
  ASSERT_TRUE(locks.ok()) << locks.status().ToString();
  Transaction other(database_.get());
  other.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(other.Lock(family(), "commit", LockMode::kExclusive).code(), StatusCode::kLockTimeout);

  PreparedLocks* const held = locks->get();
  ASSERT_TRUE(CommitPrepared(database_.get(), held, committed, OnFailure::kTryAgain).ok());
  EXPECT_EQ(CommitPrepared(database_.get(), held, committed, OnFailure::kTryAgain).code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(other.Lock(family(), "commit", LockMode::kExclusive).ok());
  EXPECT_EQ(other.Lock(family(), "rollback", LockMode::kExclusive).code(),
            StatusCode::kLockTimeout);
  ASSERT_TRUE(RollbackPrepared(database_.get(), held, rolled_back, OnFailure::kTryAgain).ok());
  EXPECT_TRUE(other.Lock(family(), "rollback", LockMode::kExclusive).ok());
  Transaction reader(database_.get());
  reader.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(Read(reader, "commit"), "prepared");
  EXPECT_EQ(Read(reader, "rollback"), "not found");
}

TEST_F(TransactionTest, PreparedTransactionKeepsAllItsLocksAfterReopening) {
  const TransactionId id{1, "xa", ""};
  TransactionSettings settings = Explicit(IsolationLevel::kReadCommitted);
  settings.prepares_locks = true;
  {
    Transaction transaction(database_.get());
    transaction.Start(settings);
    rocksdb::PinnableSlice value;
    ASSERT_TRUE(transaction.Lock(family(), "value", LockMode::kExclusive).ok());
    ASSERT_EQ(transaction.GetForUpdate(family(), "shared", LockMode::kShared, &value).code(),
              StatusCode::kNotFound);
    ASSERT_TRUE(transaction.Lock(family(), "passed", LockMode::kExclusive).ok());
    transaction.Unlock(family(), "passed");
    ASSERT_TRUE(transaction.Lock(family(), "row", LockMode::kExclusive).ok());
    ASSERT_TRUE(transaction.Put(family(), "row", "new").ok());
    ASSERT_TRUE(transaction.Prepare(id, Durability::kSync).ok());
    transaction.Detach();
  }
  database_.reset();
  database_ = disk_.Open();
  const auto locks = PreparedLocks::Take(database_.get(), /*table=*/nullptr);
  ASSERT_TRUE(locks.ok()) << locks.status().ToString();
  Transaction other(database_.get());
  other.Start(Explicit(IsolationLevel::kReadCommitted));
  for (const std::string_view key : {"value", "shared", "row"}) {
    EXPECT_EQ(other.Lock(family(), key, LockMode::kExclusive).code(), StatusCode::kLockTimeout)
        << key;
  }
  EXPECT_TRUE(other.Lock(family(), "shared", LockMode::kShared).ok());
  EXPECT_TRUE(other.Lock(family(), "passed", LockMode::kExclusive).ok());
  ASSERT_TRUE(CommitPrepared(database_.get(), locks->get(), id, OnFailure::kTryAgain).ok());
  EXPECT_TRUE(other.Lock(family(), "value", LockMode::kExclusive).ok());
  rocksdb::PinnableSlice record;
  EXPECT_EQ(other.Get(database_->system_family(), LockListKey(), View::kLatest, &record).code(),
            StatusCode::kNotFound)
      << "nothing is left in the dictionary";
}

class PiecewiseTest : public TransactionTest {
 protected:
  static TransactionSettings InPieces(uint64_t changes) {
    TransactionSettings settings = Explicit(IsolationLevel::kRepeatableRead);
    settings.changes_per_piece = changes;
    return settings;
  }

  Status Write(Transaction& transaction, std::string_view key) {
    CAIRN_RETURN_IF_ERROR(transaction.Put(family(), key, "written"));
    return transaction.EndPiece(Durability::kDelayed);
  }
};

TEST_F(PiecewiseTest, WholePiecesStayWhenTheTransactionIsRolledBack) {
  Transaction transaction(database_.get());
  transaction.Start(InPieces(2));
  transaction.BeginStatement();
  for (const char* key : {"key1", "key2", "key3"}) ASSERT_TRUE(Write(transaction, key).ok());
  ASSERT_TRUE(transaction.Rollback().ok());
  Transaction reader(database_.get());
  reader.Start(TransactionSettings());
  EXPECT_EQ(Read(reader, "key1"), "written");
  EXPECT_EQ(Read(reader, "key2"), "written");
  EXPECT_EQ(Read(reader, "key3"), "not found");
}

TEST_F(PiecewiseTest, AScanDoesNotSeeWhatItsStatementWrites) {
  CommitValue("key1", "old");
  CommitValue("key3", "old");
  Transaction transaction(database_.get());
  transaction.Start(InPieces(1));
  transaction.BeginStatement();
  const auto iterator = transaction.NewIterator(family(), rocksdb::ReadOptions(), View::kSnapshot);
  std::vector<std::string> keys;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    keys.push_back(iterator->key().ToString());
    ASSERT_LT(keys.size(), 10u) << "the scan meets its own rows";
    ASSERT_TRUE(Write(transaction, keys.back() + "x").ok());
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"key1", "key3"}));
  EXPECT_EQ(Read(transaction, "key1x"), "not found");
  EXPECT_EQ(Read(transaction, "key1x", View::kLatest), "written");
  transaction.EndStatement();
  transaction.BeginStatement();
  EXPECT_EQ(Read(transaction, "key1x"), "written");
}

TEST_F(PiecewiseTest, AStatementSeesWhatEarlierOnesLeftUncommitted) {
  Transaction transaction(database_.get());
  transaction.Start(InPieces(100));
  transaction.BeginStatement();
  ASSERT_TRUE(Write(transaction, "key1").ok());
  transaction.EndStatement();
  transaction.BeginStatement();
  EXPECT_EQ(Read(transaction, "key1"), "written");
  const auto iterator = transaction.NewIterator(family(), rocksdb::ReadOptions(), View::kSnapshot);
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key().ToString(), "key1");
}

TEST_F(PiecewiseTest, AFailedStatementKeepsWhatWasCommitted) {
  Transaction transaction(database_.get());
  transaction.Start(InPieces(2));
  transaction.BeginStatement();
  for (const char* key : {"key1", "key2", "key3"}) ASSERT_TRUE(Write(transaction, key).ok());
  ASSERT_TRUE(transaction.RollbackStatement().ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  Transaction reader(database_.get());
  reader.Start(TransactionSettings());
  EXPECT_EQ(Read(reader, "key2"), "written");
  EXPECT_EQ(Read(reader, "key3"), "not found");
}

TEST_F(PiecewiseTest, LocksEndWithTheirPiece) {
  Transaction transaction(database_.get());
  transaction.Start(InPieces(1));
  transaction.BeginStatement();
  ASSERT_TRUE(transaction.Lock(family(), "key1", LockMode::kExclusive).ok());
  ASSERT_TRUE(Write(transaction, "key1").ok());
  EXPECT_EQ(transaction.lock_count(), 0u);
  CommitValue("key1", "of another");
}

TEST_F(TransactionTest, AutoIncrementIsRaisedAtCommitOnly) {
  auto dictionary = Dictionary::Load(database_.get());
  ASSERT_TRUE(dictionary.ok());
  const auto table = *(*dictionary)->CreateTable("db.t", {{IndexKind::kPrimary}}, std::nullopt);
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kReadCommitted));
  ASSERT_TRUE(transaction.Put(family(), "key1", "value").ok());
  transaction.RaiseAutoIncrement(*table, 8);
  transaction.RaiseAutoIncrement(*table, 5);
  EXPECT_EQ(*(*dictionary)->LoadAutoIncrement(*table), 0u);
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_EQ(*(*dictionary)->LoadAutoIncrement(*table), 8u);
}

}  // namespace
}  // namespace cairn
