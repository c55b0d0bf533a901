// Indexes that are being built while others write to their table, as those who write see them.
//
// A build has two indexes for each that it makes: the one that will be the table's, and a delta,
// where writers put what changes meanwhile (table/index_delta.h). Both are marked as not yet built,
// so that a crash has both removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
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
// Deltas have generations, and what is written goes into the newest one. An entry may still come to
// an older one, from a transaction that entered it in time. For each row, entries of older
// generations were committed before those of newer ones: whoever changes a row has locked it before
// he asks which generation is the newest, and until his transaction ends.
//
// Mutex: mutex_ guards writers_, and generation_ where it is written.
class IndexBuildState {
 public:
  enum class Phase : uint8_t { kRunning, kAbandoned, kPublished };

  IndexBuildState(std::string table_name, std::vector<BuildingIndex> indexes);

  const std::string& table_name() const { return figures_->table_name(); }
  const std::vector<BuildingIndex>& indexes() const { return indexes_; }
  Phase phase() const { return phase_.load(); }
  // Its indexes are those of indexes().
  const std::shared_ptr<IndexBuildFigures>& figures() const { return figures_; }

  // A transaction enters before it writes entries: of the generation that this returns, as long as
  // that is the newest, and unless phase(), which it asks for afterwards, forbids it.
  uint32_t Enter();
  // The transaction writes no more: what it has written is committed, gone, or known to
  // PreparedIndexes. Whoever is the last to leave an abandoned build hands its indexes over to be
  // removed.
  void Leave(uint32_t generation, DroppedIndexes* dropped);
  // Counts a transaction once for each generation that it has entered and not left.
  uint64_t open_transactions() const;

  // The newest one. They count from 0.
  uint32_t generation() const { return generation_.load(); }
  // Begins the next one. By the build alone.
  void BeginGeneration();
  // Whether a transaction has entered it and not left. Of one that is not the newest: once nobody
  // has, nobody will.
  bool HasWriters(uint32_t generation) const;

  // Writers stop adding entries; the indexes are removed when the last of them has left.
  void Abandon(DroppedIndexes* dropped);
  // The indexes are the table's. Nobody writes to it.
  void Publish() { phase_ = Phase::kPublished; }

 private:
  void DropIfUnused(DroppedIndexes* dropped);

  const std::vector<BuildingIndex> indexes_;
  std::atomic<Phase> phase_{Phase::kRunning};
  mutable std::mutex mutex_;
  std::atomic<uint32_t> generation_{0};
  std::map<uint32_t, uint64_t> writers_;  // How many, by generation.
  std::atomic<bool> dropped_{false};
  const std::shared_ptr<IndexBuildFigures> figures_;
};

}  // namespace cairn
