#include "engine/metrics/work_counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "engine/monitor/counters.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

TEST(WorkCounters, ManyThreadsCountWithoutLosingAny) {
  WorkCounters work;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 20; ++thread) {
    threads.emplace_back([&work] {
      for (int i = 0; i < 1000; ++i) work.Count(Work::kRowsRead);
      work.Count(Work::kRowsDeleted, 5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(work.Total(Work::kRowsRead), 20'000u);
  EXPECT_EQ(work.Total(Work::kRowsDeleted), 100u);
  EXPECT_EQ(work.Total(Work::kRowsUpdated), 0u);
}

TEST(WorkCounters, StandAmongTheCountersOfTheirDatabase) {
  MemoryDisk disk;
  const auto database = disk.Open();
  database->work().Count(Work::kDeadlocks, 3);
  const std::vector<Counter> counters = ReadCounters(*database);
  const auto found = std::find_if(counters.begin(), counters.end(), [](const Counter& counter) {
    return std::string_view(counter.name) == "row_lock_deadlocks";
  });
  ASSERT_NE(found, counters.end());
  EXPECT_EQ(found->value, 3u);
}

}  // namespace
}  // namespace cairn
