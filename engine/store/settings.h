// From plain settings to the options that RocksDB is opened with: the one place that decides them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/store/database.h"

namespace cairn {

// What a user may set. Sizes are bytes.
struct StoreSettings {
  std::string directory;
  std::string log_directory;  // Of the write-ahead log; empty: `directory`.
  bool create_if_missing = true;
  uint64_t block_cache_bytes = 512 << 20;
  uint64_t block_bytes = 8192;
  bool cache_index_and_filter_blocks = true;
  uint64_t write_buffer_bytes = 0;  // Of all memtables together; 0: no limit.
  int max_open_files = -1;          // -1: all.
  uint64_t max_log_bytes = 0;       // 0: RocksDB decides.
  bool direct_reads = false;
  bool direct_writes = false;
  uint64_t bytes_per_sync = 0;
  uint64_t log_bytes_per_sync = 0;
  bool paranoid_checks = true;
  int background_jobs = 2;
  uint32_t subcompactions = 1;
  bool manual_log_flush = true;
  bool two_write_queues = true;
  std::string info_log_directory;  // Of RocksDB's own LOG; empty: `directory`.
  double high_priority_share = 0;  // Of the block cache, for index and filter blocks.
  bool clock_cache = false;
  int block_cache_shard_bits =
      -1;  // Shards as a power of two; -1: as many as have 32 MiB, up to 64.
  uint64_t simulated_cache_bytes = 0;  // Of a second block cache that only counts; 0: none.
  std::string persistent_cache_directory;
  uint64_t persistent_cache_bytes = 0;  // 0: none.
  int statistics_level = 1;             // 0..5, RocksDB's StatsLevel.
  uint64_t rate_limit_bytes_per_s = 0;  // Of background writes; 0: none.
  uint64_t deletion_bytes_per_s = 0;    // Of obsolete files; 0: at once.
  uint32_t log_recovery_mode = 1;       // 0..3, RocksDB's WALRecoveryMode.
  bool write_prepared = false;
  // Of RocksDB's messages, those from here on go to the engine's log too: 0 debug .. 4 fatal.
  int copied_log_level = 3;
  uint64_t kept_info_logs = 1000;
  uint32_t remembered_deadlocks = 5;
  bool refuse_unknown_options = false;  // In the OPTIONS file of the directory.
  bool open_marked_corrupted = false;   // The stock plug-in met damaged data there.
  // Further options by RocksDB's names, as text: of the database, and of the block-based table
  // format.
  std::unordered_map<std::string, std::string> database_options;
  std::unordered_map<std::string, std::string> table_options;
  std::string default_column_family_text;
  std::string override_column_family_text;
};

// Options that refer to objects which outlive one setting: the cache and the logger can be changed
// later.
struct StoreOptions {
  DatabaseOptions database;
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::Logger> info_log;
};

// Creates the directory when it may and has to. `log` outlives what is made. Errors:
// kInvalidArgument, kReadOnly, kIoError, kNoSpace, those of CheckDirectoryMarker.
Result<StoreOptions> MakeStoreOptions(const StoreSettings& settings, Log* log);

void SetBlockCacheBytes(StoreOptions* options, uint64_t bytes);
// As StoreSettings::copied_log_level.
void SetCopiedLogLevel(StoreOptions* options, int level);
// 0..5, RocksDB's StatsLevel.
void SetStatisticsLevel(StoreOptions* options, int level);
// A limit can be changed but neither made nor taken away while the database is open: false then.
[[nodiscard]] bool SetRateLimit(StoreOptions* options, uint64_t bytes_per_s);
void SetDeletionRate(StoreOptions* options, uint64_t bytes_per_s);
// RocksDB makes room for all of them at once, so that a number without bounds would be the end of
// the process.
inline constexpr uint32_t kMostRememberedDeadlocks = 100'000;

// Facts about the RocksDB that is linked: its revision, and the compression methods that it has.
std::string RocksDbRevision();
std::string SupportedCompressions();

}  // namespace cairn
