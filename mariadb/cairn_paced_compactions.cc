#include "mariadb/cairn_paced_compactions.h"

#include "mariadb/engine.h"
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

char paced_compactions = 1;

void SetPacedCompactions(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  *static_cast<char*>(variable) = *static_cast<const char*>(value);
  SettlePacedCompactions();
}

MYSQL_SYSVAR_BOOL(paced_compactions, paced_compactions, PLUGIN_VAR_OPCMDARG,
                  "Compactions that nobody waits for rest up to three times as long as they read "
                  "and write, so that "
                  "statements have the most of a slow disk; less when files wait to be merged, and "
                  "hardly on a fast "
                  "disk. OFF ends the rests; that each piece is waited for is up to "
                  "rocksdb_bytes_per_sync. Without "
                  "effect where rocksdb_rate_limiter_bytes_per_sec is set",
                  nullptr, SetPacedCompactions, true);

}  // namespace

constinit st_mysql_sys_var* const cairn_paced_compactions_variable =
    reinterpret_cast<st_mysql_sys_var*>(&mysql_sysvar_paced_compactions);

void SettlePacedCompactions() {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  if (IoPace* const pace = engine->database().pace()) pace->SetOn(paced_compactions != 0);
}

}  // namespace cairn
