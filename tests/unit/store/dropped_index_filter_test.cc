#include "engine/store/dropped_index_filter.h"

#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

std::string Key(uint32_t index_number, std::string_view rest) {
  std::string key;
  AppendBigEndian(index_number, &key);
  return key.append(rest);
}

size_t CountEntries(Database& database) {
  std::unique_ptr<rocksdb::Iterator> iterator(
      database.rocksdb()->NewIterator(rocksdb::ReadOptions(), database.default_family().handle));
  size_t count = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++count;
  return count;
}

TEST(DroppedIndexFilter, CompactionRemovesEntriesOfDroppedIndexesOnly) {
  MemoryDisk disk;
  auto database = disk.Open();
  for (const uint32_t number : {256, 257, 258}) {
    for (const char* rest : {"a", "b"}) {
      ASSERT_TRUE(database->rocksdb()
                      ->Put(rocksdb::WriteOptions(), database->default_family().handle,
                            Key(number, rest), "value")
                      .ok());
    }
  }
  database->dropped_indexes().Add(IndexId{0, 257});
  database->dropped_indexes().Add(IndexId{5, 258});  // Another column family.
  ASSERT_TRUE(database->FlushMemtables().ok());
  ASSERT_TRUE(database->Compact(database->default_family()).ok());
  EXPECT_EQ(CountEntries(*database), 4u);
  std::string value;
  EXPECT_TRUE(
      database->rocksdb()
          ->Get(rocksdb::ReadOptions(), database->default_family().handle, Key(257, "a"), &value)
          .IsNotFound());
}

TEST(DroppedIndexes, SnapshotDoesNotChangeUnderItsReader) {
  DroppedIndexes indexes;
  indexes.Add(IndexId{0, 256});
  const auto before = indexes.Get();
  indexes.Remove(IndexId{0, 256});
  EXPECT_EQ(before->size(), 1u);
  EXPECT_TRUE(indexes.Get()->empty());
}

}  // namespace
}  // namespace cairn
