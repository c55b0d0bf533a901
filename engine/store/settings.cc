#include "engine/store/settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/lsm/rocksdb_status.h"
#include "engine/store/directory_marker.h"
#include "engine/store/library_log.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/persistent_cache.h"
#include "rocksdb/rate_limiter.h"
#include "rocksdb/sst_file_manager.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/sim_cache.h"
#include "rocksdb/version.h"

namespace cairn {
namespace {

// The newest file format that the stock plug-in's RocksDB 6.29 reads is 5; it writes 2 itself
// (docs/stock-format.md, 1.2 and 17).
constexpr uint32_t kTableFormatVersion = 5;

Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0750) == 0 || errno == EEXIST) return Status();
  const StatusCode code = errno == EROFS || errno == EACCES || errno == EPERM
                              ? StatusCode::kReadOnly
                          : errno == ENOSPC ? StatusCode::kNoSpace
                                            : StatusCode::kIoError;
  return Status(code, "cannot create the directory " + path + ": " + std::strerror(errno));
}

// A directory that a variable names beside the data directory.
Status PrepareDirectory(const char* variable, const std::string& path) {
  if (path.empty()) return Status();
  CAIRN_RETURN_IF_ERROR(MakeDirectory(path).WithContext(variable));
  struct stat file;
  if (stat(path.c_str(), &file) != 0 || !S_ISDIR(file.st_mode)) {
    return Status(StatusCode::kInvalidArgument,
                  std::string(variable) + ": " + path + " is not a directory");
  }
  if (access(path.c_str(), R_OK | W_OK | X_OK) == 0) return Status();
  return Status(StatusCode::kReadOnly,
                std::string(variable) + ": " + path + " cannot be used: " + std::strerror(errno));
}

// Of the block cache, where nobody wants another number. A block that is larger than its shard is
// never kept, and the filter of a file has 10 bits for each entry: with RocksDB's own choice, from
// 512 KiB on, each look into a file of millions of rows reads its filter again. Its clock cache has
// such shards anyway.
constexpr uint64_t kLeastShardBytes = 32 << 20;
constexpr int kMostShardBits = 6;

rocksdb::InfoLogLevel ToInfoLogLevel(int level) {
  return static_cast<rocksdb::InfoLogLevel>(level);
}

int ShardBits(const StoreSettings& settings) {
  if (settings.block_cache_shard_bits >= 0) return settings.block_cache_shard_bits;
  int bits = 0;
  while (bits < kMostShardBits && settings.block_cache_bytes >> (bits + 1) >= kLeastShardBytes) {
    ++bits;
  }
  return bits;
}

std::shared_ptr<rocksdb::Cache> MakeRealCache(const StoreSettings& settings) {
  if (settings.clock_cache) {
    // A charge of 0 lets the cache find out by itself how large its entries are.
    return rocksdb::HyperClockCacheOptions(settings.block_cache_bytes, /*charge=*/0,
                                           settings.block_cache_shard_bits)
        .MakeSharedCache();
  }
  rocksdb::LRUCacheOptions options;
  options.capacity = settings.block_cache_bytes;
  options.num_shard_bits = ShardBits(settings);
  options.high_pri_pool_ratio = settings.high_priority_share;
  return options.MakeSharedCache();
}

std::shared_ptr<rocksdb::Cache> MakeBlockCache(const StoreSettings& settings) {
  std::shared_ptr<rocksdb::Cache> cache = MakeRealCache(settings);
  if (settings.simulated_cache_bytes == 0) return cache;
  return rocksdb::NewSimCache(std::move(cache), settings.simulated_cache_bytes,
                              settings.block_cache_shard_bits);
}

Result<std::shared_ptr<rocksdb::PersistentCache>> MakePersistentCache(
    const StoreSettings& settings, const std::shared_ptr<rocksdb::Logger>& log) {
  std::shared_ptr<rocksdb::PersistentCache> cache;
  const std::string& directory = settings.persistent_cache_directory;
  if (directory.empty()) return cache;
  if (settings.persistent_cache_bytes == 0) {
    return Status(StatusCode::kInvalidArgument, "Must specify rocksdb_persistent_cache_size_mb");
  }
  CAIRN_RETURN_IF_ERROR(PrepareDirectory("rocksdb_persistent_cache_path", directory));
  const rocksdb::Status made = rocksdb::NewPersistentCache(rocksdb::Env::Default(), directory,
                                                           settings.persistent_cache_bytes, log,
                                                           /*optimized_for_nvm=*/false, &cache);
  if (!made.ok()) {
    return Status(FromRocksDb(made).code(),
                  "Persistent cache returned error: (" + made.ToString() + ")");
  }
  return cache;
}

Result<std::shared_ptr<rocksdb::TableFactory>> MakeTableFactory(
    const StoreSettings& settings, std::shared_ptr<rocksdb::Cache> cache,
    std::shared_ptr<rocksdb::PersistentCache> persistent_cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  table.persistent_cache = std::move(persistent_cache);
  table.block_size = settings.block_bytes;
  table.cache_index_and_filter_blocks = settings.cache_index_and_filter_blocks;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = settings.cache_index_and_filter_blocks;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, /*use_block_based_builder=*/false));
  table.whole_key_filtering = true;
  table.format_version = kTableFormatVersion;
  table.checksum = rocksdb::kCRC32c;
  rocksdb::BlockBasedTableOptions complete;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb::GetBlockBasedTableOptionsFromMap(
      rocksdb::ConfigOptions(), table, settings.table_options, &complete)));
  if (complete.no_block_cache) complete.block_cache = nullptr;
  return std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(complete));
}

Result<rocksdb::DBOptions> MakeDbOptions(const StoreSettings& settings) {
  rocksdb::DBOptions db;
  db.env = rocksdb::Env::Default();
  db.create_if_missing = settings.create_if_missing;
  db.wal_dir = settings.log_directory;
  db.max_open_files = settings.max_open_files;
  db.max_total_wal_size = settings.max_log_bytes;
  db.db_write_buffer_size = settings.write_buffer_bytes;
  db.use_direct_reads = settings.direct_reads;
  db.use_direct_io_for_flush_and_compaction = settings.direct_writes;
  db.bytes_per_sync = settings.bytes_per_sync;
  db.wal_bytes_per_sync = settings.log_bytes_per_sync;
  db.paranoid_checks = settings.paranoid_checks;
  db.max_background_jobs = settings.background_jobs;
  db.max_subcompactions = settings.subcompactions;
  db.manual_wal_flush = settings.manual_log_flush;
  db.two_write_queues = settings.two_write_queues;
  db.allow_2pc = true;
  db.wal_recovery_mode = static_cast<rocksdb::WALRecoveryMode>(settings.log_recovery_mode);
  db.keep_log_file_num = settings.kept_info_logs;
  db.db_log_dir = settings.info_log_directory;
  db.statistics = rocksdb::CreateDBStatistics();
  if (settings.rate_limit_bytes_per_s > 0) {
    db.rate_limiter.reset(
        rocksdb::NewGenericRateLimiter(static_cast<int64_t>(settings.rate_limit_bytes_per_s)));
  }
  rocksdb::DBOptions complete;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb::GetDBOptionsFromMap(
      rocksdb::ConfigOptions(), db, settings.database_options, &complete)));
  return complete;
}

}  // namespace

Result<StoreOptions> MakeStoreOptions(const StoreSettings& settings, Log* log) {
  if (settings.directory.empty()) {
    return Status(StatusCode::kInvalidArgument, "the data directory has no name (rocksdb_datadir)");
  }
  CAIRN_RETURN_IF_ERROR(CheckDirectoryMarker(rocksdb::Env::Default(), settings.directory));
  if (!settings.open_marked_corrupted &&
      IsMarkedCorrupted(rocksdb::Env::Default(), settings.directory)) {
    return Status(
        StatusCode::kCorruption,
        "There was a corruption detected in RockDB files. Check error log emitted earlier for "
        "more details. When it is repaired, remove the file " +
            settings.directory + "/" + std::string(kCorruptionMarkName) +
            ", or start with rocksdb_allow_to_start_after_corruption=ON to look at the data");
  }
  if (settings.create_if_missing) CAIRN_RETURN_IF_ERROR(MakeDirectory(settings.directory));
  CAIRN_RETURN_IF_ERROR(PrepareDirectory("rocksdb_wal_dir", settings.log_directory));
  CAIRN_RETURN_IF_ERROR(PrepareDirectory("rocksdb_log_dir", settings.info_log_directory));

  StoreOptions options;
  DatabaseOptions& database = options.database;
  database.directory = settings.directory;
  CAIRN_ASSIGN_OR_RETURN(database.db, MakeDbOptions(settings));
  std::shared_ptr<rocksdb::Logger> info_log;
  // Only names the file; that it cannot be made is found by opening the database.
  rocksdb::CreateLoggerFromOptions(settings.directory, database.db, &info_log)
      .PermitUncheckedError();
  if (info_log != nullptr) {
    options.info_log =
        MakeLibraryLog(std::move(info_log), log, ToInfoLogLevel(settings.copied_log_level));
    database.db.info_log = options.info_log;
  }
  SetStatisticsLevel(&options, settings.statistics_level);
  database.db.sst_file_manager.reset(
      rocksdb::NewSstFileManager(database.db.env, database.db.info_log, /*trash_dir=*/"",
                                 static_cast<int64_t>(settings.deletion_bytes_per_s)));

  options.block_cache = MakeBlockCache(settings);
  CAIRN_ASSIGN_OR_RETURN(auto persistent_cache, MakePersistentCache(settings, options.info_log));
  CAIRN_ASSIGN_OR_RETURN(
      database.column_family.table_factory,
      MakeTableFactory(settings, options.block_cache, std::move(persistent_cache)));
  database.column_family.compression = rocksdb::kLZ4Compression;
  database.column_family.bottommost_compression = rocksdb::kZSTD;
  database.default_column_family_text = settings.default_column_family_text;
  database.override_column_family_text = settings.override_column_family_text;
  database.refuse_unknown_options = settings.refuse_unknown_options;

  database.transaction.max_num_deadlocks =
      std::min(settings.remembered_deadlocks, kMostRememberedDeadlocks);
  database.transaction.write_policy =
      settings.write_prepared ? rocksdb::WRITE_PREPARED : rocksdb::WRITE_COMMITTED;
  return options;
}

void SetBlockCacheBytes(StoreOptions* options, uint64_t bytes) {
  if (options->block_cache != nullptr) options->block_cache->SetCapacity(bytes);
}

void SetCopiedLogLevel(StoreOptions* options, int level) {
  if (options->info_log != nullptr) options->info_log->SetInfoLogLevel(ToInfoLogLevel(level));
}

void SetStatisticsLevel(StoreOptions* options, int level) {
  options->database.db.statistics->set_stats_level(static_cast<rocksdb::StatsLevel>(level));
}

bool SetRateLimit(StoreOptions* options, uint64_t bytes_per_s) {
  rocksdb::RateLimiter* const limiter = options->database.db.rate_limiter.get();
  if (limiter == nullptr || bytes_per_s == 0) return limiter == nullptr && bytes_per_s == 0;
  limiter->SetBytesPerSecond(static_cast<int64_t>(bytes_per_s));
  return true;
}

void SetDeletionRate(StoreOptions* options, uint64_t bytes_per_s) {
  options->database.db.sst_file_manager->SetDeleteRateBytesPerSecond(
      static_cast<int64_t>(bytes_per_s));
}

// The build keeps the version but not the revision.
std::string RocksDbRevision() {
  constexpr std::string_view kPinned = "11.8.1";
  const std::string version = rocksdb::GetRocksVersionAsString();
  return version == kPinned ? "abeebd9630f11bd08c28b7bd43c7bdfc62050654" : "v" + version;
}

std::string SupportedCompressions() {
  std::string names;
  for (const rocksdb::CompressionType type : rocksdb::GetSupportedCompressions()) {
    std::string name;
    if (type == rocksdb::kNoCompression) continue;
    if (!rocksdb::GetStringFromCompressionType(&name, type).ok()) continue;
    // kLZ4Compression becomes LZ4.
    if (name.starts_with('k')) name.erase(0, 1);
    if (name.ends_with("Compression")) name.resize(name.size() - strlen("Compression"));
    if (!names.empty()) names += ',';
    names += name;
  }
  return names;
}

}  // namespace cairn
