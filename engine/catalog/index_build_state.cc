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

void IndexBuildState::Leave(DroppedIndexes* dropped) {
  --open_transactions_;
  DropIfUnused(dropped);
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
