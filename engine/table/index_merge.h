// The second part of building indexes while others write: what they have left in the deltas goes
// into the indexes.
#pragma once

#include <chrono>
#include <cstdint>
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
// What is merged does not change any more: no row is locked for it, and no entry removed. A whole
// generation of a delta is given up when it is merged, and files without it are written from then
// on.
class IndexMerge {
 public:
  // `table` has the indexes of `state` among its own. All outlive this; `suspects` hears of unique
  // values that come twice.
  IndexMerge(Database* database, const Table* table, IndexBuildState* state,
             UniqueSuspects* suspects);

  // Merges until little is left, or as much comes as goes. Each round waits until the transactions
  // that have changed rows before it have ended, but for `longest_wait` at most: then the rest is
  // left to the last round. Errors: kInterrupted, those of Transaction::Commit, kCorruption.
  Status RunRounds(std::chrono::milliseconds longest_wait);
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
  // A generation of one delta that is being merged.
  struct Walk {
    std::string next_key;  // Where it goes on.
    std::string end;       // The first bytes behind it.
    std::string last_put;  // The unique value of the entry that was put last.
    bool ended = false;
  };

  Result<bool> WaitForWriters(std::chrono::milliseconds longest);
  void BeginGeneration();
  uint64_t Left() const;
  Status MergeGeneration(uint32_t generation);
  Status MergeBatch(const Index& index, Walk* walk);
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
  uint32_t next_generation_ = 0;  // Those before it are merged.
  std::string key_;               // Of the entry that is being merged, in the index.
};

}  // namespace cairn
