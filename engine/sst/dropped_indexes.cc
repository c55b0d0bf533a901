#include "engine/sst/dropped_indexes.h"

#include <utility>

namespace cairn {

void DroppedIndexes::Add(IndexId id) {
  std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Set>(*current_);
  changed->insert(id);
  current_ = std::move(changed);
}

void DroppedIndexes::Remove(IndexId id) {
  std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Set>(*current_);
  changed->erase(id);
  current_ = std::move(changed);
}

std::shared_ptr<const DroppedIndexes::Set> DroppedIndexes::Get() const {
  std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace cairn
