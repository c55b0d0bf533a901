#include "engine/sst/compaction_filter.h"

#include <gmock/gmock.h>

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

TEST(CompactionFilter, RemovesEntriesOfDroppedIndexesOnly) {
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
  ASSERT_TRUE(database->maintenance().FlushMemtables().ok());
  ASSERT_TRUE(database->maintenance().Compact(database->default_family()).ok());
  EXPECT_EQ(CountEntries(*database), 4u);
  std::string value;
  EXPECT_TRUE(
      database->rocksdb()
          ->Get(rocksdb::ReadOptions(), database->default_family().handle, Key(257, "a"), &value)
          .IsNotFound());
}

TEST(CompactionFilter, RemovesTheFrontOfAnIndex) {
  MemoryDisk disk;
  auto database = disk.Open();
  const auto put = [&](const std::string& key) {
    ASSERT_TRUE(database->rocksdb()
                    ->Put(rocksdb::WriteOptions(), database->default_family().handle, key, "value")
                    .ok());
  };
  for (const uint32_t number : {256, 257, 258}) {
    for (const char* rest : {"a", "b", "ba", "c"}) put(Key(number, rest));
  }
  DroppedIndexes& dropped = database->dropped_indexes();
  dropped.AddFront(IndexId{0, 257}, {Key(257, "b"), false});
  dropped.AddFront(IndexId{5, 258}, {Key(258, "b"), false});  // Another column family.
  const auto compact = [&] {
    ASSERT_TRUE(database->maintenance().FlushMemtables().ok());
    ASSERT_TRUE(database->maintenance().Compact(database->default_family()).ok());
  };
  compact();
  EXPECT_EQ(CountEntries(*database), 11u);
  dropped.AddFront(IndexId{0, 257}, {Key(257, "c"), false});
  put(Key(257, "a"));
  compact();
  EXPECT_EQ(CountEntries(*database), 9u);
  dropped.Add(IndexId{0, 257});
  EXPECT_TRUE(dropped.GetFronts()->contains(IndexId{5, 258}));
  EXPECT_FALSE(dropped.GetFronts()->contains(IndexId{0, 257}));
  dropped.AddFront(IndexId{0, 257}, {Key(257, "d"), false});
  EXPECT_FALSE(dropped.GetFronts()->contains(IndexId{0, 257})) << "it is gone as a whole";
  compact();
  EXPECT_EQ(CountEntries(*database), 8u);
}

class ExpiringEntries : public ::testing::Test {
 protected:
  static constexpr uint64_t kStart = 1'000'000;
  enum : uint32_t { kPrimary = 256, kSecondary = 257, kOther = 258 };

  ExpiringEntries() {
    disk_.UseClock(clock_);
    database_ = disk_.Open();
    database_->expiry().Add({{IndexId{0, kPrimary}, {100, IndexKind::kPrimary}},
                             {IndexId{0, kSecondary}, {100, IndexKind::kSecondary}}});
  }

  void Put(uint32_t index, std::string_view rest, uint64_t stamp) {
    std::string value;
    AppendBigEndian(stamp, &value);
    PutValue(index, rest, value + "rest");
  }
  void PutValue(uint32_t index, std::string_view rest, const std::string& value) {
    ASSERT_TRUE(database_->rocksdb()
                    ->Put(rocksdb::WriteOptions(), database_->default_family().handle,
                          Key(index, rest), value)
                    .ok());
  }
  size_t CountAfterCompaction() {
    EXPECT_TRUE(database_->maintenance().FlushMemtables().ok());
    EXPECT_TRUE(database_->maintenance().Compact(database_->default_family()).ok());
    return CountEntries(*database_);
  }

  std::shared_ptr<TestClock> clock_ = std::make_shared<TestClock>(kStart);
  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
};

TEST_F(ExpiringEntries, GoWhenTheirTimeIsOver) {
  Put(kPrimary, "a", kStart - 100);
  Put(kPrimary, "b", kStart - 99);
  Put(kSecondary, "a", kStart - 100);
  Put(kSecondary, "b", UINT64_MAX);  // Never.
  Put(kOther, "a", 0);
  EXPECT_EQ(CountAfterCompaction(), 3u);
  EXPECT_EQ(database_->expiry().removed_entries(), 2u);
  clock_->Advance(1);
  EXPECT_EQ(CountAfterCompaction(), 2u);
}

TEST_F(ExpiringEntries, StayWhileRemovalIsOff) {
  Put(kPrimary, "a", 0);
  database_->expiry().SetRemoves(false);
  EXPECT_EQ(CountAfterCompaction(), 1u);
  database_->expiry().SetRemoves(true);
  EXPECT_EQ(CountAfterCompaction(), 0u);
}

TEST_F(ExpiringEntries, StayWhileASnapshotOfTheirTimeLives) {
  Put(kPrimary, "a", kStart - 50);
  const rocksdb::Snapshot* const snapshot = database_->rocksdb()->GetSnapshot();
  clock_->Advance(1000);
  EXPECT_EQ(CountAfterCompaction(), 1u);
  database_->rocksdb()->ReleaseSnapshot(snapshot);
  EXPECT_EQ(CountAfterCompaction(), 0u);
}

TEST_F(ExpiringEntries, AreKeptAndReportedWhenTooShortForAStamp) {
  PutValue(kPrimary, "a", "1234567");
  PutValue(kSecondary, "a", "");
  EXPECT_EQ(CountAfterCompaction(), 2u);
  EXPECT_THAT(disk_.log().messages(),
              ::testing::Contains(::testing::AllOf(::testing::HasSubstr("kept 2 entries"),
                                                   ::testing::HasSubstr("0000010061"))));
}

// The entry expires and a compaction below turns it into a tombstone, before the session's
// SingleDelete comes down to it.
TEST_F(ExpiringEntries, MayHaveATombstoneOfASessionAboveThem) {
  for (const uint32_t index : {kPrimary, kSecondary}) {
    Put(index, "a", kStart - 100);
    Put(index, "z", UINT64_MAX);
  }
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  rocksdb::CompactRangeOptions to_middle;
  to_middle.change_level = true;
  to_middle.target_level = 3;
  rocksdb::TransactionDB* const db = database_->rocksdb();
  rocksdb::ColumnFamilyHandle* const family = database_->default_family().handle;
  database_->expiry().SetRemoves(false);
  ASSERT_TRUE(db->CompactRange(to_middle, family, nullptr, nullptr).ok());
  for (const uint32_t index : {kPrimary, kSecondary}) {
    Put(index, "a", kStart - 100);  // Expired as well; the older one makes its tombstone stay.
  }
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  database_->expiry().SetRemoves(true);
  ASSERT_TRUE(database_->maintenance().CompactLevelZero().ok());
  for (const uint32_t index : {kPrimary, kSecondary}) {
    ASSERT_TRUE(db->SingleDelete(rocksdb::WriteOptions(), family, Key(index, "a")).ok());
  }
  EXPECT_EQ(CountAfterCompaction(), 2u);
  Put(kPrimary, "b", UINT64_MAX);  // The database still takes writes.
  EXPECT_EQ(CountAfterCompaction(), 3u);
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
