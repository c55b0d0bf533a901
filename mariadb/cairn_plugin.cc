#include "mariadb/cairn_plugin.h"

#include "mariadb/cairn_backup.h"
#include "mariadb/cairn_format.h"
#include "mariadb/cairn_paced_compactions.h"
#include "mariadb/cairn_range_locks.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

bool plugin_runs = false;  // Its variables have their values.

}  // namespace

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
