#include "engine/store/column_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> NamesOf(const ColumnFamilies& families) {
  std::vector<std::string> names;
  for (const ColumnFamily* family : families.All()) names.push_back(family->name);
  return names;
}

size_t WriteBufferBytes(Database* database, const ColumnFamily& family) {
  return database->rocksdb()->GetOptions(family.handle).write_buffer_size;
}

TEST(ColumnFamilies, NewDirectoryHasDefaultAndSystemFamilies) {
  MemoryDisk disk;
  const auto database = disk.Open();
  EXPECT_EQ(database->default_family().id, 0u);
  EXPECT_EQ(database->system_family().id, 1u);
  EXPECT_EQ(database->families().Find("nothing"), nullptr);
  EXPECT_THAT(NamesOf(database->families()), ElementsAre("default", "__system__"));
}

TEST(ColumnFamilies, TheyAndTheirDataSurviveReopening) {
  MemoryDisk disk;
  uint32_t id = 0;
  {
    const auto database = disk.Open();
    const auto family = database->families().FindOrCreate("rev:cf1");
    ASSERT_TRUE(family.ok()) << family.status().ToString();
    EXPECT_TRUE((*family)->reverse);
    EXPECT_EQ(*database->families().FindOrCreate("rev:cf1"), *family);
    id = (*family)->id;
    ASSERT_TRUE(
        database->rocksdb()->Put(rocksdb::WriteOptions(), (*family)->handle, "key1", "value").ok());
  }
  const auto database = disk.Open();
  const ColumnFamily* const family = database->families().Find(id);
  ASSERT_NE(family, nullptr);
  EXPECT_EQ(family->name, "rev:cf1");
  std::string value;
  EXPECT_TRUE(
      database->rocksdb()->Get(rocksdb::ReadOptions(), family->handle, "key1", &value).ok());
}

TEST(ColumnFamilies, OptionsOfOpenFamiliesChangeAndMissingOnesAreCreated) {
  MemoryDisk disk;
  const auto database = disk.Open();
  ColumnFamilies& families = database->families();
  const Status updated =
      families.UpdateOptions("default={write_buffer_size=1m};cf1={write_buffer_size=2m}");
  ASSERT_TRUE(updated.ok()) << updated.ToString();
  EXPECT_EQ(WriteBufferBytes(database.get(), families.default_family()), size_t{1} << 20);
  ASSERT_NE(families.Find("cf1"), nullptr);
  EXPECT_EQ(WriteBufferBytes(database.get(), *families.Find("cf1")), size_t{2} << 20);
}

TEST(ColumnFamilies, OneWrongOptionChangesNothing) {
  MemoryDisk disk;
  const auto database = disk.Open();
  ColumnFamilies& families = database->families();
  const size_t before = WriteBufferBytes(database.get(), families.default_family());
  const Status updated = families.UpdateOptions(
      "default={write_buffer_size=1m};cf1={write_buffer_size=2m};cf2={no_such_option=1}");
  EXPECT_EQ(updated.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(updated.ToString(), HasSubstr("cf2"));
  EXPECT_THAT(updated.ToString(), HasSubstr("no_such_option"));
  EXPECT_EQ(WriteBufferBytes(database.get(), families.default_family()), before);
  EXPECT_THAT(NamesOf(families), ElementsAre("default", "__system__"));
}

}  // namespace
}  // namespace cairn
