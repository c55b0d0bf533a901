#include "engine/txn/joined_builds.h"

#include <algorithm>

namespace cairn {

Result<std::optional<uint32_t>> JoinedBuilds::Join(const std::shared_ptr<IndexBuildState>& build,
                                                   DroppedIndexes* dropped) {
  using Phase = IndexBuildState::Phase;
  uint32_t generation = build->generation();
  const bool joined = std::any_of(builds_.begin(), builds_.end(), [&](const Joined& other) {
    return other.build == build && other.generation == generation;
  });
  if (!joined) generation = build->Enter();
  const Phase phase = build->phase();
  if (!joined && phase == Phase::kRunning) builds_.push_back({build, generation});
  if (!joined && phase != Phase::kRunning) build->Leave(generation, dropped);
  if (phase == Phase::kPublished) {
    return Status(StatusCode::kInternal,
                  "table " + build->table_name() + " has more indexes than this statement knows");
  }
  if (phase == Phase::kAbandoned) return std::optional<uint32_t>();
  return std::optional<uint32_t>(generation);
}

void JoinedBuilds::Leave(DroppedIndexes* dropped) {
  for (const Joined& joined : builds_) joined.build->Leave(joined.generation, dropped);
  builds_.clear();
}

}  // namespace cairn
