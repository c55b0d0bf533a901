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
void ApplyStatisticsLevel();
void ApplyDeletionRate();
// False when the limit cannot become this one while the database is open.
[[nodiscard]] bool ApplyRateLimit(uint64_t bytes_per_s);
void ApplyCollectorControl(CollectorControl* control);
// How many deadlocks are remembered: as many as the user wants, but not without limit.
uint32_t RememberedDeadlocks();

}  // namespace cairn
