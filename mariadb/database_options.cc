#include "mariadb/database_options.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/locks/interruptible_mutex.h"
#include "engine/store/settings.h"
#include "mariadb/cairn_variables.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "mariadb/variables.h"

namespace cairn {
namespace {

// Set once, before any session exists.
StoreOptions store_options;

// The variable shows what comes out.
int ChooseMaxOpenFiles() {
  int& files = global_variables.max_open_files;
  const auto half = static_cast<int>(open_files_limit / 2);
  if (files == -2) files = half;
  if (files > 0 && static_cast<ulong>(files) > open_files_limit) {
    sql_print_warning(
        "RocksDB: rocksdb_max_open_files should not be greater than the open_files_limit: %d is "
        "cut to %d, half of that. Raise open_files_limit, and LimitNOFILE in the server's unit",
        files, half);
    files = half;
  }
  return files;
}

// Combinations that RocksDB takes badly or not at all.
Status CheckCombinations(const GlobalVariables& variables) {
  const auto refuse = [](const char* text) { return Status(StatusCode::kInvalidArgument, text); };
  if (variables.use_direct_reads && variables.allow_mmap_reads) {
    return refuse("Can't enable both use_direct_reads and allow_mmap_reads");
  }
  if (variables.use_direct_io_for_flush_and_compaction && variables.allow_mmap_writes) {
    return refuse("Can't enable both use_direct_io_for_flush_and_compaction and allow_mmap_writes");
  }
  if (variables.allow_mmap_writes && variables.flush_log_at_trx_commit != 0) {
    return refuse("rocksdb_flush_log_at_trx_commit needs to be 0 to use allow_mmap_writes");
  }
  if (!variables.cache_dump) {
    return Status(
        StatusCode::kNotSupported,
        "Error excluding block cache from core dump, Status Code: 3, Status: Not implemented: "
        "Not compiled with JEMALLOC (rocksdb_cache_dump=OFF)");
  }
  if (variables.write_policy == 2) {
    return Status(StatusCode::kNotSupported,
                  "rocksdb_write_policy=write_unprepared is not supported; use write_committed or "
                  "write_prepared");
  }
  return Status();
}

// What a start should say although it goes on.
void WarnOfDanger(const GlobalVariables& variables) {
  if (variables.allow_to_start_after_corruption) {
    sql_print_information(
        "RocksDB: Remove rocksdb_allow_to_start_after_corruption to prevent server operating if "
        "RocksDB corruption is detected.");
  }
  if (variables.ignore_datadic_errors != 0) {
    sql_print_information(
        "CAUTION: Running with rocksdb_ignore_datadic_errors=1.  This should only be used to "
        "perform "
        "repairs");
  }
}

std::string Text(char value) { return value ? "true" : "false"; }
template <typename Number>
std::string Text(Number value) {
  return std::to_string(value);
}

// Variables whose value is that of a RocksDB option. Dynamic ones are carried over by
// SetDatabaseOption in variables.cc later on.
void AddDatabaseOptions(const GlobalVariables& variables,
                        std::unordered_map<std::string, std::string>* options) {
#define OPTION(variable) options->emplace(#variable, Text(variables.variable))
  OPTION(advise_random_on_open);
  OPTION(allow_concurrent_memtable_write);
  OPTION(allow_mmap_reads);
  OPTION(allow_mmap_writes);
  OPTION(create_missing_column_families);
  OPTION(delete_obsolete_files_period_micros);
  OPTION(enable_thread_tracking);
  OPTION(enable_write_thread_adaptive_yield);
  OPTION(error_if_exists);
  OPTION(is_fd_close_on_exec);
  OPTION(log_file_time_to_roll);
  OPTION(manifest_preallocation_size);
  OPTION(max_log_file_size);
  OPTION(max_manifest_file_size);
  OPTION(stats_dump_period_sec);
  OPTION(table_cache_numshardbits);
  OPTION(use_adaptive_mutex);
  OPTION(use_fsync);
  // Of these two, 0 leaves the choice to RocksDB.
  if (variables.compaction_readahead_size > 0) OPTION(compaction_readahead_size);
  if (variables.delayed_write_rate > 0) OPTION(delayed_write_rate);
#undef OPTION
  options->emplace("WAL_ttl_seconds", Text(variables.wal_ttl_seconds));
  options->emplace("WAL_size_limit_MB", Text(variables.wal_size_limit_mb));
}

void AddTableOptions(const GlobalVariables& variables,
                     std::unordered_map<std::string, std::string>* options) {
#define OPTION(variable) options->emplace(#variable, Text(variables.variable))
  OPTION(block_restart_interval);
  OPTION(block_size_deviation);
  OPTION(no_block_cache);
  OPTION(pin_l0_filter_and_index_blocks_in_cache);
  OPTION(whole_key_filtering);
#undef OPTION
  options->emplace("cache_index_and_filter_blocks_with_high_priority",
                   Text(variables.cache_index_and_filter_with_high_priority));
  options->emplace("index_type", variables.index_type == 1 ? "kHashSearch" : "kBinarySearch");
}

// A setting that does nothing must not do so in silence.
void WarnOfRetiredOptions(const GlobalVariables& variables) {
  const auto warn = [](bool is_set, const char* name) {
    if (is_set)
      sql_print_warning("RocksDB: rocksdb_%s has no effect: RocksDB has no such option any more",
                        name);
  };
  warn(variables.access_hint_on_compaction_start != 1, "access_hint_on_compaction_start");
  warn(variables.new_table_reader_for_compaction_inputs, "new_table_reader_for_compaction_inputs");
  warn(!variables.hash_index_allow_collision, "hash_index_allow_collision");
}

}  // namespace

Result<DatabaseOptions> OptionsFromVariables() {
  const GlobalVariables& variables = global_variables;
  CAIRN_RETURN_IF_ERROR(CheckCombinations(variables));
  StoreSettings settings;
  settings.directory = variables.datadir;
  settings.log_directory = variables.wal_dir;
  settings.create_if_missing = variables.create_if_missing;
  settings.block_cache_bytes = variables.block_cache_size;
  settings.block_bytes = variables.block_size;
  settings.cache_index_and_filter_blocks = variables.cache_index_and_filter_blocks;
  settings.write_buffer_bytes = variables.db_write_buffer_size;
  settings.max_open_files = ChooseMaxOpenFiles();
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
  settings.copied_log_level = static_cast<int>(variables.info_log_level);
  settings.kept_info_logs = variables.keep_log_file_num;
  settings.remembered_deadlocks = RememberedDeadlocks();
  settings.info_log_directory = variables.log_dir;
  settings.high_priority_share = variables.cache_high_pri_pool_ratio;
  settings.clock_cache = variables.use_clock_cache || variables.use_hyper_clock_cache;
  settings.block_cache_shard_bits = variables.block_cache_numshardbits;
  settings.simulated_cache_bytes = variables.sim_cache_size;
  settings.persistent_cache_directory = variables.persistent_cache_path;
  settings.persistent_cache_bytes = variables.persistent_cache_size_mb << 20;
  settings.refuse_unknown_options = !variables.ignore_unknown_options;
  settings.open_marked_corrupted = variables.allow_to_start_after_corruption;
  settings.statistics_level = static_cast<int>(variables.stats_level);
  settings.rate_limit_bytes_per_s = variables.rate_limiter_bytes_per_sec;
  settings.deletion_bytes_per_s = variables.sst_mgr_rate_bytes_per_sec;
  AddDatabaseOptions(variables, &settings.database_options);
  AddTableOptions(variables, &settings.table_options);
  WarnOfRetiredOptions(variables);
  WarnOfDanger(variables);
  settings.default_column_family_text = variables.default_cf_options;
  settings.override_column_family_text = variables.override_cf_options;
  CAIRN_ASSIGN_OR_RETURN(store_options, MakeStoreOptions(settings, ServerLog()));
  ApplyCollectorControl(store_options.database.collector.get());
  DatabaseOptions options = store_options.database;
  options.collect_statistics = variables.collect_sst_properties;
  options.bypass_memtable_bytes = cairn_variables.bypass_memtable_bytes;
  options.throttle = std::make_shared<CompactionThrottle>();
  options.remove_expired_rows = variables.enable_ttl;
  options.hide_expired_rows = variables.enable_ttl_read_filtering;
  options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
  return options;
}

uint32_t RememberedDeadlocks() {
  constexpr uint32_t kMost = 100'000;
  return std::min(global_variables.max_latest_deadlocks, kMost);
}

void ApplyBlockCacheSize() {
  SetBlockCacheBytes(&store_options, global_variables.block_cache_size);
}

void ApplyInfoLogLevel() {
  SetCopiedLogLevel(&store_options, static_cast<int>(global_variables.info_log_level));
}

void ApplyStatisticsLevel() {
  SetStatisticsLevel(&store_options, static_cast<int>(global_variables.stats_level));
}

void ApplyDeletionRate() {
  SetDeletionRate(&store_options, global_variables.sst_mgr_rate_bytes_per_sec);
}

bool ApplyRateLimit(uint64_t bytes_per_s) { return SetRateLimit(&store_options, bytes_per_s); }

void ApplyCollectorControl(CollectorControl* control) {
  const GlobalVariables& variables = global_variables;
  control->sampling_percent = variables.table_stats_sampling_pct;
  control->delete_heavy_count = variables.compaction_sequential_deletes;
  control->delete_heavy_window = variables.compaction_sequential_deletes_window;
  control->delete_heavy_file_bytes = variables.compaction_sequential_deletes_file_size;
  control->single_deletes_count = variables.compaction_sequential_deletes_count_sd != 0;
}

}  // namespace cairn
