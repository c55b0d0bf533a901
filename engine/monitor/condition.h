// The condition that the store is in now, and what it has done because reads asked for it, as
// figures that monitoring asks for: SHOW STATUS LIKE 'cairn%'.
#pragma once

#include <vector>

#include "engine/monitor/counters.h"

namespace cairn {

// Reads them all, one after the other: they need not agree with each other. Names lack "Cairn_".
std::vector<Counter> ReadCondition(const Database& database);

}  // namespace cairn
