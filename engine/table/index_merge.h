// The second part of building indexes while others write: what they have left in the deltas goes
// into the indexes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/index_build_state.h"
#include "engine/table/index_delta.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/table.h"
#include "engine/table/unique_suspects.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Belongs to one statement. The indexes have what the scan has seen. Each of their entries is put
// once and then removed by one SingleDelete, as those of any secondary index are
// (docs/stock-format.md, 1.4). Where only a file would tell whether there is one to remove, a
// SingleDelete goes there; one that meets nothing does no harm.
//
// Each round reads the deltas at a snapshot, which has of each row whatever was committed first. It
// begins a new generation before that, so that it walks no more than what was written since the
// round before, and what is left of older generations: those that transactions still write to are
// walked again, for what the snapshot before did not show. No row is locked, and no entry of a
// delta is deleted: a generation is given up as a whole, and files without it are written from then
// on.
class IndexMerge {
 public:
  // `table` has the indexes of `state` among its own. All outlive this; `suspects` hears of unique
  // values that come twice.
  IndexMerge(Database* database, const Table* table, IndexBuildState* state,
             UniqueSuspects* suspects);

  // Merges until little is left, or as much comes as goes. Waits for no lock, and for transactions
  // a moment at most. Errors: kInterrupted, those of Transaction::Commit, kCorruption.
  Status RunRounds();
  // Nobody writes to the table, and nobody will before the build has ended: merges everything.
  // Errors as above.
  Status RunLastRound();

 private:
  // Entries of one transaction, at most.
  static constexpr uint64_t kEntriesPerBatch = 1000;
  struct Index {
    uint32_t position;
    IndexDefinition delta;
    NewIndexFigures* figures;
    uint64_t written_before = 0;  // Entries of the generations before the newest, about.
  };
  // A generation that may get entries, or has some that are not merged.
  struct Generation {
    uint32_t number;
    bool walked = false;       // At the snapshot of the round before.
    bool has_writers = false;  // They may commit after the snapshot.
  };
  // What a round walks of one delta.
  struct Walk {
    std::string next_key;  // Where it goes on.
    std::string end;       // The first bytes behind it.
    std::string last_put;  // The unique value of the entry that was put last.
    bool again = false;    // What the snapshot before showed is merged.
    bool ended = false;
  };

  Status RunRound();
  void BeginGeneration();
  uint64_t Left() const;
  Status WaitForWriters(uint32_t generation);
  Status MergeGeneration(const Generation& generation);
  void GiveUpMerged();
  Status MergeBatch(const Index& index, Walk* walk);
  Result<bool> IsMerged(const OrderedIterator& delta, OrderedIterator* seen) const;
  bool MayBeThere(const TableIndex& index);
  Status MergeEntry(const Index& index, std::string_view value, OrderedIterator* others,
                    Walk* walk);
  Status NoteSuspect(const Index& index, const DeltaEntry& entry, OrderedIterator* others,
                     Walk* walk);

  Database* const database_;
  const Table* const table_;
  IndexBuildState* const state_;
  UniqueSuspects* const suspects_;
  std::vector<Index> indexes_;
  Transaction transaction_;
  std::vector<Generation> generations_;     // In order.
  std::unique_ptr<Transaction> seen_;       // The snapshot of the round before, or null.
  std::unique_ptr<Transaction> now_;        // That of this round.
  std::chrono::milliseconds longest_wait_;  // For transactions, in the next round.
  std::string key_;                         // Of the entry that is being merged, in the index.
};

}  // namespace cairn
