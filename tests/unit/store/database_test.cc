#include "engine/store/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rocksdb/env.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

TEST(Database, SecondOpeningOfTheSameDirectoryIsRefusedAsBusy) {
  MemoryDisk disk;
  const auto database = disk.Open();
  const auto second = Database::Open(disk.Options(), &disk.log());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kBusy) << second.status().ToString();
}

TEST(Database, MissingDatabaseIsRefusedWhenItMayNotBeCreated) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.db.create_if_missing = false;
  const auto database = Database::Open(std::move(options), &disk.log());
  ASSERT_FALSE(database.ok());
  EXPECT_THAT(database.status().ToString(), ::testing::HasSubstr("/memory"));
}

TEST(Database, UnknownOptionIsRefusedBeforeAnythingIsCreated) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.default_column_family_text = "no_such_option=1";
  const auto database = Database::Open(std::move(options), &disk.log());
  ASSERT_FALSE(database.ok());
  EXPECT_THAT(database.status().ToString(), ::testing::HasSubstr("no_such_option"));
  EXPECT_TRUE(disk.env()->FileExists("/memory/CURRENT").IsNotFound());
}

TEST(Database, DirectoryWithAnotherComparatorIsRefusedUntouched) {
  MemoryDisk disk;
  {
    rocksdb::Options options;
    options.env = disk.env();
    options.create_if_missing = true;
    std::unique_ptr<rocksdb::DB> db;
    ASSERT_TRUE(rocksdb::DB::Open(options, "/memory", &db).ok());
  }
  const auto database = Database::Open(disk.Options(), &disk.log());
  ASSERT_FALSE(database.ok());
  EXPECT_THAT(database.status().ToString(), ::testing::HasSubstr("comparator"));
}

// Cuts the last bytes off the newest log, as a server leaves it that is killed while it writes.
void CutLogTail(rocksdb::Env* env) {
  std::vector<std::string> files;
  ASSERT_TRUE(env->GetChildren("/memory", &files).ok());
  std::string newest;
  for (const std::string& file : files) {
    if (file.ends_with(".log")) newest = std::max(newest, file);
  }
  std::string content;
  ASSERT_TRUE(rocksdb::ReadFileToString(env, "/memory/" + newest, &content).ok());
  content.resize(content.size() - 10);
  ASSERT_TRUE(rocksdb::WriteStringToFile(env, content, "/memory/" + newest).ok());
}

class CutLog : public ::testing::TestWithParam<rocksdb::WALRecoveryMode> {};

TEST_P(CutLog, LosesOnlyTheUnfinishedRecordOrIsRefused) {
  MemoryDisk disk;
  {
    const auto database = disk.Open();
    for (const char* key : {"finished", "unfinished"}) {
      ASSERT_TRUE(database->rocksdb()
                      ->Put(rocksdb::WriteOptions(), database->default_family().handle, key,
                            std::string(100'000, 'x'))
                      .ok());
    }
  }
  CutLogTail(disk.env());
  DatabaseOptions options = disk.Options();
  options.db.wal_recovery_mode = GetParam();
  const auto database = Database::Open(std::move(options), &disk.log());
  if (GetParam() == rocksdb::WALRecoveryMode::kAbsoluteConsistency) {
    EXPECT_EQ(database.status().code(), StatusCode::kCorruption);
    return;
  }
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  std::string value;
  rocksdb::ColumnFamilyHandle* const family = (*database)->default_family().handle;
  EXPECT_TRUE((*database)->rocksdb()->Get(rocksdb::ReadOptions(), family, "finished", &value).ok());
  EXPECT_TRUE((*database)
                  ->rocksdb()
                  ->Get(rocksdb::ReadOptions(), family, "unfinished", &value)
                  .IsNotFound());
}

INSTANTIATE_TEST_SUITE_P(Modes, CutLog,
                         ::testing::Values(rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords,
                                           rocksdb::WALRecoveryMode::kAbsoluteConsistency));

}  // namespace
}  // namespace cairn
