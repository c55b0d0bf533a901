#include "mariadb/variables.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "engine/lsm/rocksdb_status.h"
#include "engine/monitor/counters.h"
#include "engine/store/settings.h"
#include "engine/txn/lock_report.h"
#include "mariadb/database_options.h"
#include "mariadb/engine.h"
#include "mariadb/enum_names.h"
#include "mariadb/error.h"
#include "mariadb/server_headers.h"
#include "mariadb/session.h"
#include "mariadb/variables_lock.h"

namespace cairn {

GlobalVariables global_variables;

namespace {

// --- What SET GLOBAL does -----------------------------------------------------------------------

using SysVar = st_mysql_sys_var;

void NONE(THD*, SysVar*, void*, const void*) {}  // Never called: stands for "no function".

template <typename T>
void Store(void* variable, const void* value) {
  *static_cast<T*>(variable) = *static_cast<const T*>(value);
}

void SetBlockCacheSize(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned long long>(variable, value);
  ApplyBlockCacheSize();
}

// The beginning of every variable that the server's macros declare.
struct SysVarHeader {
  MYSQL_PLUGIN_VAR_HEADER;
};

// The server puts the plug-in's name in front of the name that was declared.
std::string_view OptionName(const SysVarHeader& variable) {
  constexpr std::string_view kPrefix = "rocksdb_";
  std::string_view name = variable.name;
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return name;
}

// What 0 stands for in those variables whose 0 means that RocksDB decides.
const char* RocksDbDefault(std::string_view option) {
  if (option == "delayed_write_rate") return "16777216";
  if (option == "compaction_readahead_size") return "2097152";
  return "0";
}

// For variables that bear the name of a RocksDB option which can change while the database is open.
void SetDatabaseOption(THD*, SysVar* variable, void* to, const void* value) {
  const auto* const header = reinterpret_cast<const SysVarHeader*>(variable);
  const bool is_wide = (header->flags & 7) == PLUGIN_VAR_LONGLONG;
  std::string text = is_wide ? std::to_string(*static_cast<const unsigned long long*>(value))
                             : std::to_string(*static_cast<const int*>(value));
  const std::string option(OptionName(*header));
  if (text == "0") text = RocksDbDefault(option);
  if (Engine* engine = RunningEngine()) {
    const Status set = FromRocksDb(engine->database().rocksdb()->SetDBOptions({{option, text}}));
    if (!set.ok()) return PushError(set);
  }
  if (is_wide) {
    Store<unsigned long long>(to, value);
  } else {
    Store<int>(to, value);
  }
}

void SetInfoLogLevel(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned long>(variable, value);
  ApplyInfoLogLevel();
}

void SetLogFlushNow(THD*, SysVar*, void* variable, const void* value) {
  const unsigned int wanted = *static_cast<const unsigned int*>(value);
  if (global_variables.allow_mmap_writes && wanted != 0) {
    my_error(ER_WRONG_VALUE_FOR_VAR, MYF(0), "rocksdb_flush_log_at_trx_commit",
             std::to_string(wanted).c_str());
    return;
  }
  Store<unsigned int>(variable, value);
}

void SetWriteWatchdogNow(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned int>(variable, value);
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  engine->io_watchdog().SetLimit(std::chrono::seconds(*static_cast<const unsigned int*>(value)));
}

void SetRecountRateNow(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned int>(variable, value);
  Engine* const engine = RunningEngine();
  if (engine != nullptr) engine->upkeep().SetRecountRate(*static_cast<const unsigned int*>(value));
}

void RemoveBackupCheckpointNow(THD*, SysVar*, void*, const void*) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  const Status removed = engine->database().maintenance().backup_checkpoint().Remove();
  if (!removed.ok()) PushError(removed);
}

void SetTtl(THD*, SysVar*, void* variable, const void* value) {
  Store<char>(variable, value);
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  engine->database().expiry().SetRemoves(global_variables.enable_ttl);
  engine->database().expiry().SetHides(global_variables.enable_ttl_read_filtering);
}

void SetStatisticsLevelNow(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned int>(variable, value);
  ApplyStatisticsLevel();
}

void SetDeletionRateNow(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned long long>(variable, value);
  ApplyDeletionRate();
}

void SetRateLimitNow(THD* thd, SysVar*, void* variable, const void* value) {
  const auto bytes_per_s = *static_cast<const unsigned long long*>(value);
  if (ApplyRateLimit(bytes_per_s)) {
    Store<unsigned long long>(variable, value);
    return;
  }
  push_warning(
      thd, Sql_condition::WARN_LEVEL_WARN, ER_WRONG_ARGUMENTS,
      "RocksDB: rocksdb_rate_limiter_bytes_per_sec cannot be dynamically changed to or from 0.  "
      "Do a clean shutdown if you want to change it from or to 0.");
}

void SetCollector(THD*, SysVar* variable, void* to, const void* value) {
  const auto* const header = reinterpret_cast<const SysVarHeader*>(variable);
  switch (header->flags & 7) {
    case PLUGIN_VAR_BOOL:
      Store<char>(to, value);
      break;
    case PLUGIN_VAR_INT:
      Store<unsigned int>(to, value);
      break;
    default:
      Store<long long>(to, value);
  }
  if (Engine* engine = RunningEngine()) ApplyCollectorControl(&engine->database().collector());
}

void SetRememberedDeadlocks(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned int>(variable, value);
  if (Engine* engine = RunningEngine()) {
    RememberDeadlocks(&engine->database(), RememberedDeadlocks());
  }
}

void ResetStatisticsNow(THD*, SysVar*, void* variable, const void* value) {
  Store<char>(variable, value);
  Engine* const engine = RunningEngine();
  if (engine == nullptr || !*static_cast<const char*>(value)) return;
  const Status reset = ResetCounters(engine->database());
  if (!reset.ok()) PushError(reset);
}

void PauseBackgroundWorkNow(THD*, SysVar*, void* variable, const void* value) {
  Engine* const engine = RunningEngine();
  const bool pause = *static_cast<const char*>(value);
  if (engine != nullptr && pause != static_cast<bool>(*static_cast<char*>(variable))) {
    Database& database = engine->database();
    WithoutVariablesLock unlocked;
    const Status changed = pause ? database.maintenance().PauseBackgroundWork()
                                 : database.maintenance().ContinueBackgroundWork();
    if (!changed.ok()) return PushError(changed);
  }
  Store<char>(variable, value);
}

void FlushMemtablesNow(THD*, SysVar*, void*, const void*) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  WithoutVariablesLock unlocked;
  sql_print_information("RocksDB: Manual memtable flush.");
  const Status flushed = engine->database().maintenance().FlushMemtables();
  if (!flushed.ok()) PushError(flushed);
}

void FlushAndCompactLevelZeroNow(THD*, SysVar*, void*, const void*) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  WithoutVariablesLock unlocked;
  sql_print_information("RocksDB: Manual memtable and L0 flush.");
  Status done = engine->database().maintenance().FlushMemtables();
  if (done.ok()) done = engine->database().maintenance().CompactLevelZero();
  if (!done.ok()) PushError(done);
}

void RemoveDroppedIndexesNow(THD*, SysVar*, void*, const void* value) {
  Engine* const engine = RunningEngine();
  if (engine != nullptr && *static_cast<const char*>(value))
    engine->upkeep().RemoveDroppedIndexes();
}

void CompactFamilyNow(THD* thd, SysVar*, void*, const void* value);

// What the server's macros declare for a text.
struct TextVariable {
  MYSQL_PLUGIN_VAR_HEADER;
  char** value;
  const char* default_value;
};

// DEFAULT is told from an empty text by the address.
bool IsDefault(SysVar* variable, const char* value) {
  return value == reinterpret_cast<const TextVariable*>(variable)->default_value;
}

void CreateCheckpointNow(THD*, SysVar* variable, void*, const void* value) {
  Engine* const engine = RunningEngine();
  const char* const path = *static_cast<const char* const*>(value);
  if (path == nullptr)
    my_error(ER_WRONG_VALUE_FOR_VAR, MYF(0), "rocksdb_create_checkpoint", "NULL");
  if (engine == nullptr || path == nullptr || IsDefault(variable, path)) return;
  if (*path == '\0') {
    my_error(ER_GET_ERRMSG, MYF(0), 4, "Invalid argument: invalid checkpoint directory name",
             "ROCKSDB");
    return;
  }
  WithoutVariablesLock unlocked;
  const Status created = engine->database().maintenance().CreateCheckpoint(path);
  if (!created.ok()) PushError(created);
}

void UpdateFamilyOptionsNow(THD* thd, SysVar*, void* variable, const void* value) {
  Engine* const engine = RunningEngine();
  const char* const text = *static_cast<const char* const*>(value);
  if (engine != nullptr && text != nullptr) {
    const Status updated = engine->database().families().UpdateOptions(text);
    if (updated.code() == StatusCode::kInvalidArgument) {
      push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_WRONG_ARGUMENTS,
                   updated.ToString().c_str());
      my_error(ER_WRONG_VALUE_FOR_VAR, MYF(0), "rocksdb_update_cf_options", text);
    } else if (!updated.ok()) {
      PushError(updated);
    }
    if (!updated.ok()) return;
  }
  char** const kept = static_cast<char**>(variable);
  my_free(*kept);
  *kept = text == nullptr ? nullptr : my_strdup(PSI_NOT_INSTRUMENTED, text, MYF(MY_WME));
}

void RefuseFamilyDeletion(THD*, SysVar*, void*, const void* value) {
  const char* const name = *static_cast<const char* const*>(value);
  if (name != nullptr && *name != '\0') {
    my_error(ER_WRONG_VALUE_FOR_VAR, MYF(0), "rocksdb_delete_cf", name);
  }
}

// Reads a switch as the server does: ON, OFF, TRUE, FALSE or a number up to 1.
int CheckSwitch(THD*, SysVar*, void* save, st_mysql_value* value) {
  static const char* const kNames[] = {"OFF", "ON", "FALSE", "TRUE", nullptr};
  TYPELIB names{};  // 11.8 knows more of it.
  names.count = 4;
  names.name = "";
  names.type_names = const_cast<const char**>(kNames);
  if (value->value_type(value) == MYSQL_VALUE_TYPE_STRING) {
    char buffer[8];
    int length = sizeof buffer;
    const char* const text = value->val_str(value, buffer, &length);
    const int found = text == nullptr ? 0 : find_type(text, &names, FIND_TYPE_BASIC);
    if (found <= 0) return 1;
    *static_cast<char*>(save) = static_cast<char>(found % 2 == 0);
    return 0;
  }
  longlong number;
  if (value->val_int(value, &number) != 0 || number > 1) return 1;
  *static_cast<char*>(save) = static_cast<char>(number == 1);
  return 0;
}

int CheckBetweenLoads(THD* thd, SysVar* variable, void* save, st_mysql_value* value) {
  if (SessionBulkLoads(thd)) {
    my_error(ER_ERROR_WHEN_EXECUTING_COMMAND, MYF(0), "SET",
             "Cannot change this setting while bulk load is enabled");
    return 1;
  }
  return CheckSwitch(thd, variable, save, value);
}

// Whatever the new value: what was loaded so far becomes part of the tables.
void SetBulkLoad(THD* thd, SysVar*, void* variable, const void* value) {
  Session* const session = Session::Find(thd);
  const Status finished = session == nullptr ? Status() : session->bulk_loads().Finish();
  if (finished.ok()) {
    Store<char>(variable, value);
    return;
  }
  sql_print_error(
      "RocksDB: Error %d finalizing last SST file while setting bulk loading variable: %s",
      kErrorBulkLoad, finished.ToString().c_str());
  ReportBulkLoadError(finished);
  *static_cast<char*>(variable) = 0;
}

// --- Declarations -------------------------------------------------------------------------------

constexpr int FIXED = PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY;
constexpr int HIDDEN = PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY | PLUGIN_VAR_NOSYSVAR;
constexpr int SHOWN = PLUGIN_VAR_READONLY | PLUGIN_VAR_NOCMDOPT;
constexpr int DYNAMIC = PLUGIN_VAR_RQCMDARG;

// A variable without a function of its own keeps the server's way to store it.
template <mysql_var_update_func function>
constexpr mysql_var_update_func OnSet() {
  if constexpr (function == &NONE) {
    return nullptr;
  } else {
    return function;
  }
}

#define VALUE(name) cairn::global_variables.name
#define GLOBAL_BOOL(name, mutability, value, on_set, text) \
  MYSQL_SYSVAR_BOOL(name, VALUE(name), mutability, text, nullptr, OnSet<&on_set>(), value);
#define GLOBAL_INT(name, mutability, value, min, max, on_set, text)                            \
  MYSQL_SYSVAR_INT(name, VALUE(name), mutability, text, nullptr, OnSet<&on_set>(), value, min, \
                   max, 0);
#define GLOBAL_UINT(name, mutability, value, min, max, on_set, text)                            \
  MYSQL_SYSVAR_UINT(name, VALUE(name), mutability, text, nullptr, OnSet<&on_set>(), value, min, \
                    max, 0);
#define GLOBAL_SIZE(name, mutability, value, min, max, block, on_set, text)                     \
  MYSQL_SYSVAR_ULONGLONG(name, VALUE(name), mutability, text, nullptr, OnSet<&on_set>(), value, \
                         min, max, block);
// What shows a fact points to a text of ours; the server owns the others.
#define GLOBAL_TEXT(name, mutability, value, on_set, text)                                    \
  MYSQL_SYSVAR_STR(name, VALUE(name),                                                         \
                   (mutability) == SHOWN ? (mutability) : (mutability) | PLUGIN_VAR_MEMALLOC, \
                   text, nullptr, OnSet<&on_set>(), value);
#define GLOBAL_ENUM(name, mutability, value, names, on_set, text)                          \
  EnumNames name##_names(names);                                                           \
  MYSQL_SYSVAR_ENUM(name, VALUE(name), mutability, text, nullptr, OnSet<&on_set>(), value, \
                    name##_names.typelib());
#define GLOBAL_NUMBER(name, mutability, value, min, max, block, on_set, text)                  \
  MYSQL_SYSVAR_LONGLONG(name, VALUE(name), mutability, text, nullptr, OnSet<&on_set>(), value, \
                        min, max, block);
#define GLOBAL_SHARE(name, mutability, value, min, max, on_set, text)                             \
  MYSQL_SYSVAR_DOUBLE(name, VALUE(name), mutability, text, nullptr, OnSet<&on_set>(), value, min, \
                      max, 0);
#define SESSION_INT(name, value, min, max, text) \
  MYSQL_THDVAR_INT(name, PLUGIN_VAR_RQCMDARG, text, nullptr, nullptr, value, min, max, 0);
#define SESSION_UINT(name, value, min, max, text) \
  MYSQL_THDVAR_UINT(name, PLUGIN_VAR_RQCMDARG, text, nullptr, nullptr, value, min, max, 0);
#define SESSION_TEXT(name, value, text) \
  MYSQL_THDVAR_STR(name, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_MEMALLOC, text, nullptr, nullptr, value);
#define SESSION_BOOL(name, value, text) \
  MYSQL_THDVAR_BOOL(name, PLUGIN_VAR_RQCMDARG, text, nullptr, nullptr, value);
#define SESSION_SWITCH(name, value, check, on_set, text) \
  MYSQL_THDVAR_BOOL(name, PLUGIN_VAR_RQCMDARG, text, &check, OnSet<&on_set>(), value);
#define SESSION_SIZE(name, value, min, max, text) \
  MYSQL_THDVAR_ULONGLONG(name, PLUGIN_VAR_RQCMDARG, text, nullptr, nullptr, value, min, max, 0);

#include "mariadb/variables.def"

// Waits as rocksdb_debug_manual_compaction_delay says; false when the statement is killed
// meanwhile.
bool WaitBeforeCompaction(THD* thd) {
  for (unsigned int ms = 0; ms / 1000 < global_variables.debug_manual_compaction_delay; ms += 100) {
    if (thd_killed(thd)) return false;
    my_sleep(100'000);
  }
  return true;
}

void CompactFamilyNow(THD* thd, SysVar*, void*, const void* value) {
  Engine* const engine = RunningEngine();
  const char* name = *static_cast<const char* const*>(value);
  if (engine == nullptr || name == nullptr || *name == '\0') return;
  Database& database = engine->database();
  const ColumnFamily* const family = database.families().Find(name);
  if (family == nullptr) {
    sql_print_warning("RocksDB: Column family '%s' not found.", name);
    my_error(ER_WRONG_VALUE_FOR_VAR, MYF(0), "rocksdb_compact_cf", name);
    return;
  }
  if (database.maintenance().manual_compactions_running() >=
      global_variables.max_manual_compactions) {
    my_error(
        ER_INTERNAL_ERROR, MYF(0),
        "Can't schedule more manual compactions. Increase rocksdb_max_manual_compactions or stop "
        "issuing more manual compactions.");
    return;
  }
  WithoutVariablesLock unlocked;
  sql_print_information("RocksDB: Manual compaction of column family: %s", name);
  // The first look at a session's variables takes that lock.
  const auto threads = static_cast<uint32_t>(THDVAR(thd, manual_compaction_threads));
  const Status compacted =
      WaitBeforeCompaction(thd) ? database.maintenance().Compact(*family, threads) : Status();
  if (!compacted.ok()) PushError(compacted);
}

}  // namespace

st_mysql_sys_var* system_variables[] = {
#define GLOBAL_BOOL(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_INT(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_UINT(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_SIZE(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_TEXT(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_ENUM(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_NUMBER(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_SHARE(name, ...) MYSQL_SYSVAR(name),
#define SESSION_INT(name, ...) MYSQL_SYSVAR(name),
#define SESSION_UINT(name, ...) MYSQL_SYSVAR(name),
#define SESSION_TEXT(name, ...) MYSQL_SYSVAR(name),
#define SESSION_BOOL(name, ...) MYSQL_SYSVAR(name),
#define SESSION_SWITCH(name, ...) MYSQL_SYSVAR(name),
#define SESSION_SIZE(name, ...) MYSQL_SYSVAR(name),
#include "mariadb/variables.def"
    nullptr};

TransactionSettings SessionTransactionSettings(THD* thd) {
  TransactionSettings settings;
  settings.lock_wait_timeout_ms = static_cast<int64_t>(THDVAR(thd, lock_wait_timeout)) * 1000;
  settings.deadlock_detect = THDVAR(thd, deadlock_detect);
  settings.deadlock_detect_depth = static_cast<int64_t>(THDVAR(thd, deadlock_detect_depth));
  settings.max_row_locks = THDVAR(thd, max_row_locks);
  settings.max_write_batch_bytes = THDVAR(thd, write_batch_max_bytes);
  settings.write_log = !THDVAR(thd, write_disable_wal);
  settings.fill_block_cache = !THDVAR(thd, skip_fill_cache);
  settings.lock_rows = thd->slave_thread || !THDVAR(thd, master_skip_tx_api);
  if (THDVAR(thd, commit_in_the_middle) || THDVAR(thd, bulk_load)) {
    settings.changes_per_piece = THDVAR(thd, bulk_load_size);
  }
  return settings;
}

bool SessionBulkLoads(THD* thd) { return THDVAR(thd, bulk_load); }

BulkLoadSettings SessionBulkLoadSettings(THD* thd) {
  BulkLoadSettings settings;
  settings.sort_rows = THDVAR(thd, bulk_load_allow_unsorted);
  settings.trace = THDVAR(thd, trace_sst_api);
  settings.sort.buffer_bytes = THDVAR(thd, merge_buf_size);
  settings.sort.merge_read_bytes = THDVAR(thd, merge_combine_read_size);
  settings.sort.removal_delay_ms = THDVAR(thd, merge_tmp_file_removal_delay_ms);
  const char* const directory = THDVAR(thd, tmpdir);
  settings.sort.directory = directory != nullptr && *directory != '\0'
                                ? directory
                                : RunningEngine()->database().directory();
  return settings;
}

Durability CommitDurability() {
  switch (global_variables.flush_log_at_trx_commit) {
    case 1:
      return Durability::kSync;
    case 2:
      return Durability::kWritten;
    default:
      return Durability::kDelayed;
  }
}

uint32_t FixedRangeRows(THD* thd, bool forced_index) {
  if (const uint32_t rows = THDVAR(thd, records_in_range)) return rows;
  const uint32_t forced_rows = THDVAR(thd, force_index_records_in_range);
  if (forced_index && forced_rows != 0) return forced_rows;
  return global_variables.debug_optimizer_n_rows;
}

bool SessionVerifiesChecksums(THD* thd) { return THDVAR(thd, verify_row_debug_checksums); }

bool SessionStoresChecksum(THD* thd) {
  if (!THDVAR(thd, store_row_debug_checksums)) return false;
  const int percent = THDVAR(thd, checksums_pct);
  return percent == 100 || my_rnd(&thd->rand) * 100 < percent;
}

bool SessionLocksScannedRows(THD* thd) { return THDVAR(thd, lock_scanned_rows); }

bool SessionAsksPrefixFilters(THD* thd) { return !THDVAR(thd, skip_bloom_filter_on_read); }

// 0 leaves the choice to the global variable, and there to the engine, which collects nothing.
PerfLevel SessionPerfLevel(THD* thd) {
  int level = THDVAR(thd, perf_context_level);
  if (level == 0) level = THDVAR(nullptr, perf_context_level);
  return level == 0 ? PerfLevel::kOff : static_cast<PerfLevel>(level);
}

bool SessionDeletesBlindly(THD* thd) {
  return THDVAR(thd, blind_delete_primary_key) && !thd->slave_thread;
}

bool SessionAllowsStatementLog(THD* thd) {
  return THDVAR(thd, unsafe_for_binlog) || (thd != nullptr && thd->slave_thread);
}

void ApplyToRunningEngine() {
  Engine* const engine = RunningEngine();
  engine->io_watchdog().SetLimit(std::chrono::seconds(global_variables.io_write_timeout));
  engine->upkeep().SetRecountRate(global_variables.stats_recalc_rate);
  if (!global_variables.pause_background_work) return;
  const Status paused = engine->database().maintenance().PauseBackgroundWork();
  if (!paused.ok()) sql_print_error("RocksDB: pausing: %s", paused.ToString().c_str());
}

void ResumeBackgroundWork() {
  Engine* const engine = RunningEngine();
  if (engine == nullptr || !global_variables.pause_background_work) return;
  const Status resumed = engine->database().maintenance().ContinueBackgroundWork();
  if (!resumed.ok()) sql_print_error("RocksDB: resuming: %s", resumed.ToString().c_str());
  global_variables.pause_background_work = false;
}

void ShowFacts() {
  static std::string revision;
  static std::string compressions;
  revision = RocksDbRevision();
  compressions = SupportedCompressions();
  global_variables.git_hash = revision.data();
  global_variables.supported_compression_types = compressions.data();
}

}  // namespace cairn
