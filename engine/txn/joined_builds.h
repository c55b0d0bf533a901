// The builds of indexes for which one transaction writes entries.
#pragma once

#include <memory>
#include <vector>

#include "engine/catalog/index_build_state.h"

namespace cairn {

// Part of a Transaction and used by its thread.
class JoinedBuilds {
 public:
  // Whether entries are to be written. The build is joined then, and keeps what it makes until the
  // transaction leaves it. Errors: kInternal (a table has got a definition that is not its last).
  Result<bool> Join(const std::shared_ptr<IndexBuildState>& build, DroppedIndexes* dropped);
  // What was written is committed, rolled back or known to PreparedIndexes.
  void Leave(DroppedIndexes* dropped);
  // Whether no build is joined.
  bool empty() const { return builds_.empty(); }

 private:
  std::vector<std::shared_ptr<IndexBuildState>> builds_;  // Transactions change few tables.
};

}  // namespace cairn
