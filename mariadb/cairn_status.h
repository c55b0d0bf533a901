// SHOW STATUS LIKE 'Cairn%': the condition of the engine now, for monitoring (docs/monitoring.md).
#pragma once

struct st_mysql_show_var;

namespace cairn {

// For the declaration of the plug-in CAIRN.
extern st_mysql_show_var cairn_status_variables[];

}  // namespace cairn
