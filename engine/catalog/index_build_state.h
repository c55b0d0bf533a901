// Indexes that are being built while others write to their table, as those who write see them.
//
// A build has two indexes for each that it makes: the one that will be the table's, and a delta,
// where writers put what changes meanwhile (table/index_delta.h). Both are marked as not yet built,
// so that a crash has both removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/catalog/index_definition.h"
#include "engine/codec/table_layout.h"
#include "engine/metrics/index_builds.h"
#include "engine/sst/dropped_indexes.h"

namespace cairn {

struct BuildingIndex {
  IndexDefinition definition;  // As the table will have it.
  IndexDefinition delta;       // In the same family.
  IndexLayout layout;          // Its columns are those of the table as it is.
};

// Thread-safe. All indexes that one statement builds in one table.
class IndexBuildState {
 public:
  enum class Phase : uint8_t { kRunning, kAbandoned, kPublished };

  IndexBuildState(std::string table_name, std::vector<BuildingIndex> indexes);

  const std::string& table_name() const { return figures_->table_name(); }
  const std::vector<BuildingIndex>& indexes() const { return indexes_; }
  Phase phase() const { return phase_.load(); }
  // Its indexes are those of indexes().
  const std::shared_ptr<IndexBuildFigures>& figures() const { return figures_; }

  // A transaction may write entries from now on, unless phase(), which it asks for afterwards,
  // forbids that; and will not any more: what it has written is committed or gone. Whoever is the
  // last to leave an abandoned build hands its indexes over to be removed.
  void Enter() { ++open_transactions_; }
  void Leave(DroppedIndexes* dropped);
  uint64_t open_transactions() const { return open_transactions_.load(); }

  // Writers stop adding entries; the indexes are removed when the last of them has left.
  void Abandon(DroppedIndexes* dropped);
  // The indexes are the table's. Nobody writes to it.
  void Publish() { phase_ = Phase::kPublished; }

 private:
  void DropIfUnused(DroppedIndexes* dropped);

  const std::vector<BuildingIndex> indexes_;
  std::atomic<Phase> phase_{Phase::kRunning};
  std::atomic<uint64_t> open_transactions_{0};
  std::atomic<bool> dropped_{false};
  const std::shared_ptr<IndexBuildFigures> figures_;
};

}  // namespace cairn
