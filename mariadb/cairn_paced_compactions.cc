#include "mariadb/cairn_paced_compactions.h"

#include "mariadb/cairn_variables.h"
#include "mariadb/engine.h"

namespace cairn {

void SettlePacedCompactions() {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  if (CompactionThrottle* const throttle = engine->database().throttle()) {
    throttle->SetOn(cairn_variables.paced_compactions != 0);
  }
}

void SetPacedCompactions(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  *static_cast<char*>(variable) = *static_cast<const char*>(value);
  SettlePacedCompactions();
}

}  // namespace cairn
