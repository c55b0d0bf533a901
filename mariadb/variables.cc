#include "mariadb/variables.h"

#include <string>

#include "engine/store/rocksdb_status.h"
#include "mariadb/database_options.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"

namespace cairn {

GlobalVariables global_variables;

namespace {

// --- What SET GLOBAL does ----------------------------------------------------------------------------

using SysVar = st_mysql_sys_var;

void NONE(THD*, SysVar*, void*, const void*) {}  // Never called: stands for "no function".

void PushError(const Status& status) {
  my_error(ER_GET_ERRMSG, MYF(0), static_cast<int>(status.code()), status.ToString().c_str(),
           "ROCKSDB");
}

template <typename T>
void Store(void* variable, const void* value) {
  *static_cast<T*>(variable) = *static_cast<const T*>(value);
}

void SetBlockCacheSize(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned long long>(variable, value);
  ApplyBlockCacheSize();
}

template <typename T>
void ApplyDatabaseOption(const char* name, void* variable, const void* value) {
  if (Engine* engine = RunningEngine()) {
    const Status set = FromRocksDb(engine->database().rocksdb()->SetDBOptions(
        {{name, std::to_string(*static_cast<const T*>(value))}}));
    if (!set.ok()) {
      PushError(set);
      return;
    }
  }
  Store<T>(variable, value);
}

void SetDatabaseOptions(THD*, SysVar*, void* variable, const void* value) {
  if (variable == &global_variables.max_background_jobs) {
    ApplyDatabaseOption<int>("max_background_jobs", variable, value);
  } else if (variable == &global_variables.bytes_per_sync) {
    ApplyDatabaseOption<unsigned long long>("bytes_per_sync", variable, value);
  } else if (variable == &global_variables.wal_bytes_per_sync) {
    ApplyDatabaseOption<unsigned long long>("wal_bytes_per_sync", variable, value);
  }
}

void SetInfoLogLevel(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned long>(variable, value);
  ApplyInfoLogLevel();
}

void SetTtl(THD*, SysVar*, void* variable, const void* value) {
  Store<char>(variable, value);
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  engine->database().expiry().SetRemoves(global_variables.enable_ttl);
  engine->database().expiry().SetHides(global_variables.enable_ttl_read_filtering);
}

void SetSamplingPercent(THD*, SysVar*, void* variable, const void* value) {
  Store<unsigned int>(variable, value);
  if (Engine* engine = RunningEngine()) {
    engine->database().key_layouts().SetSamplingPercent(global_variables.table_stats_sampling_pct);
  }
}

void FlushMemtablesNow(THD*, SysVar*, void*, const void* value) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr || !*static_cast<const char*>(value)) return;
  const Status flushed = engine->database().FlushMemtables();
  if (!flushed.ok()) PushError(flushed);
}

void FlushAndCompactLevelZeroNow(THD* thd, SysVar* variable, void* to, const void* value) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr || !*static_cast<const char*>(value)) return;
  FlushMemtablesNow(thd, variable, to, value);
  const Status compacted = engine->database().CompactLevelZero();
  if (!compacted.ok()) PushError(compacted);
}

void RemoveDroppedIndexesNow(THD*, SysVar*, void*, const void* value) {
  Engine* const engine = RunningEngine();
  if (engine != nullptr && *static_cast<const char*>(value))
    engine->upkeep().RemoveDroppedIndexes();
}

void CompactFamilyNow(THD*, SysVar*, void*, const void* value) {
  Engine* const engine = RunningEngine();
  const char* name = *static_cast<const char* const*>(value);
  if (engine == nullptr || name == nullptr || *name == '\0') return;
  const ColumnFamily* const family = engine->database().FindFamily(name);
  if (family == nullptr) {
    my_error(ER_WRONG_VALUE_FOR_VAR, MYF(0), "rocksdb_compact_cf", name);
    return;
  }
  const Status compacted = engine->database().Compact(*family);
  if (!compacted.ok()) PushError(compacted);
}

// --- Declarations ------------------------------------------------------------------------------------

constexpr int FIXED = PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY;
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

// A TYPELIB over names that lie one after the other, each ended by a zero byte.
class EnumNames {
 public:
  explicit EnumNames(const char* names) {
    for (; *names != '\0'; names += lengths_[typelib_.count++] + 1) {
      names_[typelib_.count] = names;
      lengths_[typelib_.count] = static_cast<unsigned int>(strlen(names));
    }
    typelib_.name = "";
    typelib_.type_names = names_;
    typelib_.type_lengths = lengths_;
  }
  TYPELIB* typelib() { return &typelib_; }

 private:
  static constexpr int kMaxNames = 8;
  const char* names_[kMaxNames + 1] = {};
  unsigned int lengths_[kMaxNames + 1] = {};
  TYPELIB typelib_{};
};

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
#define GLOBAL_TEXT(name, mutability, value, on_set, text)                             \
  MYSQL_SYSVAR_STR(name, VALUE(name), mutability | PLUGIN_VAR_MEMALLOC, text, nullptr, \
                   OnSet<&on_set>(), value);
#define GLOBAL_ENUM(name, mutability, value, names, on_set, text)                          \
  EnumNames name##_names(names);                                                           \
  MYSQL_SYSVAR_ENUM(name, VALUE(name), mutability, text, nullptr, OnSet<&on_set>(), value, \
                    name##_names.typelib());
#define SESSION_BOOL(name, value, text) \
  MYSQL_THDVAR_BOOL(name, PLUGIN_VAR_RQCMDARG, text, nullptr, nullptr, value);
#define SESSION_SIZE(name, value, min, max, text) \
  MYSQL_THDVAR_ULONGLONG(name, PLUGIN_VAR_RQCMDARG, text, nullptr, nullptr, value, min, max, 0);

#include "mariadb/variables.def"

}  // namespace

st_mysql_sys_var* system_variables[] = {
#define GLOBAL_BOOL(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_INT(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_UINT(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_SIZE(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_TEXT(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_ENUM(name, ...) MYSQL_SYSVAR(name),
#define SESSION_BOOL(name, ...) MYSQL_SYSVAR(name),
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
  return settings;
}

bool SessionLocksScannedRows(THD* thd) { return THDVAR(thd, lock_scanned_rows); }

}  // namespace cairn
