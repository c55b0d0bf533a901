#include "engine/monitor/counters.h"

#include <cstdlib>
#include <map>
#include <string>

#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/statistics.h"

namespace cairn {
namespace {

using rocksdb::WriteStallCause;
using rocksdb::WriteStallCondition;

// A property of RocksDB, summed over the column families.
uint64_t SumOf(const Database& database, const char* property) {
  uint64_t sum = 0;
  for (const ColumnFamily* family : database.families().All()) {
    uint64_t value = 0;
    if (database.rocksdb()->GetIntProperty(family->handle, property, &value)) sum += value;
  }
  return sum;
}

uint64_t FileEntries(const Database& database, std::atomic<uint64_t> CollectorControl::*count) {
  return (database.collector().*count).load(std::memory_order_relaxed);
}

std::map<std::string, uint64_t> StallCounts(const Database& database) {
  std::map<std::string, uint64_t> sums;
  for (const ColumnFamily* family : database.families().All()) {
    std::map<std::string, std::string> counts;
    if (!database.rocksdb()->GetMapProperty(family->handle,
                                            rocksdb::DB::Properties::kCFWriteStallStats, &counts)) {
      continue;
    }
    for (const auto& [key, count] : counts) {
      sums[key] += std::strtoull(count.c_str(), nullptr, 10);
    }
  }
  return sums;
}

}  // namespace

std::vector<Counter> ReadCounters(const Database& database) {
  const std::shared_ptr<rocksdb::Statistics> statistics =
      database.rocksdb()->GetDBOptions().statistics;
  const auto ticker = [&](uint32_t number) {
    return statistics == nullptr ? 0 : statistics->getTickerCount(number);
  };
  std::map<std::string, uint64_t> stalls = StallCounts(database);
  using Keys = rocksdb::WriteStallStatsMapKeys;
  return {
#define WORK(name, kind) {#name, database.work().Total(Work::kind)},
#define TICKER(name, number) {#name, ticker(rocksdb::number)},
#define SUM(name, sum, description) {#name, sum},
#define STALL(name, key) {#name, stalls[Keys::key]},
#define GAUGE(name, expression) {#name, expression},
#define NOT_COUNTED(name) {#name, 0},
#include "engine/metrics/counters.def"
  };
}

Status ResetCounters(const Database& database) {
  const std::shared_ptr<rocksdb::Statistics> statistics =
      database.rocksdb()->GetDBOptions().statistics;
  if (statistics != nullptr) CAIRN_RETURN_IF_ERROR(FromRocksDb(statistics->Reset()));
  return FromRocksDb(database.rocksdb()->ResetStats());
}

}  // namespace cairn
