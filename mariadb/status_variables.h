// SHOW STATUS LIKE 'Rocksdb%': the counters of the store (engine/metrics/counters.def).
#pragma once

struct st_mysql_show_var;

namespace cairn {

// For the plug-in's declaration.
extern st_mysql_show_var status_variables[];

}  // namespace cairn
