#include "engine/txn/joined_builds.h"

#include <algorithm>

namespace cairn {

Result<bool> JoinedBuilds::Join(const std::shared_ptr<IndexBuildState>& build,
                                DroppedIndexes* dropped) {
  using Phase = IndexBuildState::Phase;
  const bool joined = std::find(builds_.begin(), builds_.end(), build) != builds_.end();
  if (!joined) build->Enter();
  const Phase phase = build->phase();
  if (!joined && phase == Phase::kRunning) builds_.push_back(build);
  if (!joined && phase != Phase::kRunning) build->Leave(dropped);
  if (phase == Phase::kPublished) {
    return Status(StatusCode::kInternal,
                  "table " + build->table_name() + " has more indexes than this statement knows");
  }
  return phase == Phase::kRunning;
}

void JoinedBuilds::Leave(DroppedIndexes* dropped) {
  for (const auto& build : builds_) build->Leave(dropped);
  builds_.clear();
}

}  // namespace cairn
