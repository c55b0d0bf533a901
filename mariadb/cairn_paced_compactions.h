// The variable cairn_paced_compactions.
#pragma once

struct st_mysql_sys_var;

namespace cairn {

extern st_mysql_sys_var* const cairn_paced_compactions_variable;

// Does what the variable says: called when the engine has started and when the plug-in CAIRN has,
// in either order.
void SettlePacedCompactions();

}  // namespace cairn
