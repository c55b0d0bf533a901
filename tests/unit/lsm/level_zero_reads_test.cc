// Files of level 0 are merged early once reads of them have wasted what that costs, and not before.
#include "engine/lsm/level_zero_reads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "rocksdb/perf_level.h"
#include "tests/unit/store/memory_database.h"

namespace cairn::lsm {
namespace {

// Over a thousand searches more each time.
uint64_t SearchesUntilItPays(LevelZeroReads* reads, const LevelZeroReads::Files& files) {
  reads->Add(/*oldest=*/1, {});  // Begins anew.
  uint64_t searches = 0;
  for (; reads->Choose(files) == LevelZeroMerge::kNone; searches += 1000) {
    reads->Add(files.oldest, {.files = 1, .seeks = 1000});
  }
  return searches;
}

TEST(LevelZeroReadsTest, PaysWhenReadsHaveWastedTheCost) {
  LevelZeroReads reads;
  const LevelZeroReads::Files files{
      .oldest = 7, .count = 2, .trigger = 4, .bytes = 100 << 20, .bytes_below = 100 << 20};
  EXPECT_EQ(reads.Choose(files), LevelZeroMerge::kNone);
  const uint64_t plain = SearchesUntilItPays(&reads, files);
  EXPECT_EQ(reads.Choose(files), LevelZeroMerge::kWithLevelBelow);
  EXPECT_GT(plain, 500'000u);
  EXPECT_LT(plain, 50'000'000u);

  // The sooner it would happen anyway, and the less there is to do, the sooner it pays.
  LevelZeroReads::Files more = files;
  more.count = 3;
  EXPECT_LT(SearchesUntilItPays(&reads, more), plain);
  LevelZeroReads::Files smaller = files;
  smaller.bytes_below = 0;
  EXPECT_LT(SearchesUntilItPays(&reads, smaller), plain);
  LevelZeroReads::Files tiny = files;
  tiny.bytes = tiny.bytes_below = 1000;
  EXPECT_GT(SearchesUntilItPays(&reads, tiny), 10'000u);  // Each merge has a price of its own.

  // RocksDB does it by itself; or there is nothing to do.
  reads.Add(files.oldest, {.files = 1, .seeks = 100 * plain});
  LevelZeroReads::Files other = files;
  other.count = 4;
  EXPECT_EQ(reads.Choose(other), LevelZeroMerge::kNone);
  other.count = 0;
  EXPECT_EQ(reads.Choose(other), LevelZeroMerge::kNone);
  // A trigger that stands for "never" makes a merge no cheaper.
  other = files;
  other.trigger = uint64_t{1} << 31;
  other.bytes = other.bytes_below = uint64_t{1} << 40;
  EXPECT_EQ(reads.Choose(other), LevelZeroMerge::kNone);
  // What was wasted in files that are gone says nothing of others.
  other = files;
  other.oldest = 8;
  EXPECT_EQ(reads.Choose(other), LevelZeroMerge::kNone);
}

// Where the level below is much larger, the files are merged with one another.
TEST(LevelZeroReadsTest, FewFilesAboveALargeLevelAreMergedAmongThemselves) {
  LevelZeroReads reads;
  LevelZeroReads::Files files{
      .oldest = 7, .count = 3, .trigger = 4, .bytes = 10 << 20, .bytes_below = 300 << 20};
  const uint64_t several = SearchesUntilItPays(&reads, files);
  EXPECT_EQ(reads.Choose(files), LevelZeroMerge::kAmongThemselves);
  // One alone cannot be.
  files.count = 1;
  EXPECT_GT(SearchesUntilItPays(&reads, files), 3 * several);
  EXPECT_EQ(reads.Choose(files), LevelZeroMerge::kWithLevelBelow);
}

TEST(LevelZeroReadsTest, AllKindsOfReadsCount) {
  LevelZeroReads reads;
  LevelZeroReads::Files files{
      .oldest = 7, .count = 3, .trigger = 4, .bytes = 100 << 20, .bytes_below = 100 << 20};
  const uint64_t many = 200'000'000;
  for (const LevelZeroReads::Scan& scan :
       {LevelZeroReads::Scan{.files = 3, .seeks = many},
        LevelZeroReads::Scan{.files = 3, .moves = many}, LevelZeroReads::Scan{.passed = many}}) {
    reads.Add(1, {});
    reads.Add(files.oldest, scan);
    EXPECT_NE(reads.Choose(files), LevelZeroMerge::kNone);
  }
  reads.Add(1, {});
  EXPECT_FALSE(reads.MayPay(files.oldest, 0));
  files.asked = many;
  EXPECT_TRUE(reads.MayPay(files.oldest, many));
  EXPECT_NE(reads.Choose(files), LevelZeroMerge::kNone);
}

constexpr int kKeysOfFile = 200;

class MergeWhereItPaysTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);  // As sessions do.
    database_ = disk_.Open();
    family_ = *database_->families().FindOrCreate(GetParam());
    WriteFile();
    ASSERT_TRUE(database_->maintenance().Compact(*family_).ok());
    family_->may_have_range_deletions = false;
  }

  rocksdb::DB* db() const { return database_->rocksdb(); }

  static std::string KeyOf(int index, int number) {
    return {'\0', '\0', '\1', static_cast<char>(index), static_cast<char>(number)};
  }

  // The keys of an index in a file of level 0.
  void WriteFile(int index = 0) {
    for (int i = 0; i < kKeysOfFile; ++i) {
      ASSERT_TRUE(
          db()->Put(rocksdb::WriteOptions(), family_->handle, KeyOf(index, i), "value").ok());
    }
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  }

  size_t FilesInLevelZero() const {
    rocksdb::ColumnFamilyMetaData files;
    db()->GetColumnFamilyMetaData(family_->handle, &files);
    return files.levels[0].files.size();
  }

  // Searches for the first key of an index so often.
  void Search(int times, int index = 0) {
    const std::string from = KeyOf(family_->reverse ? index + 1 : index, 0);
    const std::string until = KeyOf(family_->reverse ? index : index + 1, 0);
    const std::string lower_key = family_->reverse ? from + "\x01" : from;
    const std::string upper_key = family_->reverse ? until + "\x01" : until;
    const rocksdb::Slice lower(lower_key);
    const rocksdb::Slice upper(upper_key);
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    options.iterate_lower_bound = &lower;
    options.iterate_upper_bound = &upper;
    const auto iterator = database_->NewIterator(*family_, options);
    for (int i = 0; i < times; ++i) iterator->SeekToFirst();
    ASSERT_TRUE(iterator->status().ok());
  }

  void Merge() { ASSERT_TRUE(database_->maintenance().MergeLevelZeroWhereItPays(cancel_).ok()); }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  const ColumnFamily* family_ = nullptr;
  std::atomic<bool> cancel_{false};
};

INSTANTIATE_TEST_SUITE_P(Families, MergeWhereItPaysTest, ::testing::Values("default", "rev:cf"));

constexpr int kMany = 500'000;

TEST_P(MergeWhereItPaysTest, SearchesOfSeveralFilesEndWithOne) {
  WriteFile();
  Search(1000);
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 1u);
  Search(kMany);
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 0u);
  rocksdb::PinnableSlice value;
  EXPECT_TRUE(db()->Get(rocksdb::ReadOptions(), family_->handle, KeyOf(0, 7), &value).ok());
  // What was wasted in files that are gone is no reason to merge the next one.
  WriteFile();
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 1u);
}

TEST_P(MergeWhereItPaysTest, ReadsOfSingleKeysCount) {
  WriteFile();
  rocksdb::PinnableSlice value;
  for (int i = 0; i < 4 * kMany; ++i) {
    db()->Get(rocksdb::ReadOptions(), family_->handle, KeyOf(0, i % kKeysOfFile), &value)
        .PermitUncheckedError();
  }
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 0u);
}

// An index of which level 0 has nothing, or which lies there alone, wastes nothing.
TEST_P(MergeWhereItPaysTest, SearchesOfOneFileWasteNothing) {
  WriteFile(/*index=*/2);
  Search(kMany, /*index=*/0);
  Search(kMany, /*index=*/2);
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 1u);
}

// Several files above a level that is much larger become one, which does not lose what they hide or
// delete.
TEST_P(MergeWhereItPaysTest, FilesAreMergedWithOneAnother) {
  std::mt19937 random(20261123);
  std::string large(20'000'000, '\0');  // It does not compress.
  for (char& byte : large) byte = static_cast<char>(random());
  ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family_->handle, KeyOf(0, 3), large).ok());
  ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family_->handle, KeyOf(0, 4), "old").ok());
  ASSERT_TRUE(database_->maintenance().Compact(*family_).ok());
  const rocksdb::Snapshot* const before = db()->GetSnapshot();
  WriteFile();
  ASSERT_TRUE(db()->Delete(rocksdb::WriteOptions(), family_->handle, KeyOf(0, 3)).ok());
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  ASSERT_EQ(FilesInLevelZero(), 2u);
  Search(kMany);
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 1u);
  rocksdb::PinnableSlice value;
  EXPECT_TRUE(db()->Get(rocksdb::ReadOptions(), family_->handle, KeyOf(0, 3), &value).IsNotFound());
  EXPECT_TRUE(db()->Get(rocksdb::ReadOptions(), family_->handle, KeyOf(0, 4), &value).ok());
  EXPECT_EQ(value, "value");
  rocksdb::ReadOptions old;
  old.snapshot = before;
  value.Reset();
  EXPECT_TRUE(db()->Get(old, family_->handle, KeyOf(0, 4), &value).ok());
  EXPECT_EQ(value, "old");
  db()->ReleaseSnapshot(before);
}

// RocksDB reports no event of such a merge.
TEST_P(MergeWhereItPaysTest, StatisticsAreThoseOfTheNewFiles) {
  WriteFile();
  ASSERT_TRUE(database_->maintenance().RefreshStatistics().ok());
  const IndexId index{family_->id, 256};
  const auto before = database_->file_statistics().Find(index);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->row_count, 2 * kKeysOfFile);
  Search(kMany);
  Merge();
  ASSERT_EQ(FilesInLevelZero(), 0u);
  EXPECT_FALSE(database_->file_statistics().Find(index).has_value());
  ASSERT_TRUE(database_->maintenance().RefreshStatistics().ok());
  const auto after = database_->file_statistics().Find(index);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->row_count, kKeysOfFile);
  EXPECT_EQ(database_->maintenance().level_zero_merges_for_reads(), 1u);
}

// As at a shutdown, which does not wait for it.
TEST_P(MergeWhereItPaysTest, EndsWhenCompactionsAreAborted) {
  WriteFile();
  Search(kMany);
  database_->maintenance().AbortCompactions();
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 1u);
  database_->maintenance().ResumeCompactions();
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 0u);
}

TEST_P(MergeWhereItPaysTest, EndsWhenCompactionsAreAbortedMeanwhile) {
  std::mt19937 random(20261124);
  std::string value(1000, '\0');
  for (int i = 0; i < 40'000; ++i) {
    for (char& byte : value) byte = static_cast<char>(random());
    const std::string key = KeyOf(0, i % 256) + std::to_string(i);
    ASSERT_TRUE(db()->Put(rocksdb::WriteOptions(), family_->handle, key, value).ok());
  }
  ASSERT_TRUE(database_->maintenance().Compact(*family_).ok());
  WriteFile();
  Search(4 * kMany);
  const auto is_merging = [this] {
    rocksdb::ColumnFamilyMetaData files;
    db()->GetColumnFamilyMetaData(family_->handle, &files);
    return !files.levels[0].files.empty() && files.levels[0].files[0].being_compacted;
  };
  std::atomic<bool> ended{false};
  std::thread merging([&] {
    Merge();
    ended = true;
  });
  while (!is_merging() && !ended) std::this_thread::yield();
  database_->maintenance().AbortCompactions();
  merging.join();
  EXPECT_EQ(FilesInLevelZero(), 1u);
  database_->maintenance().ResumeCompactions();
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 0u);
}

TEST_P(MergeWhereItPaysTest, NotWhileBackgroundWorkIsPaused) {
  WriteFile();
  Search(kMany);
  ASSERT_TRUE(database_->maintenance().PauseBackgroundWork().ok());
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 1u);
  ASSERT_TRUE(database_->maintenance().ContinueBackgroundWork().ok());
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 0u);
}

TEST_P(MergeWhereItPaysTest, NotWithoutAutomaticCompactions) {
  ASSERT_TRUE(db()->SetOptions(family_->handle, {{"disable_auto_compactions", "true"}}).ok());
  WriteFile();
  Search(kMany);
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 1u);
}

TEST_P(MergeWhereItPaysTest, BeginsWithNothingWhenToldToEnd) {
  WriteFile();
  Search(kMany);
  cancel_ = true;
  Merge();
  EXPECT_EQ(FilesInLevelZero(), 1u);
}

}  // namespace
}  // namespace cairn::lsm
