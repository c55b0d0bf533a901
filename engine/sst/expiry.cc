#include "engine/sst/expiry.h"

#include <utility>

#include "rocksdb/env.h"
#include "rocksdb/system_clock.h"

namespace cairn {

void Expiry::Add(const Rules& rules) {
  if (rules.empty()) return;
  std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Rules>(*rules_);
  for (const auto& [id, rule] : rules) changed->insert_or_assign(id, rule);
  rules_ = std::move(changed);
}

void Expiry::Remove(IndexId id) {
  std::lock_guard lock(mutex_);
  if (!rules_->contains(id)) return;
  auto changed = std::make_shared<Rules>(*rules_);
  changed->erase(id);
  rules_ = std::move(changed);
}

std::shared_ptr<const Expiry::Rules> Expiry::Get() const {
  std::lock_guard lock(mutex_);
  return rules_;
}

std::optional<uint64_t> Expiry::CompactionTime() const {
  rocksdb::DB* const db = db_.load();
  if (db == nullptr) return std::nullopt;
  uint64_t oldest_snapshot = 0;
  if (!db->GetIntProperty(rocksdb::DB::Properties::kOldestSnapshotTime, &oldest_snapshot)) {
    return std::nullopt;
  }
  return oldest_snapshot != 0 ? oldest_snapshot : NowSeconds(db);
}

uint64_t NowSeconds(rocksdb::DB* db) {
  int64_t now = 0;
  // A clock that fails shows the beginning of time, at which nothing has expired.
  db->GetEnv()->GetSystemClock()->GetCurrentTime(&now).PermitUncheckedError();
  return static_cast<uint64_t>(now);
}

}  // namespace cairn
