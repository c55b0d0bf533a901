#include "mariadb/cairn_range_locks.h"

#include "engine/txn/lock_report.h"
#include "mariadb/cairn_variables.h"
#include "mariadb/database_options.h"
#include "mariadb/engine.h"
#include "mariadb/isolation.h"
#include "mariadb/server_headers.h"
#include "mariadb/statement_plan.h"
#include "mariadb/variables.h"
#include "rpl_rli.h"

namespace cairn {
// The tables of a statement that the binary log has as such are not mapped.
bool AppliesRowEvents(THD* thd) {
  return thd->rgi_slave != nullptr && thd->rgi_slave->tables_to_lock_count > 0;
}

bool SessionLocksRanges(THD* thd) {
  Engine* const engine = RunningEngine();
  if (thd == nullptr || engine == nullptr || engine->database().range_locks() == nullptr) {
    return false;
  }
  return SessionIsolation(thd) != IsolationLevel::kReadCommitted;
}

Status SettleRangeLocks() {
  Engine* const engine = RunningEngine();
  if (engine == nullptr || !cairn_variables.range_locks) return Status();
  Status used = engine->UseRangeLocks();
  if (!used.ok()) {
    cairn_variables.range_locks = false;
    return used;
  }
  RememberDeadlocks(&engine->database(), RememberedDeadlocks());
  return Status();
}

bool RangeLocksAllowStatementLog(THD* thd) {
  if (!SessionLocksRanges(thd)) return false;
  const TransactionSettings settings = SessionTransactionSettings(thd);
  return settings.lock_rows && settings.changes_per_piece == 0 && !SessionBulkLoads(thd);
}

bool StatementLogNeedsLocks(THD* thd) {
  // A copy is the server's own doing, which a replica repeats on its own rows.
  if (!SessionLocksRanges(thd) || MayRedefineTable(thd)) return false;
  // Within functions and triggers the server takes OPTION_BIN_LOG away.
  if (!mysql_bin_log.is_open() || !thd->variables.sql_log_bin) return false;
  return thd->variables.binlog_format != BINLOG_FORMAT_ROW;
}

}  // namespace cairn
