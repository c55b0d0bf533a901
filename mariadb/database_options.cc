#include "mariadb/database_options.h"

#include <algorithm>

#include "engine/store/settings.h"
#include "engine/txn/interruptible_mutex.h"
#include "mariadb/server_headers.h"
#include "mariadb/variables.h"

namespace cairn {
namespace {

// Set once, before any session exists.
StoreOptions store_options;

int MaxOpenFiles() {
  if (global_variables.max_open_files != -2) return global_variables.max_open_files;
  return static_cast<int>(std::max<ulong>(open_files_limit / 2, 64));
}

}  // namespace

Result<DatabaseOptions> OptionsFromVariables() {
  const GlobalVariables& variables = global_variables;
  StoreSettings settings;
  settings.directory = variables.datadir;
  settings.log_directory = variables.wal_dir;
  settings.create_if_missing = variables.create_if_missing;
  settings.block_cache_bytes = variables.block_cache_size;
  settings.block_bytes = variables.block_size;
  settings.cache_index_and_filter_blocks = variables.cache_index_and_filter_blocks;
  settings.write_buffer_bytes = variables.db_write_buffer_size;
  settings.max_open_files = MaxOpenFiles();
  settings.max_log_bytes = variables.max_total_wal_size;
  settings.direct_reads = variables.use_direct_reads;
  settings.direct_writes = variables.use_direct_io_for_flush_and_compaction;
  settings.bytes_per_sync = variables.bytes_per_sync;
  settings.log_bytes_per_sync = variables.wal_bytes_per_sync;
  settings.paranoid_checks = variables.paranoid_checks;
  settings.background_jobs = variables.max_background_jobs;
  settings.subcompactions = variables.max_subcompactions;
  settings.manual_log_flush = variables.manual_wal_flush;
  settings.two_write_queues = variables.two_write_queues;
  settings.log_recovery_mode = variables.wal_recovery_mode;
  settings.write_prepared = variables.write_policy == 1;
  settings.info_log_level = static_cast<int>(variables.info_log_level);
  settings.kept_info_logs = variables.keep_log_file_num;
  settings.remembered_deadlocks = variables.max_latest_deadlocks;
  settings.default_column_family_text = variables.default_cf_options;
  settings.override_column_family_text = variables.override_cf_options;
  if (variables.write_policy == 2) {
    return Status(StatusCode::kNotSupported,
                  "rocksdb_write_policy=write_unprepared is not supported; use write_committed or "
                  "write_prepared");
  }
  CAIRN_ASSIGN_OR_RETURN(store_options, MakeStoreOptions(settings));
  DatabaseOptions options = store_options.database;
  options.remove_expired_rows = variables.enable_ttl;
  options.collect_statistics = variables.collect_sst_properties;
  options.statistics_sampling_percent = variables.table_stats_sampling_pct;
  options.hide_expired_rows = variables.enable_ttl_read_filtering;
  options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
  return options;
}

void ApplyBlockCacheSize() {
  SetBlockCacheBytes(&store_options, global_variables.block_cache_size);
}

void ApplyInfoLogLevel() {
  SetInfoLogLevel(&store_options, static_cast<int>(global_variables.info_log_level));
}

}  // namespace cairn
