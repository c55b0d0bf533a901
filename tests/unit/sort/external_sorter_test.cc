#include "engine/sort/external_sorter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "engine/lsm/comparator.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ExternalSorterTest : public ::testing::Test {
 protected:
  ExternalSorterTest() { EXPECT_TRUE(disk_.env()->CreateDirIfMissing(kDirectory).ok()); }

  SortSettings Settings(uint64_t buffer_bytes) const {
    SortSettings settings;
    settings.directory = kDirectory;
    settings.buffer_bytes = buffer_bytes;
    return settings;
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    EXPECT_TRUE(disk_.env()->GetChildren(kDirectory, &names).ok());
    return names;
  }

  static std::vector<std::string> DrainedKeys(ExternalSorter* sorter) {
    std::vector<std::string> keys;
    const Status drained = sorter->Drain([&keys](std::string_view key, std::string_view) {
      keys.emplace_back(key);
      return Status();
    });
    EXPECT_TRUE(drained.ok()) << drained.ToString();
    return keys;
  }

  static constexpr const char* kDirectory = "/sort";
  static constexpr uint64_t kRunForEachEntry = 1;
  MemoryDisk disk_;
};

TEST_F(ExternalSorterTest, SortsInMemory) {
  ExternalSorter sorter(disk_.env(), rocksdb::BytewiseComparator(), "a", Settings(1 << 20));
  for (const char* key : {"b", "", "c", "a"}) ASSERT_TRUE(sorter.Add(key, "value").ok());
  EXPECT_EQ(sorter.entry_count(), 4u);
  EXPECT_THAT(DrainedKeys(&sorter), ElementsAre("", "a", "b", "c"));
  EXPECT_EQ(sorter.entry_count(), 0u);
  EXPECT_EQ(sorter.buffered_bytes(), 0u);
  EXPECT_THAT(DrainedKeys(&sorter), IsEmpty());
}

TEST_F(ExternalSorterTest, FollowsTheComparator) {
  ExternalSorter sorter(disk_.env(), rocksdb::ReverseBytewiseComparator(), "a", Settings(1 << 20));
  for (const char* key : {"b", "c", "a"}) ASSERT_TRUE(sorter.Add(key, "").ok());
  EXPECT_THAT(DrainedKeys(&sorter), ElementsAre("c", "b", "a"));
}

// Entries of any size, many times more than the buffer holds: what comes out is what went in,
// sorted.
TEST_F(ExternalSorterTest, SortsMoreThanMemoryHolds) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::map<std::string, std::string> expected;
    while (expected.size() < 5'000) {
      std::string key(random() % 40, '\0');
      for (char& byte : key) byte = static_cast<char>(random());
      expected.emplace(key, std::string(random() % (random() % 50 == 0 ? 2'000'000 : 100), 'v'));
    }
    std::vector<std::pair<std::string, std::string>> entries(expected.begin(), expected.end());
    std::shuffle(entries.begin(), entries.end(), random);
    ExternalSorter sorter(disk_.env(), lsm::ForwardComparator(), "b", Settings(600'000));
    for (const auto& [key, value] : entries) ASSERT_TRUE(sorter.Add(key, value).ok());
    EXPECT_GT(Files().size(), 1u);
    auto next = expected.begin();
    const Status drained = sorter.Drain([&](std::string_view key, std::string_view value) {
      EXPECT_EQ(key, next->first);
      EXPECT_EQ(value, next->second);
      ++next;
      return Status();
    });
    ASSERT_TRUE(drained.ok()) << drained.ToString();
    EXPECT_EQ(next, expected.end());
    EXPECT_THAT(Files(), IsEmpty());
  }
}

// So many runs that they are merged in several steps, and never too many files are open.
TEST_F(ExternalSorterTest, MergesManyRunsInSteps) {
  ExternalSorter sorter(disk_.env(), lsm::ReverseComparator(), "many", Settings(kRunForEachEntry));
  constexpr int kEntries = 4'201;
  size_t most_files = 0;
  for (int i = 0; i < kEntries; ++i) {
    const std::string key = std::to_string(1'000'000 + (i * 7'919) % kEntries);
    ASSERT_TRUE(sorter.Add(key, "value").ok());
    if (i % 500 == 0) most_files = std::max(most_files, Files().size());
  }
  EXPECT_LT(most_files, 200u);
  const std::vector<std::string> keys = DrainedKeys(&sorter);
  EXPECT_EQ(keys.size(), static_cast<size_t>(kEntries));
  EXPECT_TRUE(std::is_sorted(keys.rbegin(), keys.rend()));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ExternalSorterTest, RefusesAnEqualKeyAtOnceWhileItIsInMemory) {
  ExternalSorter sorter(disk_.env(), rocksdb::BytewiseComparator(), "c", Settings(1 << 20));
  ASSERT_TRUE(sorter.Add("a", "1").ok());
  EXPECT_EQ(sorter.Add("a", "2").code(), StatusCode::kDuplicateKey);
  EXPECT_THAT(DrainedKeys(&sorter), ElementsAre("a"));
}

TEST_F(ExternalSorterTest, FindsEqualKeysOfDifferentRuns) {
  ExternalSorter sorter(disk_.env(), rocksdb::BytewiseComparator(), "d",
                        Settings(kRunForEachEntry));
  ASSERT_TRUE(sorter.Add("a", "1").ok());
  ASSERT_TRUE(sorter.Add("a", "2").ok());
  const Status drained = sorter.Drain([](std::string_view, std::string_view) { return Status(); });
  EXPECT_EQ(drained.code(), StatusCode::kDuplicateKey);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ExternalSorterTest, PassesOnWhatTheSinkSays) {
  ExternalSorter sorter(disk_.env(), rocksdb::BytewiseComparator(), "e",
                        Settings(kRunForEachEntry));
  ASSERT_TRUE(sorter.Add("a", "1").ok());
  ASSERT_TRUE(sorter.Add("b", "1").ok());
  const Status drained =
      sorter.Drain([](std::string_view, std::string_view) { return Status(StatusCode::kNoSpace); });
  EXPECT_EQ(drained.code(), StatusCode::kNoSpace);
}

TEST_F(ExternalSorterTest, RemovesItsFilesWhenItIsNotDrained) {
  {
    ExternalSorter sorter(disk_.env(), rocksdb::BytewiseComparator(), "f",
                          Settings(kRunForEachEntry));
    ASSERT_TRUE(sorter.Add("a", "1").ok());
    EXPECT_EQ(Files().size(), 1u);
  }
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ExternalSorterTest, WaitsAfterARemovalEndWhenTheyAreInterrupted) {
  SortSettings settings = Settings(kRunForEachEntry);
  settings.keys_differ = true;
  settings.removal_delay_ms = UINT64_MAX;
  int looks = 0;
  settings.interrupted = [&looks] { return ++looks % 2 == 0; };
  ExternalSorter sorter(disk_.env(), rocksdb::BytewiseComparator(), "h", settings);
  for (const char* key : {"b", "a", "c"}) ASSERT_TRUE(sorter.Add(key, "value").ok());
  EXPECT_THAT(DrainedKeys(&sorter), ElementsAre("a", "b", "c"));
  EXPECT_EQ(looks, 6);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ExternalSorterTest, SortsInTheBackground) {
  SortSettings settings = Settings(20'000);
  settings.keys_differ = true;
  ExternalSorter sorter(disk_.env(), lsm::ForwardComparator(), "i", settings);
  sorter.WorkInBackground();
  uint64_t most_bytes = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = std::to_string(100'000 + (i * 7'919) % 10'000);
    ASSERT_TRUE(sorter.Add(key, "value").ok());
    most_bytes = std::max(most_bytes, sorter.buffered_bytes());
  }
  EXPECT_LE(most_bytes, 20'200u);
  const std::vector<std::string> keys = DrainedKeys(&sorter);
  EXPECT_EQ(keys.size(), 10'000u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_EQ(sorter.buffered_bytes(), 0u);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ExternalSorterTest, WhatFailsInTheBackgroundIsToldAndStaysSo) {
  SortSettings settings = Settings(kRunForEachEntry);
  settings.directory = "/nowhere/at/all";
  ExternalSorter sorter(rocksdb::Env::Default(), rocksdb::BytewiseComparator(), "j", settings);
  sorter.WorkInBackground();
  EXPECT_TRUE(sorter.Add("a", "1").ok());
  for (int i = 0; i < 2; ++i) {
    const Status drained =
        sorter.Drain([](std::string_view, std::string_view) { return Status(); });
    EXPECT_EQ(drained.code(), StatusCode::kIoError);
  }
}

TEST_F(ExternalSorterTest, WhatDoesNotBelongElsewhereCanBeSpilled) {
  SortSettings settings = Settings(kRunForEachEntry);
  settings.keys_differ = true;
  for (const bool in_background : {false, true}) {
    ExternalSorter sorter(disk_.env(), rocksdb::BytewiseComparator(), "k", settings);
    if (in_background) sorter.WorkInBackground();
    std::vector<std::string> elsewhere;
    bool spills = false;
    sorter.WhenFull([&] {
      return spills ? sorter.Spill()
                    : sorter.DrainHandedOver([&](std::string_view key, std::string_view) {
                        if (key == "b") return Status(StatusCode::kOutOfOrder);
                        elsewhere.emplace_back(key);
                        return Status();
                      });
    });
    ASSERT_TRUE(sorter.Add("c", "1").ok());
    Status added = sorter.Add("b", "1");
    if (in_background) added = sorter.EmptyMemory();
    EXPECT_EQ(added.code(), StatusCode::kOutOfOrder);
    spills = true;
    ASSERT_TRUE(sorter.Spill().ok());
    ASSERT_TRUE(sorter.Add("a", "1").ok());
    EXPECT_THAT(DrainedKeys(&sorter), ElementsAre("a", "b"));
    EXPECT_THAT(elsewhere, ElementsAre("c"));
  }
}

TEST_F(ExternalSorterTest, AMissingDirectoryIsAnErrorThatNamesTheFile) {
  SortSettings settings = Settings(kRunForEachEntry);
  settings.directory = "/nowhere/at/all";
  ExternalSorter sorter(rocksdb::Env::Default(), rocksdb::BytewiseComparator(), "g", settings);
  const Status added = sorter.Add("a", "1");
  EXPECT_EQ(added.code(), StatusCode::kIoError);
  EXPECT_THAT(added.ToString(), ::testing::HasSubstr("/nowhere/at/all/g_0"));
}

}  // namespace
}  // namespace cairn
