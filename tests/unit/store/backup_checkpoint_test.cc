#include "engine/store/backup_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/store/database.h"
#include "engine/store/directory_marker.h"
#include "engine/store/stored_log_directory.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class BackupCheckpointTest : public ::testing::Test {
 protected:
  BackupCheckpointTest() : database_(disk_.Open()) {}

  bool Exists(const std::string& path) { return disk_.env()->FileExists(path).ok(); }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  const std::string copy_ = "/memory/mariabackup-checkpoint";
};

TEST(CheckpointPath, RelativeOneIsRefusedUnlessItIsInTheDataDirectory) {
  for (const char* path :
       {"/anywhere", "/memory", "./#rocksdb/copy", "#rocksdb/copy", "#rocksdb/../#rocksdb/copy"}) {
    EXPECT_TRUE(CheckCheckpointPath("./#rocksdb", path).ok()) << path;
  }
  for (const char* path :
       {"copy", "./copy", "#rocksdb", "./#rocksdb/", "#rocksdb/../copy", "#rocksdb-copy", ".."}) {
    const Status checked = CheckCheckpointPath("./#rocksdb", path);
    EXPECT_EQ(checked.code(), StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(checked.ToString(), HasSubstr("one below ./#rocksdb"));
  }
}

TEST_F(BackupCheckpointTest, CopyHasTheMarkOfTheFormatIfTheDirectoryHas) {
  ASSERT_TRUE(database_->maintenance().CreateCheckpoint("/plain").ok());
  EXPECT_TRUE(Exists("/plain/CURRENT"));
  EXPECT_FALSE(Exists("/plain/CAIRN_FORMAT"));
  ASSERT_TRUE(WriteDirectoryMarker(disk_.env(), "/memory").ok());
  ASSERT_TRUE(database_->maintenance().CreateCheckpoint("/marked").ok());
  EXPECT_TRUE(Exists("/marked/CAIRN_FORMAT"));
  EXPECT_EQ(database_->maintenance().backup_checkpoint().bytes(), 0u)
      << "these are no copies of backups";
}

TEST_F(BackupCheckpointTest, CopyHasItsLogsInItself) {
  database_ = nullptr;
  ASSERT_TRUE(disk_.env()->CreateDirIfMissing("/logs").ok());
  DatabaseOptions options = disk_.Options();
  options.db.wal_dir = "/logs";
  auto opened = Database::Open(std::move(options), &disk_.log());
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  ASSERT_TRUE((*opened)->maintenance().CreateCheckpoint("/copy").ok());
  EXPECT_EQ(*StoredLogDirectory(disk_.env(), "/memory"), "/logs");
  EXPECT_EQ(*StoredLogDirectory(disk_.env(), "/copy"), "");
  DatabaseOptions of_copy = disk_.Options();
  of_copy.directory = "/copy";
  const auto copy = Database::Open(std::move(of_copy), &disk_.log());
  EXPECT_TRUE(copy.ok()) << copy.status().ToString();
}

TEST_F(BackupCheckpointTest, IsKnownFromItsMakingToItsRemoval) {
  BackupCheckpoint& copy = database_->maintenance().backup_checkpoint();
  EXPECT_FALSE(copy.IsOlderThan(0, database_->NowSeconds()));
  ASSERT_TRUE(database_->maintenance().CreateCheckpoint(copy_ + "/").ok());
  EXPECT_GT(copy.bytes(), 0u);
  EXPECT_TRUE(copy.IsOlderThan(0, database_->NowSeconds()));
  EXPECT_FALSE(copy.IsOlderThan(1000, database_->NowSeconds()));
  EXPECT_TRUE(copy.IsOlderThan(1000, database_->NowSeconds() + 1001));
  ASSERT_TRUE(copy.Remove().ok());
  EXPECT_FALSE(Exists(copy_ + "/CURRENT"));
  EXPECT_EQ(copy.bytes(), 0u);
  EXPECT_TRUE(copy.Remove().ok()) << "nothing is said where there is none";
  ASSERT_TRUE(database_->maintenance().CreateCheckpoint(copy_).ok()) << "the next one can be made";
}

TEST_F(BackupCheckpointTest, StartRemovesWhatIsLeftWithANote) {
  ASSERT_TRUE(database_->maintenance().CreateCheckpoint(copy_).ok());
  ASSERT_TRUE(disk_.env()->CreateDir(copy_ + ".tmp").ok());
  ASSERT_TRUE(rocksdb::WriteStringToFile(disk_.env(), "x", copy_ + ".tmp/000001.sst").ok());
  database_ = nullptr;
  database_ = disk_.Open();
  EXPECT_FALSE(Exists(copy_ + "/CURRENT"));
  EXPECT_FALSE(Exists(copy_ + ".tmp/000001.sst"));
  EXPECT_THAT(disk_.log().messages(), Contains(HasSubstr("which a backup has left")));
}

TEST_F(BackupCheckpointTest, StartWithoutOneSaysNothing) {
  database_ = nullptr;
  database_ = disk_.Open();
  EXPECT_THAT(disk_.log().messages(), Not(Contains(HasSubstr("backup"))));
}

}  // namespace
}  // namespace cairn
