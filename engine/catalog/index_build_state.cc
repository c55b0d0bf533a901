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

// It counts before it looks which generation is the newest, and the build begins one before it
// counts: so either the build waits for it, or it sees the new one.
uint32_t IndexBuildState::Enter() {
  while (true) {
    const uint32_t generation = generation_.load();
    ++writers_[generation % 2];
    if (generation_.load() == generation) return generation;
    --writers_[generation % 2];
  }
}

void IndexBuildState::Leave(uint32_t generation, DroppedIndexes* dropped) {
  --writers_[generation % 2];
  DropIfUnused(dropped);
}

void IndexBuildState::BeginGeneration() { ++generation_; }

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
