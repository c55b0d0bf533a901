#include "engine/store/settings.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "engine/store/directory_marker.h"
#include "engine/store/rocksdb_status.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/rate_limiter.h"
#include "rocksdb/sst_file_manager.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"

namespace cairn {
namespace {

// The newest file format that the stock plug-in's RocksDB 6.29 reads is 5; it writes 2 itself
// (spec/on-disk-format.md, 1.2 and 17).
constexpr uint32_t kTableFormatVersion = 5;

Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0750) == 0 || errno == EEXIST) return Status();
  const StatusCode code = errno == EROFS || errno == EACCES || errno == EPERM
                              ? StatusCode::kReadOnly
                          : errno == ENOSPC ? StatusCode::kNoSpace
                                            : StatusCode::kIoError;
  return Status(code, "cannot create the directory " + path + ": " + std::strerror(errno));
}

std::shared_ptr<rocksdb::Cache> MakeBlockCache(const StoreSettings& settings) {
  if (settings.clock_cache) {
    // A charge of 0 lets the cache find out by itself how large its entries are.
    return rocksdb::HyperClockCacheOptions(settings.block_cache_bytes, /*charge=*/0)
        .MakeSharedCache();
  }
  rocksdb::LRUCacheOptions options;
  options.capacity = settings.block_cache_bytes;
  options.high_pri_pool_ratio = settings.high_priority_share;
  return options.MakeSharedCache();
}

Result<std::shared_ptr<rocksdb::TableFactory>> MakeTableFactory(
    const StoreSettings& settings, std::shared_ptr<rocksdb::Cache> cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
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

Result<StoreOptions> MakeStoreOptions(const StoreSettings& settings) {
  if (settings.directory.empty()) {
    return Status(StatusCode::kInvalidArgument, "the data directory has no name (rocksdb_datadir)");
  }
  CAIRN_RETURN_IF_ERROR(CheckDirectoryMarker(rocksdb::Env::Default(), settings.directory));
  if (settings.create_if_missing) CAIRN_RETURN_IF_ERROR(MakeDirectory(settings.directory));

  StoreOptions options;
  DatabaseOptions& database = options.database;
  database.directory = settings.directory;
  CAIRN_ASSIGN_OR_RETURN(database.db, MakeDbOptions(settings));
  // Only names the file; that it cannot be made is found by opening the database.
  rocksdb::CreateLoggerFromOptions(settings.directory, database.db, &options.info_log)
      .PermitUncheckedError();
  database.db.info_log = options.info_log;
  SetInfoLogLevel(&options, settings.info_log_level);
  SetStatisticsLevel(&options, settings.statistics_level);
  database.db.sst_file_manager.reset(
      rocksdb::NewSstFileManager(database.db.env, database.db.info_log, /*trash_dir=*/"",
                                 static_cast<int64_t>(settings.deletion_bytes_per_s)));

  options.block_cache = MakeBlockCache(settings);
  CAIRN_ASSIGN_OR_RETURN(database.column_family.table_factory,
                         MakeTableFactory(settings, options.block_cache));
  database.column_family.compression = rocksdb::kLZ4Compression;
  database.column_family.bottommost_compression = rocksdb::kZSTD;
  database.default_column_family_text = settings.default_column_family_text;
  database.override_column_family_text = settings.override_column_family_text;

  database.transaction.max_num_deadlocks = settings.remembered_deadlocks;
  database.transaction.write_policy =
      settings.write_prepared ? rocksdb::WRITE_PREPARED : rocksdb::WRITE_COMMITTED;
  return options;
}

void SetBlockCacheBytes(StoreOptions* options, uint64_t bytes) {
  if (options->block_cache != nullptr) options->block_cache->SetCapacity(bytes);
}

void SetInfoLogLevel(StoreOptions* options, int level) {
  if (options->info_log != nullptr) {
    options->info_log->SetInfoLogLevel(static_cast<rocksdb::InfoLogLevel>(level));
  }
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

}  // namespace cairn
