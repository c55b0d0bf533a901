// Which formats new tables may use: the variable cairn_format of the plug-in CAIRN, and what
// follows from it.
#pragma once

#include <cstdint>

class THD;
struct st_mysql_sys_var;

namespace cairn {

// Whether new tables and indexes may need the Cairn format, which the stock plug-in refuses.
bool AllowsCairnFormat();

// Reports with my_error that `features` (IndexFeature bits) need the Cairn format, and how to allow
// it. Returns a handler error code, for CREATE and ALTER TABLE.
int RefuseCairnFeature(uint32_t features);

// The variable and the directory agree from now on: a value from the command line or a
// configuration file is remembered in the directory, else the variable gets the directory's. Called
// when the engine and the plug-in CAIRN have started.
void SettleCairnFormat();

// SET GLOBAL cairn_format.
void SetCairnFormat(THD* thd, st_mysql_sys_var*, void* variable, const void* value);

}  // namespace cairn
