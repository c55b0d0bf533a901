#include "mariadb/cairn_variables.h"

#include "mariadb/cairn_backup.h"
#include "mariadb/cairn_format.h"
#include "mariadb/cairn_paced_compactions.h"
#include "mariadb/definition_restore.h"
#include "mariadb/enum_names.h"
#include "mariadb/server_headers.h"

namespace cairn {

CairnVariables cairn_variables;

namespace {

constexpr int FIXED = PLUGIN_VAR_READONLY;
constexpr int DYNAMIC = 0;
constexpr mysql_var_update_func NONE = nullptr;  // The server stores the value.

#define VALUE(name) cairn::cairn_variables.name
#define GLOBAL_BOOL(name, mutability, value, on_set, text)                                        \
  MYSQL_SYSVAR_BOOL(name, VALUE(name), PLUGIN_VAR_OPCMDARG | (mutability), text, nullptr, on_set, \
                    value);
#define GLOBAL_SIZE(name, mutability, value, min, max, on_set, text)                           \
  MYSQL_SYSVAR_ULONGLONG(name, VALUE(name), PLUGIN_VAR_RQCMDARG | (mutability), text, nullptr, \
                         on_set, value, min, max, 0);
#define GLOBAL_ENUM(name, mutability, value, names, on_set, text)                                 \
  EnumNames name##_names(names);                                                                  \
  MYSQL_SYSVAR_ENUM(name, VALUE(name), PLUGIN_VAR_RQCMDARG | (mutability), text, nullptr, on_set, \
                    value, name##_names.typelib());
#define GLOBAL_TEXT(name, mutability, value, on_set, text)                                       \
  MYSQL_SYSVAR_STR(name, VALUE(name), PLUGIN_VAR_NOCMDOPT | (mutability), text, nullptr, on_set, \
                   value);
#define SESSION_BOOL(name, value, text) \
  MYSQL_THDVAR_BOOL(name, PLUGIN_VAR_OPCMDARG, text, nullptr, nullptr, value);
#define SESSION_ENUM(name, value, names, text)                                \
  EnumNames name##_names(names);                                              \
  MYSQL_THDVAR_ENUM(name, PLUGIN_VAR_RQCMDARG, text, nullptr, nullptr, value, \
                    name##_names.typelib());

#include "mariadb/cairn_variables.def"

}  // namespace

bool SessionVerifiesReads(THD* thd) {
#ifdef CAIRN_ASSERTIONS
  (void)thd;
  return true;
#else
  return THDVAR(thd, verify_reads);
#endif
}

SnapshotConflicts SessionSnapshotConflicts(THD* thd) {
  return static_cast<SnapshotConflicts>(THDVAR(thd, snapshot_conflicts));
}

st_mysql_sys_var* cairn_system_variables[] = {
#define GLOBAL_BOOL(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_SIZE(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_ENUM(name, ...) MYSQL_SYSVAR(name),
#define GLOBAL_TEXT(name, ...) MYSQL_SYSVAR(name),
#define SESSION_BOOL(name, ...) MYSQL_SYSVAR(name),
#define SESSION_ENUM(name, ...) MYSQL_SYSVAR(name),
#include "mariadb/cairn_variables.def"
    nullptr};

}  // namespace cairn
