#include "engine/catalog/index_build_state.h"

#include <utility>

namespace cairn {
namespace {

std::vector<std::string> NamesOf(const std::vector<BuildingIndex>& indexes) {
  std::vector<std::string> names;
  names.reserve(indexes.size());
  for (const BuildingIndex& index : indexes) names.push_back(index.layout.name);
  return names;
}

}  // namespace

IndexBuildState::IndexBuildState(std::string table_name, std::vector<BuildingIndex> indexes)
    : indexes_(std::move(indexes)),
      figures_(std::make_shared<IndexBuildFigures>(std::move(table_name), NamesOf(indexes_))) {}

uint32_t IndexBuildState::Enter() {
  const std::lock_guard lock(mutex_);
  ++writers_[generation_];
  return generation_;
}

void IndexBuildState::Leave(uint32_t generation, DroppedIndexes* dropped) {
  {
    const std::lock_guard lock(mutex_);
    const auto count = writers_.find(generation);
    CAIRN_ASSERT(count != writers_.end());
    if (--count->second == 0) writers_.erase(count);
  }
  DropIfUnused(dropped);
}

uint64_t IndexBuildState::open_transactions() const {
  const std::lock_guard lock(mutex_);
  uint64_t open = 0;
  for (const auto& [generation, count] : writers_) open += count;
  return open;
}

void IndexBuildState::BeginGeneration() {
  const std::lock_guard lock(mutex_);
  ++generation_;
}

bool IndexBuildState::HasWriters(uint32_t generation) const {
  const std::lock_guard lock(mutex_);
  return writers_.contains(generation);
}

void IndexBuildState::Abandon(DroppedIndexes* dropped) {
  phase_ = Phase::kAbandoned;
  DropIfUnused(dropped);
}

// A transaction enters before it asks for the phase, and the phase is set before the transactions
// are counted: so either the transaction is counted here or it writes nothing.
void IndexBuildState::DropIfUnused(DroppedIndexes* dropped) {
  if (phase() != Phase::kAbandoned || open_transactions() != 0 || dropped_.exchange(true)) return;
  for (const BuildingIndex& index : indexes_) {
    dropped->Add(index.definition.id);
    dropped->Add(index.delta.id);
  }
}

}  // namespace cairn
