#include "mariadb/cairn_range_locks.h"

#include "engine/txn/lock_report.h"
#include "mariadb/database_options.h"
#include "mariadb/engine.h"
#include "mariadb/isolation.h"
#include "mariadb/server_headers.h"
#include "mariadb/variables.h"

namespace cairn {
namespace {

char range_locks_value;

MYSQL_SYSVAR_BOOL(
    range_locks, range_locks_value, PLUGIN_VAR_OPCMDARG | PLUGIN_VAR_READONLY,
    "Locking reads at REPEATABLE READ and SERIALIZABLE lock the ranges where they look, so that "
    "nobody inserts there: no phantoms, SERIALIZABLE is serializable, and the binary log may hold "
    "statements. Costs concurrency. Off: they lock the rows that they find",
    nullptr, nullptr, false);

bool LocksRanges(THD* thd) {
  Engine* const engine = RunningEngine();
  return thd != nullptr && engine != nullptr && engine->database().range_locks() != nullptr &&
         SessionIsolation(thd) != IsolationLevel::kReadCommitted;
}

}  // namespace

constinit st_mysql_sys_var* const cairn_range_locks_variable =
    reinterpret_cast<st_mysql_sys_var*>(&mysql_sysvar_range_locks);

Status SettleRangeLocks() {
  Engine* const engine = RunningEngine();
  if (engine == nullptr || !range_locks_value) return Status();
  CAIRN_RETURN_IF_ERROR(engine->UseRangeLocks());
  RememberDeadlocks(&engine->database(), RememberedDeadlocks());
  return Status();
}

bool RangeLocksAllowStatementLog(THD* thd) { return LocksRanges(thd); }

bool StatementLogNeedsLocks(THD* thd) {
  if (!LocksRanges(thd)) return false;
  if (!mysql_bin_log.is_open() || !(thd->variables.option_bits & OPTION_BIN_LOG)) return false;
  return thd->variables.binlog_format != BINLOG_FORMAT_ROW;
}

}  // namespace cairn
