// How a statement waits for row locks, beyond what the engine's own variables say.
#pragma once

#include <cstdint>
#include <optional>

class THD;

namespace cairn {

// What SELECT ... NOWAIT or WAIT n says, and SET STATEMENT lock_wait_timeout; nothing for other
// statements.
std::optional<int64_t> StatementLockWaitMs(THD* thd);

// Whether the statement changes data, so that rows which it only reads matter to what it writes.
bool ChangesData(THD* thd);

}  // namespace cairn
