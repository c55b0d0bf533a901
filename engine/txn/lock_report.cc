#include "engine/txn/lock_report.h"

#include <utility>

namespace cairn {

std::vector<LockDescription> ListLocks(const Database& database) {
  if (database.range_locks() != nullptr) return database.range_locks()->Locks();
  std::vector<LockDescription> locks;
  for (const auto& [family, lock] : database.rocksdb()->GetLockStatusData()) {
    locks.push_back({RangeOfKey(family, lock.key),
                     lock.exclusive ? LockMode::kExclusive : LockMode::kShared,
                     {lock.ids.begin(), lock.ids.end()}});
  }
  return locks;
}

std::vector<rocksdb::DeadlockPath> ListDeadlocks(const Database& database) {
  if (database.range_locks() != nullptr) return database.range_locks()->Deadlocks();
  return database.rocksdb()->GetDeadlockInfoBuffer();
}

void RememberDeadlocks(Database* database, uint32_t count) {
  database->rocksdb()->SetDeadlockInfoBufferSize(count);
  if (database->range_locks() != nullptr) database->range_locks()->SetRememberedDeadlocks(count);
}

}  // namespace cairn
