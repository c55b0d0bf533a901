#include "engine/upkeep/upkeep.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/base/bytes.h"
#include "tests/unit/store/memory_database.h"
#include "tests/unit/upkeep/eventually.h"

namespace cairn {
namespace {

size_t CountEntries(const Database& database, const ColumnFamily& family) {
  std::unique_ptr<rocksdb::Iterator> iterator(
      database.rocksdb()->NewIterator(rocksdb::ReadOptions(), family.handle));
  size_t count = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++count;
  return count;
}

class UpkeepTest : public ::testing::TestWithParam<const char*> {};

TEST_P(UpkeepTest, EntriesOfADroppedTableGoAndOthersStay) {
  MemoryDisk disk;
  auto database = disk.Open();
  auto dictionary = std::move(*Dictionary::Load(database.get()));
  const std::vector<NewIndex> indexes = {{IndexKind::kPrimary, GetParam()}};
  const auto dropped = *dictionary->CreateTable("db.dropped", indexes, 5);
  const auto kept = *dictionary->CreateTable("db.kept", indexes, std::nullopt);
  const ColumnFamily& family = *dropped->indexes[0].family;
  for (const auto& table : {dropped, kept}) {
    for (uint32_t i = 0; i < 100; ++i) {
      std::string key;
      AppendBigEndian(table->indexes[0].id.index_number, &key);
      AppendBigEndian(i, &key);
      ASSERT_TRUE(
          database->rocksdb()->Put(rocksdb::WriteOptions(), family.handle, key, "value").ok());
    }
    ASSERT_TRUE(database->maintenance().FlushMemtables().ok());
  }
  Upkeep upkeep(database.get(), dictionary.get());
  ASSERT_TRUE(dictionary->DropTable("db.dropped").ok());
  upkeep.RemoveDroppedIndexes();
  EXPECT_TRUE(Eventually([&] { return dictionary->PendingDrops().empty(); }));
  EXPECT_EQ(CountEntries(*database, family), 100u);
  std::string value;
  EXPECT_TRUE(database->rocksdb()
                  ->Get(rocksdb::ReadOptions(), database->system_family().handle,
                        Dictionary::AutoIncrementKey(*dropped), &value)
                  .IsNotFound())
      << "no auto-increment record stays without its index";
}

INSTANTIATE_TEST_SUITE_P(Families, UpkeepTest, ::testing::Values("default", "rev:cf"));

TEST(Upkeep, WhatPreparedTransactionsMayStillWriteIsRemovedAfterTheirDecision) {
  MemoryDisk disk;
  auto database = disk.Open();
  auto dictionary = std::move(*Dictionary::Load(database.get()));
  const std::vector<NewIndex> indexes = {{IndexKind::kPrimary}};
  const IndexId named = (*dictionary->CreateTable("db.named", indexes, 1))->indexes[0].id;
  const IndexId other = (*dictionary->CreateTable("db.other", indexes, 1))->indexes[0].id;
  std::unique_ptr<rocksdb::Transaction> transaction(
      database->rocksdb()->BeginTransaction(rocksdb::WriteOptions()));
  std::string key;
  AppendBigEndian(named.index_number, &key);
  ASSERT_TRUE(transaction->Put(database->default_family().handle, key + "row", "value").ok());
  ASSERT_TRUE(transaction->SetName("name").ok());
  ASSERT_TRUE(transaction->Prepare().ok());
  ASSERT_TRUE(database->prepared_indexes().Add(transaction.get()).ok());
  Upkeep upkeep(database.get(), dictionary.get());
  ASSERT_TRUE(dictionary->DropTables({"db.named", "db.other"}).ok());
  upkeep.RemoveDroppedIndexes();
  // The indexes are looked at in the order of their numbers.
  EXPECT_LT(named, other);
  EXPECT_TRUE(Eventually([&] { return dictionary->PendingDrops().size() == 1; }));
  EXPECT_EQ(dictionary->PendingDrops(), std::vector<IndexId>{named});
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(CountEntries(*database, database->default_family()), 1u);
  upkeep.RemoveDroppedIndexes();
  EXPECT_TRUE(Eventually([&] { return dictionary->PendingDrops().empty(); }));
  EXPECT_EQ(CountEntries(*database, database->default_family()), 0u);
}

TEST(Upkeep, EndsAtOnceWithWorkPending) {
  MemoryDisk disk;
  auto database = disk.Open();
  auto dictionary = std::move(*Dictionary::Load(database.get()));
  Upkeep upkeep(database.get(), dictionary.get());
  upkeep.RemoveDroppedIndexes();
}

}  // namespace
}  // namespace cairn
