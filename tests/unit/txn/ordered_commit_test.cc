// Commits in the server's order: when they are synced, and what becomes of them when they fail.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "engine/txn/transaction.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

struct LogFileControl {
  std::atomic<bool> full{false};
  std::atomic<int> syncs{0};
};

class ControlledFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  ControlledFile(std::unique_ptr<rocksdb::FSWritableFile> file, LogFileControl* control)
      : FSWritableFileOwnerWrapper(std::move(file)), control_(control) {}

  using FSWritableFileOwnerWrapper::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (control_->full) return rocksdb::IOStatus::NoSpace("full");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
    ++control_->syncs;
    return FSWritableFileOwnerWrapper::Sync(options, debug);
  }
  bool IsSyncThreadSafe() const override { return true; }

 private:
  LogFileControl* const control_;
};

// Lets a test count the syncs of the log, and take away the room for it.
class ControlledFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  ControlledFileSystem(std::shared_ptr<rocksdb::FileSystem> target, LogFileControl* control)
      : FileSystemWrapper(std::move(target)), control_(control) {}
  const char* Name() const override { return "ControlledFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus opened = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (opened.ok() && name.ends_with(".log")) {
      *file = std::make_unique<ControlledFile>(std::move(*file), control_);
    }
    return opened;
  }

 private:
  LogFileControl* const control_;
};

class OrderedCommitTest : public testing::Test {
 protected:
  OrderedCommitTest() {
    env_ = rocksdb::NewCompositeEnv(
        std::make_shared<ControlledFileSystem>(disk_.env()->GetFileSystem(), &control_));
    DatabaseOptions options = disk_.Options();
    options.db.env = env_.get();
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
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

const TransactionId kId{1, "id", ""};

TEST_F(OrderedCommitTest, ShowsTheChangesBeforeTheTransactionEnds) {
  const auto transaction = Writer("key1");
  ASSERT_TRUE(transaction->Prepare(kId, Durability::kSync).ok());
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
  ASSERT_TRUE(transaction->Prepare(kId, Durability::kSync).ok());
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
  ASSERT_TRUE(transaction->Prepare(kId, Durability::kSync).ok());
  control_.full = true;
  transaction->CommitOrdered();
  EXPECT_FALSE(transaction->Commit(Durability::kSync).ok());
  EXPECT_FALSE(transaction->started());
  EXPECT_TRUE(IsLocked("key1")) << "nobody may write what this transaction will";
  EXPECT_FALSE(database_->MakeCommitsDurable().ok());

  control_.full = false;
  ASSERT_TRUE(database_->rocksdb()->Resume().ok());
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

}  // namespace
}  // namespace cairn
