#include "mariadb/cairn_plugin.h"

#include "mariadb/cairn_backup.h"
#include "mariadb/cairn_bypass_memtable.h"
#include "mariadb/cairn_format.h"
#include "mariadb/cairn_paced_compactions.h"
#include "mariadb/cairn_range_locks.h"
#include "mariadb/cairn_verify_reads.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

bool plugin_runs = false;  // Its variables have their values.

}  // namespace

st_mysql_sys_var* cairn_system_variables[] = {
    cairn_backup_expire_seconds_variable, cairn_backup_memtable_bytes_variable,
    cairn_bypass_memtable_variable,       cairn_format_variable,
    cairn_paced_compactions_variable,     cairn_range_locks_variable,
    cairn_verify_reads_variable,          nullptr};

void SettleCairnVariables() {
  if (!plugin_runs || RunningEngine() == nullptr) return;
  SettleCairnFormat();
  SettlePacedCompactions();
  SettleBackupVariables();
  const Status settled = SettleRangeLocks();
  if (!settled.ok()) {
    sql_print_error("RocksDB: cairn_range_locks=ON: %s: rows are locked one by one",
                    settled.ToString().c_str());
  }
}

int InitCairn(void*) {
  plugin_runs = true;
  SettleCairnVariables();
  return 0;
}

int DeinitCairn(void*) {
  plugin_runs = false;
  return 0;
}

}  // namespace cairn
