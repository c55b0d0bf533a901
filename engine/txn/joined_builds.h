// The builds of indexes for which one transaction writes entries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/catalog/index_build_state.h"

namespace cairn {

// Part of a Transaction and used by its thread.
class JoinedBuilds {
 public:
  // The generation to which entries are to be written, if any: for the next entry alone, whose row
  // is locked. The build is joined then, and keeps what it makes until the transaction leaves it.
  // Errors: kInternal (a table has got a definition that is not its last).
  Result<std::optional<uint32_t>> Join(const std::shared_ptr<IndexBuildState>& build,
                                       DroppedIndexes* dropped);
  // What was written is committed, rolled back or known to PreparedIndexes.
  void Leave(DroppedIndexes* dropped);
  // Whether no build is joined.
  bool empty() const { return builds_.empty(); }

 private:
  struct Joined {
    std::shared_ptr<IndexBuildState> build;
    uint32_t generation;
  };
  // Transactions change few tables, and few generations begin while one goes on.
  std::vector<Joined> builds_;
};

}  // namespace cairn
