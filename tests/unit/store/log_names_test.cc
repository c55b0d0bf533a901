#include "engine/store/log_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "engine/store/database.h"
#include "rocksdb/file_system.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Not that of the table files, whose syncs would make the names of logs durable as well.
constexpr char kLogDirectory[] = "/logs";

// Which logs have names that no sync has made durable.
class Names {
 public:
  void Make(const std::string& name) {
    std::lock_guard lock(mutex_);
    ++made_;
    unsynced_.insert(name);
  }
  IOStatus Sync(const std::string& directory) {
    std::lock_guard lock(mutex_);
    if (log_syncs_fail && directory == kLogDirectory) {
      return IOStatus::IOError("no sync of " + directory);
    }
    std::erase_if(unsynced_, [&](const std::string& name) {
      return name.substr(0, name.rfind('/')) == directory;
    });
    return IOStatus::OK();
  }

  int made() const {
    std::lock_guard lock(mutex_);
    return made_;
  }
  std::set<std::string> unsynced() const {
    std::lock_guard lock(mutex_);
    return unsynced_;
  }

  std::atomic<bool> log_syncs_fail{false};

 private:
  mutable std::mutex mutex_;
  std::set<std::string> unsynced_;
  int made_ = 0;
};

// RocksDB syncs no log whose file system does not say that it may.
class SyncedLog final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  explicit SyncedLog(std::unique_ptr<FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)) {}
  bool IsSyncThreadSafe() const override { return true; }
};

class WatchedDirectory final : public FSDirectory {
 public:
  WatchedDirectory(std::string name, Names* names) : name_(std::move(name)), names_(names) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return names_->Sync(name_); }

 private:
  const std::string name_;
  Names* const names_;
};

class WatchedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  WatchedFileSystem(std::shared_ptr<rocksdb::FileSystem> target, Names* names)
      : FileSystemWrapper(std::move(target)), names_(names) {}
  const char* Name() const override { return "WatchedFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) override {
    return Watch(name, FileSystemWrapper::NewWritableFile(name, options, file, debug), file);
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                             const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                             IODebugContext* debug) override {
    return Watch(name, FileSystemWrapper::ReuseWritableFile(name, old_name, options, file, debug),
                 file);
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions&,
                        std::unique_ptr<FSDirectory>* directory, IODebugContext*) override {
    *directory = std::make_unique<WatchedDirectory>(name, names_);
    return IOStatus::OK();
  }

 private:
  IOStatus Watch(const std::string& name, IOStatus made, std::unique_ptr<FSWritableFile>* file) {
    if (made.ok() && name.ends_with(".log")) {
      names_->Make(name);
      *file = std::make_unique<SyncedLog>(std::move(*file));
    }
    return made;
  }

  Names* const names_;
};

class LogNamesTest : public ::testing::Test {
 protected:
  LogNamesTest()
      : env_(rocksdb::NewCompositeEnv(
            std::make_shared<WatchedFileSystem>(disk_.env()->GetFileSystem(), &names_))) {}

  DatabaseOptions Options(bool two_write_queues) {
    DatabaseOptions options = disk_.Options();
    options.db.env = env_.get();
    options.db.wal_dir = kLogDirectory;
    options.db.two_write_queues = two_write_queues;
    return options;
  }

  static rocksdb::Status PutSynced(Database* database, const std::string& key) {
    rocksdb::WriteOptions options;
    options.sync = true;
    return database->rocksdb()->Put(options, database->default_family().handle, key, "row");
  }

  // Writes to one new log after another, each time first with a sync.
  void FillLogs(Database* database, int logs) {
    for (int log = 0; log < logs; ++log) {
      ASSERT_TRUE(PutSynced(database, std::to_string(log)).ok());
      EXPECT_THAT(names_.unsynced(), IsEmpty()) << "log " << log;
      ASSERT_TRUE(database->maintenance().FlushMemtables().ok());
    }
  }

  MemoryDisk disk_;
  Names names_;
  std::unique_ptr<rocksdb::Env> env_;
};

TEST_F(LogNamesTest, AreDurableOnceAWriteIs) {
  for (const bool two_write_queues : {false, true}) {
    const auto database = Database::Open(Options(two_write_queues), &disk_.log());
    ASSERT_TRUE(database.ok());
    FillLogs(database->get(), 3);
  }
  EXPECT_GE(names_.made(), 8);
}

TEST_F(LogNamesTest, OfRecycledLogsToo) {
  DatabaseOptions options = Options(/*two_write_queues=*/true);
  options.db.recycle_log_file_num = 2;
  // RocksDB recycles no logs whose end must be whole.
  options.db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  const auto database = Database::Open(std::move(options), &disk_.log());
  ASSERT_TRUE(database.ok());
  FillLogs(database->get(), 6);
}

TEST_F(LogNamesTest, NoDatabaseOpensWithoutThem) {
  names_.log_syncs_fail = true;
  const auto database = Database::Open(Options(/*two_write_queues=*/true), &disk_.log());
  ASSERT_FALSE(database.ok());
  EXPECT_THAT(database.status().ToString(), HasSubstr("no sync of /logs"));
}

}  // namespace
}  // namespace cairn
