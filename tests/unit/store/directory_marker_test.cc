#include "engine/store/directory_marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

class DirectoryMarkerTest : public ::testing::Test {
 protected:
  DirectoryMarkerTest() { EXPECT_TRUE(disk_.env()->CreateDirIfMissing("/memory").ok()); }

  Status CheckAfterWriting(const std::string& text) {
    EXPECT_TRUE(rocksdb::WriteStringToFile(disk_.env(), text, "/memory/CAIRN_FORMAT").ok());
    return CheckDirectoryMarker(disk_.env(), "/memory");
  }

  MemoryDisk disk_;
};

TEST_F(DirectoryMarkerTest, DirectoryWithoutTheFileIsFine) {
  EXPECT_TRUE(CheckDirectoryMarker(disk_.env(), "/memory").ok());
  EXPECT_TRUE(CheckDirectoryMarker(disk_.env(), "/nowhere").ok());
}

TEST_F(DirectoryMarkerTest, WrittenMarkerIsAccepted) {
  ASSERT_TRUE(WriteDirectoryMarker(disk_.env(), "/memory").ok());
  std::string text;
  ASSERT_TRUE(rocksdb::ReadFileToString(disk_.env(), "/memory/CAIRN_FORMAT", &text).ok());
  EXPECT_EQ(text, "1\n");
  EXPECT_TRUE(CheckDirectoryMarker(disk_.env(), "/memory").ok());
}

TEST_F(DirectoryMarkerTest, NewerVersionIsRefusedByNumberAndDirectory) {
  const Status status = CheckAfterWriting("2\n");
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_THAT(status.ToString(),
              ::testing::AllOf(::testing::HasSubstr("version 2"), ::testing::HasSubstr("/memory")));
}

TEST_F(DirectoryMarkerTest, AnythingElseInTheFileIsCorruption) {
  for (const char* text : {"", "\n", "one\n", "-1\n", "1 2\n", "99999999999999999999\n"}) {
    EXPECT_EQ(CheckAfterWriting(text).code(), StatusCode::kCorruption) << text;
  }
}

TEST_F(DirectoryMarkerTest, RocksDbKeepsTheFile) {
  for (int start = 0; start < 3; ++start) {
    auto database = disk_.Open();
    ASSERT_NE(database, nullptr);
    ASSERT_TRUE(WriteDirectoryMarker(disk_.env(), "/memory").ok());
    ASSERT_TRUE(database->maintenance().FlushMemtables().ok());
  }
  EXPECT_TRUE(disk_.env()->FileExists("/memory/CAIRN_FORMAT").ok());
}

}  // namespace
}  // namespace cairn
