#include "engine/locks/table_claims.h"

#include <algorithm>

namespace cairn {

std::shared_ptr<TableClaims::Claimant> TableClaims::ClaimantOf(uint32_t index_number) const {
  const std::lock_guard guard(mutex_);
  const auto found = claimants_.find(index_number);
  return found == claimants_.end() ? nullptr : found->second;
}

bool TableClaims::Claim(const std::shared_ptr<Claimant>& claimant,
                        const std::vector<uint32_t>& index_numbers) {
  const std::lock_guard guard(mutex_);
  if (std::any_of(index_numbers.begin(), index_numbers.end(),
                  [this](uint32_t number) { return claimants_.contains(number); })) {
    return false;
  }
  for (const uint32_t number : index_numbers) {
    claimants_.emplace(number, claimant);
    claimant->indexes_.push_back(number);
  }
  claims_.store(claimants_.size(), std::memory_order_release);
  return true;
}

void TableClaims::Drop(Claimant* claimant) {
  if (!Stands(*claimant)) return;
  const std::lock_guard guard(mutex_);
  for (const uint32_t number : claimant->indexes_) claimants_.erase(number);
  claimant->indexes_.clear();
  ended_.fetch_add(1, std::memory_order_release);
  claims_.store(claimants_.size(), std::memory_order_release);
}

// The claims end last: until then nobody keeps a lock on what is being locked here.
void TableClaims::Exchange(Claimant* claimant) {
  if (!Stands(*claimant)) return;
  claimant->lock_noted_();
  Drop(claimant);
}

void TableClaims::Revoke(const std::shared_ptr<Claimant>& claimant) {
  const std::lock_guard guard(claimant->mutex_);
  Exchange(claimant.get());
}

void TableClaims::RevokeIndex(uint32_t index_number) {
  if (!any()) return;
  if (const std::shared_ptr<Claimant> claimant = ClaimantOf(index_number)) Revoke(claimant);
}

void TableClaims::RevokeAll() {
  if (!any()) return;
  std::vector<std::shared_ptr<Claimant>> all;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [number, claimant] : claimants_) all.push_back(claimant);
  }
  for (const std::shared_ptr<Claimant>& claimant : all) Revoke(claimant);
}

}  // namespace cairn
