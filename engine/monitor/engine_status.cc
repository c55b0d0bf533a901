#include "engine/monitor/engine_status.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/thread_status.h"
#include "rocksdb/utilities/memory_util.h"

namespace cairn {
namespace {

constexpr const char* kWholeDatabase = "rocksdb";

std::string CommitLatency(const LatencyHistogram& histogram) {
  char text[200];
  snprintf(text, sizeof(text),
           "rocksdb.commit_latency statistics Percentiles :=> 50 : %.2f 95 : %.2f 99 : %.2f 100 : "
           "%.2f\n",
           histogram.Percentile(50), histogram.Percentile(95), histogram.Percentile(99),
           static_cast<double>(histogram.maximum()));
  return text;
}

std::string Count(const Database& database, const char* label, const std::string& property) {
  uint64_t value = 0;
  database.rocksdb()->GetIntProperty(property, &value);
  return std::string(label) + " COUNT : " + std::to_string(value) + "\n";
}

std::string DescribeStatistics(const Database& database) {
  using Properties = rocksdb::DB::Properties;
  const std::shared_ptr<rocksdb::Statistics> statistics =
      database.rocksdb()->GetDBOptions().statistics;
  std::string text;
  if (statistics != nullptr) text = statistics->ToString();
  text += CommitLatency(database.commit_latency());
  text += Count(database, "rocksdb.is_write_stopped", Properties::kIsWriteStopped);
  text += Count(database, "rocksdb.actual_delayed_write_rate", Properties::kActualDelayedWriteRate);
  return text;
}

std::string Property(const Database& database, const ColumnFamily& family,
                     const std::string& property) {
  std::string text;
  database.rocksdb()->GetProperty(family.handle, property, &text);
  return text;
}

// The families' block cache, which is one for all of them; null when there is none.
std::shared_ptr<rocksdb::Cache> BlockCache(const Database& database) {
  const rocksdb::Options options = database.rocksdb()->GetOptions(database.default_family().handle);
  if (options.table_factory == nullptr) return nullptr;
  const auto* const table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  return table == nullptr ? nullptr : table->block_cache;
}

std::string DescribeMemory(const Database& database) {
  using rocksdb::MemoryUtil;
  const std::shared_ptr<rocksdb::Cache> cache = BlockCache(database);
  std::unordered_set<const rocksdb::Cache*> caches;
  if (cache != nullptr) caches.insert(cache.get());
  std::map<MemoryUtil::UsageType, uint64_t> usage;
  const rocksdb::Status measured = MemoryUtil::GetApproximateMemoryUsageByType(
      std::vector<rocksdb::DB*>{database.rocksdb()}, caches, &usage);
  if (!measured.ok()) return "\nThe memory cannot be measured: " + measured.ToString();
  const auto line = [](const char* label, uint64_t bytes) {
    return "\n" + std::string(label) + std::to_string(bytes);
  };
  return line("MemTable Total: ", usage[MemoryUtil::kMemTableTotal]) +
         line("MemTable Unflushed: ", usage[MemoryUtil::kMemTableUnFlushed]) +
         line("Table Readers Total: ", usage[MemoryUtil::kTableReadersTotal]) +
         line("Cache Total: ", usage[MemoryUtil::kCacheTotal]) +
         line("Default Cache Capacity: ", cache == nullptr ? 0 : cache->GetCapacity());
}

std::string DescribeThread(const rocksdb::ThreadStatus& thread) {
  using rocksdb::ThreadStatus;
  std::string text =
      "\nthread_type: " + ThreadStatus::GetThreadTypeName(thread.thread_type) +
      "\ncf_name: " + thread.cf_name +
      "\noperation_type: " + ThreadStatus::GetOperationName(thread.operation_type) +
      "\noperation_stage: " + ThreadStatus::GetOperationStageName(thread.operation_stage) +
      "\nelapsed_time_ms: " + ThreadStatus::MicrosToString(thread.op_elapsed_micros);
  for (const auto& [name, value] :
       ThreadStatus::InterpretOperationProperties(thread.operation_type, thread.op_properties)) {
    text += "\n" + name + ": " + std::to_string(value);
  }
  return text + "\nstate_type: " + ThreadStatus::GetStateName(thread.state_type);
}

}  // namespace

std::vector<StatusSection> DescribeEngineStatus(const Database& database) {
  std::vector<StatusSection> sections;
  sections.push_back({"STATISTICS", kWholeDatabase, DescribeStatistics(database)});
  sections.push_back({"DBSTATS", kWholeDatabase,
                      Property(database, database.default_family(), "rocksdb.dbstats")});
  std::vector<const ColumnFamily*> families = database.families().All();
  std::sort(families.begin(), families.end(),
            [](const ColumnFamily* a, const ColumnFamily* b) { return a->name < b->name; });
  for (const ColumnFamily* family : families) {
    sections.push_back(
        {"CF_COMPACTION", family->name, Property(database, *family, "rocksdb.cfstats")});
  }
  sections.push_back({"MEMORY_STATS", kWholeDatabase, DescribeMemory(database)});
  std::vector<rocksdb::ThreadStatus> threads;
  // Nothing is listed while rocksdb_enable_thread_tracking is off.
  database.env()->GetThreadList(&threads).PermitUncheckedError();
  for (const rocksdb::ThreadStatus& thread : threads) {
    sections.push_back({"BG_THREADS", std::to_string(thread.thread_id), DescribeThread(thread)});
  }
  sections.push_back({"EXPLICIT_SNAPSHOTS", kWholeDatabase, ""});
  return sections;
}

}  // namespace cairn
