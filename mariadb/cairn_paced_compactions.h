// The variable cairn_paced_compactions.
#pragma once

class THD;
struct st_mysql_sys_var;

namespace cairn {

// Does what the variable says: called when the engine has started and when the plug-in CAIRN has,
// in either order.
void SettlePacedCompactions();

// SET GLOBAL cairn_paced_compactions.
void SetPacedCompactions(THD*, st_mysql_sys_var*, void* variable, const void* value);

}  // namespace cairn
