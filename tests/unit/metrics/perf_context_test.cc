#include "engine/metrics/perf_context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

uint64_t Figure(const PerfFigures& figures, std::string_view name) {
  const auto found = std::find(kPerfFigureNames.begin(), kPerfFigureNames.end(), name);
  EXPECT_NE(found, kPerfFigureNames.end()) << name;
  return figures[static_cast<size_t>(found - kPerfFigureNames.begin())];
}

class PerfContextTest : public ::testing::Test {
 protected:
  PerfContextTest() : database_(disk_.Open()) { WriteAndRead(); }

  void WriteAndRead() {
    rocksdb::TransactionDB* const db = database_->rocksdb();
    std::string value;
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), "key", "value").ok());
    ASSERT_TRUE(db->Get(rocksdb::ReadOptions(), "key", &value).ok());
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
};

TEST_F(PerfContextTest, EveryFigureHasANameOfItsOwn) {
  const std::set<std::string_view> names(kPerfFigureNames.begin(), kPerfFigureNames.end());
  EXPECT_EQ(names.size(), kPerfFigures);
  EXPECT_EQ(kPerfFigures, 57u);
}

TEST_F(PerfContextTest, OffCollectsNothingAndKeepsRocksDbFromCounting) {
  PerfCollection collection;
  collection.Begin(PerfLevel::kOff);
  EXPECT_FALSE(collection.collects());
  const uint64_t before = rocksdb::get_perf_context()->get_from_memtable_count;
  WriteAndRead();
  EXPECT_EQ(rocksdb::get_perf_context()->get_from_memtable_count, before);
  EXPECT_EQ(collection.End(), PerfFigures{});
}

TEST_F(PerfContextTest, CountsComeWithoutTimes) {
  PerfCollection collection;
  collection.Begin(PerfLevel::kCounts);
  WriteAndRead();
  const PerfFigures figures = collection.End();
  EXPECT_EQ(Figure(figures, "GET_FROM_MEMTABLE_COUNT"), 1u);
  EXPECT_EQ(Figure(figures, "GET_READ_BYTES"), 5u);
  EXPECT_EQ(Figure(figures, "GET_FROM_MEMTABLE_TIME"), 0u);
  EXPECT_EQ(Figure(figures, "WRITE_MEMTABLE_TIME"), 0u);
}

TEST_F(PerfContextTest, TimesComeAtHigherLevels) {
  for (const PerfLevel level : {PerfLevel::kTimes, PerfLevel::kCpuTimes, PerfLevel::kMutexTimes}) {
    PerfCollection collection;
    collection.Begin(level);
    WriteAndRead();
    const PerfFigures figures = collection.End();
    EXPECT_GT(Figure(figures, "GET_FROM_MEMTABLE_TIME"), 0u) << static_cast<int>(level);
    EXPECT_GT(Figure(figures, "WRITE_MEMTABLE_TIME"), 0u) << static_cast<int>(level);
  }
}

TEST_F(PerfContextTest, WhatHappenedBeforeOrAfterACollectionIsNotInIt) {
  PerfCollection collection;
  collection.Begin(PerfLevel::kCounts);
  WriteAndRead();
  collection.Begin(PerfLevel::kMutexTimes);  // Goes on as it is.
  WriteAndRead();
  const PerfFigures both = collection.End();
  EXPECT_EQ(Figure(both, "GET_FROM_MEMTABLE_COUNT"), 2u);
  EXPECT_EQ(Figure(both, "GET_FROM_MEMTABLE_TIME"), 0u);
  WriteAndRead();
  EXPECT_EQ(collection.End(), PerfFigures{});
  collection.Begin(PerfLevel::kCounts);
  EXPECT_EQ(collection.End(), PerfFigures{});
}

TEST_F(PerfContextTest, SumsAddUp) {
  PerfSums sums;
  PerfFigures figures{};
  figures[0] = 2;
  figures[kPerfFigures - 1] = 3;
  sums.Add(figures);
  sums.Add(figures);
  EXPECT_EQ(sums.Read()[0], 4u);
  EXPECT_EQ(sums.Read()[1], 0u);
  EXPECT_EQ(sums.Read()[kPerfFigures - 1], 6u);
}

}  // namespace
}  // namespace cairn
