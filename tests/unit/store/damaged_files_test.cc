#include "engine/store/damaged_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/database.h"
#include "engine/store/log_failure.h"
#include "rocksdb/convenience.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using rocksdb::BackgroundErrorReason;
using ::testing::HasSubstr;

TEST(DamagedFiles, FileIsFoundInWhatRocksDbSays) {
  EXPECT_EQ(TableFileIn("Corruption: block checksum mismatch: stored = 1, computed = 2, type = 4  "
                        "in ./#rocksdb/000024.sst offset 0 size 4096"),
            "000024.sst");
  EXPECT_EQ(TableFileIn("/a/000012.sst"), "000012.sst");
  EXPECT_EQ(TableFileIn("000012.sst"), "000012.sst");
  EXPECT_EQ(TableFileIn("Corruption: keys out of order"), "");
  EXPECT_EQ(TableFileIn("/a/.sst"), "");
}

class DamageListenerTest : public ::testing::Test {
 protected:
  rocksdb::Status Reported(BackgroundErrorReason reason, rocksdb::Status error) {
    listener_->OnBackgroundError(reason, &error);
    return error;
  }

  TestLog log_;
  std::shared_ptr<DamagedFiles> files_ = std::make_shared<DamagedFiles>();
  std::shared_ptr<rocksdb::EventListener> listener_ = MakeDamageListener(
      files_, [] { return int64_t{7}; }, &log_);
};

TEST_F(DamageListenerTest, TakesBackDamageThatWasOnlyRead) {
  const auto damage = rocksdb::Status::Corruption("bad block in /a/000012.sst offset 0");
  const auto missing = rocksdb::Status::PathNotFound("While open", "/a/000013.sst");
  EXPECT_TRUE(Reported(BackgroundErrorReason::kCompaction, damage).ok());
  EXPECT_TRUE(Reported(BackgroundErrorReason::kCompaction, missing).ok());
  EXPECT_TRUE(Reported(BackgroundErrorReason::kAsyncFileOpen, damage).ok());
  ASSERT_EQ(files_->count(), 2u);
  EXPECT_EQ(files_->List()[0].name, "000012.sst");
  EXPECT_EQ(files_->List()[0].attempts, 2u);
  EXPECT_EQ(files_->List()[0].found_us, 7);
  EXPECT_EQ(log_.messages().size(), 2u) << "each file is told of once";
}

TEST_F(DamageListenerTest, LeavesEveryOtherErrorAsItIs) {
  for (const BackgroundErrorReason reason :
       {BackgroundErrorReason::kFlush, BackgroundErrorReason::kWriteCallback,
        BackgroundErrorReason::kMemTable, BackgroundErrorReason::kManifestWrite,
        BackgroundErrorReason::kFlushNoWAL, BackgroundErrorReason::kManifestWriteNoWAL}) {
    EXPECT_TRUE(Reported(reason, rocksdb::Status::Corruption("/a/000012.sst")).IsCorruption());
  }
  EXPECT_TRUE(Reported(BackgroundErrorReason::kCompaction, rocksdb::Status::NoSpace()).IsNoSpace());
  EXPECT_TRUE(
      Reported(BackgroundErrorReason::kCompaction, rocksdb::Status::IOError("x")).IsIOError());
  EXPECT_EQ(files_->count(), 0u);
  EXPECT_TRUE(log_.messages().empty());
}

TEST(LogFailureAfterDamage, WhatWasTakenBackIsNoError) {
  auto failure = std::make_shared<LogFailure>();
  const auto listener = MakeLogFailureListener(failure);
  rocksdb::Status taken_back;
  listener->OnBackgroundError(BackgroundErrorReason::kCompaction, &taken_back);
  EXPECT_FALSE(failure->any());
}

// A database whose rows lie in one file of the last level, one block of which is damaged.
class DamagedDatabase : public ::testing::Test {
 protected:
  DamagedDatabase() {
    database_ = disk_.Open();
    Put(0);
    EXPECT_TRUE(database_->maintenance().FlushMemtables().ok());
    EXPECT_TRUE(database_->maintenance().Compact(database_->default_family()).ok());
    std::vector<rocksdb::LiveFileMetaData> files;
    database_->rocksdb()->GetLiveFilesMetaData(&files);
    for (const auto& file : files) {
      if (file.column_family_name == kDefaultColumnFamily) file_ = file.name.substr(1);
    }
    database_ = nullptr;
    std::string bytes;
    EXPECT_TRUE(rocksdb::ReadFileToString(disk_.env(), "/memory/" + file_, &bytes).ok());
    bytes[5000] = static_cast<char>(bytes[5000] + 1);
    EXPECT_TRUE(rocksdb::WriteStringToFile(disk_.env(), bytes, "/memory/" + file_).ok());
    database_ = disk_.Open();
  }

  rocksdb::Status Put(int from) {
    rocksdb::Status put;
    for (int i = 0; i < 500 && put.ok(); ++i) {
      put = database_->rocksdb()->Put(rocksdb::WriteOptions(), database_->default_family().handle,
                                      "row" + std::to_string(1000 + i),
                                      std::to_string(from + i * 7919 % 100'003) + "value");
    }
    return put;
  }

  size_t TimesLogged(const std::string& text) {
    const std::vector<std::string> messages = disk_.log().messages();
    return static_cast<size_t>(std::count_if(
        messages.begin(), messages.end(),
        [&](const std::string& message) { return message.find(text) != std::string::npos; }));
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::string file_;
};

TEST_F(DamagedDatabase, CompactionThatMeetsTheBlockDoesNotStopWrites) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_TRUE(Put(attempt).ok());
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    EXPECT_EQ(database_->maintenance().Compact(database_->default_family()).code(),
              StatusCode::kCorruption);
  }
  EXPECT_TRUE(Put(5).ok());
  EXPECT_TRUE(database_->maintenance().FlushMemtables().ok());
  ASSERT_EQ(database_->damaged_files().count(), 1u);
  EXPECT_EQ(database_->damaged_files().List()[0].name, file_);
  EXPECT_EQ(TimesLogged("a compaction met damage: "), 1u);
  EXPECT_EQ(TimesLogged("Error detected in background"), 0u);
}

TEST_F(DamagedDatabase, FileIsForgottenWithItsTable) {
  ASSERT_TRUE(Put(1).ok());
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  EXPECT_FALSE(database_->maintenance().Compact(database_->default_family()).ok());
  ASSERT_EQ(database_->damaged_files().count(), 1u);
  const rocksdb::Slice first("row");
  const rocksdb::Slice last("rox");
  ASSERT_TRUE(rocksdb::DeleteFilesInRange(database_->rocksdb()->GetBaseDB(),
                                          database_->default_family().handle, &first, &last)
                  .ok());
  EXPECT_EQ(database_->damaged_files().count(), 0u);
  EXPECT_TRUE(database_->maintenance().Compact(database_->default_family()).ok());
}

}  // namespace
}  // namespace cairn
