// The variable cairn_bypass_memtable_bytes.
#pragma once

#include <cstdint>

struct st_mysql_sys_var;

namespace cairn {

extern st_mysql_sys_var* const cairn_bypass_memtable_variable;

// What it says: it has its value before the engine starts, unless both plug-ins are installed by
// hand.
uint64_t BypassMemtableBytes();

}  // namespace cairn
