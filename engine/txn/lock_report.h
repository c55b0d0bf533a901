// What is locked and what ended in a deadlock, whichever locks the database uses.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/locks/range_lock_table.h"
#include "engine/store/database.h"

namespace cairn {

std::vector<LockDescription> ListLocks(const Database& database);
// The last waiter of each was refused.
std::vector<rocksdb::DeadlockPath> ListDeadlocks(const Database& database);
// Keeps the latest so many deadlocks.
void RememberDeadlocks(Database* database, uint32_t count);

}  // namespace cairn
