#include "engine/lsm/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lsm/log_record.h"
#include "tests/unit/store/memory_database.h"

namespace cairn::lsm {
namespace {

// Where the records of a short log end.
std::vector<size_t> EndsOfRecords(std::string_view log) {
  EXPECT_LT(log.size(), kLogBlockBytes);
  std::vector<size_t> ends;
  for (size_t at = 0; at < log.size();) {
    const LogRecord record = ReadRecord(log.substr(at));
    EXPECT_TRUE(record.whole);
    if (!record.whole) break;
    at += record.bytes;
    ends.push_back(at);
  }
  return ends;
}

// A crash may leave the first edits of a group alone; RocksDB then takes back the files that they
// add.
TEST(ReadManifest, HasTheFilesOfAGroupOfFamiliesTogetherOrNoneOfThem) {
  MemoryDisk disk;
  const auto database = disk.Open();
  ASSERT_NE(database, nullptr);
  const auto second = database->families().FindOrCreate("second");
  ASSERT_TRUE(second.ok());
  const std::vector<rocksdb::ColumnFamilyHandle*> handles = {database->default_family().handle,
                                                             (*second)->handle};
  for (rocksdb::ColumnFamilyHandle* const handle : handles) {
    ASSERT_TRUE(database->rocksdb()->Put(rocksdb::WriteOptions(), handle, "key", "value").ok());
  }
  rocksdb::FlushOptions together;
  together.force_atomic_flush = true;
  ASSERT_TRUE(database->rocksdb()->Flush(together, handles).ok());

  std::string current;
  std::string whole;
  ASSERT_TRUE(rocksdb::ReadFileToString(disk.env(), "/memory/CURRENT", &current).ok());
  const std::string name = current.substr(0, current.size() - 1);
  ASSERT_TRUE(rocksdb::ReadFileToString(disk.env(), "/memory/" + name, &whole).ok());
  ASSERT_TRUE(disk.env()->CreateDir("/crashed").ok());
  ASSERT_TRUE(rocksdb::WriteStringToFile(disk.env(), current, "/crashed/CURRENT").ok());
  std::vector<size_t> families_with_files;
  for (const size_t end : EndsOfRecords(whole)) {
    ASSERT_TRUE(
        rocksdb::WriteStringToFile(disk.env(), whole.substr(0, end), "/crashed/" + name).ok());
    const Result<Manifest> manifest = ReadManifest(disk.env(), "/crashed");
    ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
    families_with_files.push_back(static_cast<size_t>(std::ranges::count_if(
        manifest->families, [](const FamilyFiles& family) { return family.files > 0; })));
  }
  EXPECT_EQ(std::ranges::count(families_with_files, 1u), 0);
  ASSERT_FALSE(families_with_files.empty());
  EXPECT_EQ(families_with_files.front(), 0u);
  EXPECT_EQ(families_with_files.back(), 2u);
}

}  // namespace
}  // namespace cairn::lsm
