#include "engine/store/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::Contains;

class MaintenanceTest : public ::testing::Test {
 protected:
  // Files stay in the level where they were put.
  MaintenanceTest() {
    DatabaseOptions options = disk_.Options();
    options.column_family.disable_auto_compactions = true;
    auto opened = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    database_ = std::move(opened).value();
  }

  Maintenance& maintenance() { return database_->maintenance(); }
  const ColumnFamily& family() const { return database_->default_family(); }

  void Put(const std::string& key) {
    ASSERT_TRUE(database_->rocksdb()->Put({}, family().handle, key, "value").ok());
  }

  size_t FilesOfLevel(size_t level) const {
    rocksdb::ColumnFamilyMetaData files;
    database_->rocksdb()->GetColumnFamilyMetaData(family().handle, &files);
    return files.levels[level].files.size();
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
};

TEST_F(MaintenanceTest, FilesOfLevelZeroGoIntoLevelOne) {
  for (const char* key : {"k1", "k2"}) {
    Put(key);
    ASSERT_TRUE(maintenance().FlushMemtables().ok());
  }
  EXPECT_EQ(FilesOfLevel(0), 2u);
  ASSERT_TRUE(maintenance().CompactLevelZero().ok());
  EXPECT_EQ(FilesOfLevel(0), 0u);
  EXPECT_EQ(FilesOfLevel(1), 1u);
}

TEST_F(MaintenanceTest, CompactionsOfFamiliesAreCountedAndLogged) {
  Put("k1");
  ASSERT_TRUE(maintenance().Compact(family()).ok());
  ASSERT_TRUE(maintenance().Compact(family()).ok());
  EXPECT_EQ(maintenance().manual_compactions_processed(), 2u);
  EXPECT_EQ(maintenance().manual_compactions_running(), 0u);
  EXPECT_THAT(disk_.log().messages(), Contains("Manual Compaction id 2 cf default started."));
  EXPECT_THAT(disk_.log().messages(), Contains("Manual Compaction id 2 cf default ended."));
}

TEST_F(MaintenanceTest, PausesDoNotNest) {
  ASSERT_TRUE(maintenance().PauseBackgroundWork().ok());
  ASSERT_TRUE(maintenance().PauseBackgroundWork().ok());
  ASSERT_TRUE(maintenance().ContinueBackgroundWork().ok());
  Put("k1");
  EXPECT_TRUE(maintenance().FlushMemtables().ok());
  EXPECT_EQ(FilesOfLevel(0), 1u);
  EXPECT_TRUE(maintenance().ContinueBackgroundWork().ok());
}

// What another program has done to the directory.
TEST_F(MaintenanceTest, DeletionsOfRangesAreLookedForWhereTheyMayBe) {
  const auto count = [this] {
    const std::unique_ptr<rocksdb::Iterator> rows = database_->NewIterator(family(), {});
    size_t rows_seen = 0;
    for (rows->Seek("k"); rows->Valid(); rows->Next()) ++rows_seen;
    EXPECT_TRUE(rows->status().ok());
    return rows_seen;
  };
  for (const char* key : {"k1", "k2", "k3"}) Put(key);
  ASSERT_TRUE(maintenance().FlushMemtables().ok());
  EXPECT_TRUE(family().may_have_range_deletions);
  ASSERT_TRUE(maintenance().RefreshStatistics().ok());
  EXPECT_FALSE(family().may_have_range_deletions);
  EXPECT_EQ(count(), 3u);
  rocksdb::DB* const other_program = database_->rocksdb()->GetRootDB();
  ASSERT_TRUE(other_program->DeleteRange({}, family().handle, "k1", "k3").ok());
  ASSERT_TRUE(maintenance().FlushMemtables().ok());

  database_.reset();
  database_ = disk_.Open();
  ASSERT_TRUE(maintenance().RefreshStatistics().ok());
  EXPECT_TRUE(family().may_have_range_deletions);
  EXPECT_EQ(count(), 1u);
}

}  // namespace
}  // namespace cairn
