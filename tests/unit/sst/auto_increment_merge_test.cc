#include "engine/sst/auto_increment_merge.h"

#include <gtest/gtest.h>

#include "engine/codec/dictionary_record.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

const std::string kKey = IndexKey(DictionaryRecordType::kAutoIncrement, IndexId{0, 256});

TEST(AutoIncrementMerge, LargestValueWinsOverFlushesAndCompactions) {
  MemoryDisk disk;
  auto database = disk.Open();
  rocksdb::ColumnFamilyHandle* const system = database->system_family().handle;
  for (const uint64_t value : {5, 9, 7}) {
    ASSERT_TRUE(database->rocksdb()
                    ->Merge(rocksdb::WriteOptions(), system, kKey, EncodeAutoIncrement(value))
                    .ok());
    ASSERT_TRUE(database->maintenance().FlushMemtables().ok());
  }
  ASSERT_TRUE(database->maintenance().Compact(database->system_family()).ok());
  std::string stored;
  ASSERT_TRUE(database->rocksdb()->Get(rocksdb::ReadOptions(), system, kKey, &stored).ok());
  EXPECT_EQ(*DecodeAutoIncrement(stored), 9u);
}

TEST(AutoIncrementMerge, MalformedOperandIsAnErrorOfThatKeyOnly) {
  MemoryDisk disk;
  auto database = disk.Open();
  rocksdb::ColumnFamilyHandle* const system = database->system_family().handle;
  ASSERT_TRUE(database->rocksdb()->Merge(rocksdb::WriteOptions(), system, kKey, "short").ok());
  std::string stored;
  EXPECT_FALSE(database->rocksdb()->Get(rocksdb::ReadOptions(), system, kKey, &stored).ok());
  const std::string other_key = IndexKey(DictionaryRecordType::kAutoIncrement, IndexId{0, 257});
  ASSERT_TRUE(database->rocksdb()
                  ->Merge(rocksdb::WriteOptions(), system, other_key, EncodeAutoIncrement(3))
                  .ok());
  ASSERT_TRUE(database->rocksdb()->Get(rocksdb::ReadOptions(), system, other_key, &stored).ok());
  EXPECT_EQ(*DecodeAutoIncrement(stored), 3u);
}

}  // namespace
}  // namespace cairn
