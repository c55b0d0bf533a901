// From system variables to the options RocksDB is opened with.
#pragma once

#include "engine/base/status.h"
#include "engine/store/database.h"

namespace cairn {

// Reads the global variables. Errors: kInvalidArgument for a value that nothing can be made of.
Result<DatabaseOptions> OptionsFromVariables();

// Carry a changed variable to the running engine.
void ApplyBlockCacheSize();
void ApplyInfoLogLevel();

}  // namespace cairn
