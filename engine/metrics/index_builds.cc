#include "engine/metrics/index_builds.h"

namespace cairn {

void IndexBuildList::Add(std::shared_ptr<const IndexBuildFigures> build) {
  const std::lock_guard lock(mutex_);
  running_.push_back(std::move(build));
}

void IndexBuildList::Remove(const IndexBuildFigures* build, End end) {
  ++(end == End::kFinished ? finished_ : abandoned_);
  const std::lock_guard lock(mutex_);
  std::erase_if(running_, [build](const auto& each) { return each.get() == build; });
}

std::vector<std::shared_ptr<const IndexBuildFigures>> IndexBuildList::Running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

}  // namespace cairn
