#include "engine/sst/dropped_indexes.h"

#include <utility>

namespace cairn {

void DroppedIndexes::Add(IndexId id) {
  std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Set>(*current_);
  changed->insert(id);
  current_ = std::move(changed);
  if (!fronts_->contains(id)) return;
  auto fronts = std::make_shared<Fronts>(*fronts_);
  fronts->erase(id);
  fronts_ = std::move(fronts);
}

void DroppedIndexes::AddFront(IndexId id, Front front) {
  std::lock_guard lock(mutex_);
  if (current_->contains(id)) return;
  auto fronts = std::make_shared<Fronts>(*fronts_);
  (*fronts)[id] = std::move(front);
  fronts_ = std::move(fronts);
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

std::shared_ptr<const DroppedIndexes::Fronts> DroppedIndexes::GetFronts() const {
  std::lock_guard lock(mutex_);
  return fronts_;
}

}  // namespace cairn
