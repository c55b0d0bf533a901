#include "engine/catalog/index_build_state.h"

namespace cairn {

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
    dropped->Add(index.entry.id);
    dropped->Add(index.delta.id);
  }
}

}  // namespace cairn
