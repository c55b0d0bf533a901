// Indexes that are being built while others write to their table, as those who write see them.
//
// A build has two indexes for each that it makes: the one that will be the table's, and a delta,
// where writers put what changes meanwhile (table/index_delta.h). Both are marked as not yet built,
// so that a crash has both removed.
#pragma once

#include <array>
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
//
// Deltas have generations. What is written goes into the newest one. When a new one has begun and
// all transactions that wrote to the one before have ended, that one does not change any more, and
// for each row its entries come before those of later generations, as whoever changes a row has it
// locked.
class IndexBuildState {
 public:
  enum class Phase : uint8_t { kRunning, kAbandoned, kPublished };

  IndexBuildState(std::string table_name, std::vector<BuildingIndex> indexes);

  const std::string& table_name() const { return figures_->table_name(); }
  const std::vector<BuildingIndex>& indexes() const { return indexes_; }
  Phase phase() const { return phase_.load(); }
  // Its indexes are those of indexes().
  const std::shared_ptr<IndexBuildFigures>& figures() const { return figures_; }

  // A transaction may write entries of the generation that Enter() returns, unless phase(), which
  // it asks for afterwards, forbids that, and as long as the generation is the newest; and will not
  // any more: what it has written is committed, gone, or known to PreparedIndexes. Whoever is the
  // last to leave an abandoned build hands its indexes over to be removed.
  uint32_t Enter();
  void Leave(uint32_t generation, DroppedIndexes* dropped);
  // Of the generations that go on.
  uint64_t open_transactions() const { return writers_[0].load() + writers_[1].load(); }

  // The newest one. They count from 0.
  uint32_t generation() const { return generation_.load(); }
  // Begins the next one. By the build alone, once nobody writes to the one before the newest.
  void BeginGeneration();
  // Of the newest generation or the one before.
  uint64_t WritersOf(uint32_t generation) const { return writers_[generation % 2].load(); }

  // Writers stop adding entries; the indexes are removed when the last of them has left.
  void Abandon(DroppedIndexes* dropped);
  // The indexes are the table's. Nobody writes to it.
  void Publish() { phase_ = Phase::kPublished; }

 private:
  void DropIfUnused(DroppedIndexes* dropped);

  const std::vector<BuildingIndex> indexes_;
  std::atomic<Phase> phase_{Phase::kRunning};
  std::atomic<uint32_t> generation_{0};
  // Transactions that may write to the newest generation and to the one before, by its lowest bit.
  std::array<std::atomic<uint64_t>, 2> writers_{};
  std::atomic<bool> dropped_{false};
  const std::shared_ptr<IndexBuildFigures> figures_;
};

}  // namespace cairn
