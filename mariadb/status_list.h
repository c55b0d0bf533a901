// What the lists of SHOW STATUS share.
#pragma once

#include <vector>

#include "engine/monitor/counters.h"
#include "mariadb/server_headers.h"

namespace cairn {

// The body of a SHOW_FUNC: gives the server names and values that live as long as the statement.
// The names outlive it. Nonzero without memory.
int ListCounters(THD* thd, const std::vector<Counter>& counters, st_mysql_show_var* list);

}  // namespace cairn
