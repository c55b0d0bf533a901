#include "engine/monitor/engine_status.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rocksdb/statistics.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

TEST(EngineStatus, SectionsComeInTheirOrderAndFamiliesByName) {
  MemoryDisk disk;
  DatabaseOptions options = disk.Options();
  options.db.statistics = rocksdb::CreateDBStatistics();
  auto database = Database::Open(std::move(options), &disk.log());
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE((*database)->families().FindOrCreate("b").ok());
  ASSERT_TRUE((*database)->families().FindOrCreate("a").ok());
  (*database)->commit_latency().Add(100);

  std::vector<std::string> order;
  std::string statistics;
  std::string memory;
  for (const StatusSection& section : DescribeEngineStatus(**database)) {
    if (section.type == "STATISTICS") statistics = section.text;
    if (section.type == "MEMORY_STATS") memory = section.text;
    if (section.type != "BG_THREADS") order.push_back(section.type + " " + section.name);
  }
  EXPECT_EQ(order, (std::vector<std::string>{
                       "STATISTICS rocksdb", "DBSTATS rocksdb", "CF_COMPACTION __system__",
                       "CF_COMPACTION a", "CF_COMPACTION b", "CF_COMPACTION default",
                       "MEMORY_STATS rocksdb", "EXPLICIT_SNAPSHOTS rocksdb"}));
  EXPECT_NE(statistics.find("rocksdb.block.cache.miss COUNT : "), std::string::npos);
  EXPECT_NE(statistics.find("rocksdb.commit_latency statistics Percentiles :=> 50 : 100.00 "
                            "95 : 100.00 99 : 100.00 100 : 100.00\n"
                            "rocksdb.is_write_stopped COUNT : 0\n"
                            "rocksdb.actual_delayed_write_rate COUNT : 0\n"),
            std::string::npos)
      << statistics;
  EXPECT_EQ(memory.find("\nMemTable Total: "), 0u);
  EXPECT_NE(memory.find("\nDefault Cache Capacity: "), std::string::npos);
}

}  // namespace
}  // namespace cairn
