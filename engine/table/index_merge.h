// The second part of building indexes while others write: what they have left in the deltas goes
// into the indexes.
#pragma once

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
class IndexMerge {
 public:
  // `table` has the indexes of `state` among its own. All outlive this; `suspects` hears of unique
  // values that come twice.
  IndexMerge(Database* database, const Table* table, IndexBuildState* state,
             UniqueSuspects* suspects);

  // Merges until little is left, or as much comes as goes. A row is locked while its entry is
  // merged; one that somebody else has locked waits for the next round. Errors: kInterrupted, those
  // of Transaction::Commit, kCorruption.
  Status RunRounds();
  // Nobody writes to the table: merges everything. Errors as above.
  Status RunLastRound();

 private:
  enum class Locks : uint8_t { kRows, kNone };
  // Entries of one transaction, at most.
  static constexpr uint64_t kEntriesPerBatch = 1000;
  struct Index {
    uint32_t position;
    IndexDefinition delta;
    NewIndexFigures* figures;
  };
  // What a round has met in one delta.
  struct Walk {
    std::string next_key;  // Where it goes on.
    std::string last_put;  // The unique value of the entry that was put last.
    uint64_t met = 0;
    uint64_t left = 0;  // Of those: their rows are locked. UINT64_MAX: nobody knows how many.
    bool ended = false;
  };

  // Entries side by side in a delta, with the rows of most of them locked.
  struct Stretch {
    uint64_t most = kEntriesPerBatch;  // That the next one has.
    std::vector<std::string> keys;     // The first `locked` are those whose rows are.
    size_t locked = 0;
    std::string end;  // The first key behind them; empty: they are the last.
  };

  Result<uint64_t> RunRound(Locks locks);
  Status MergeBatch(const Index& index, Locks locks, Walk* walk);
  static void SeekTo(const std::string& key, OrderedIterator* delta);
  Status LockStretch(const Index& index, std::string* from);
  void SetKey(const TableIndex& index, std::string_view delta_key);
  Result<bool> LockRow(const TableIndex& index);
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
  Stretch stretch_;
  std::string delta_key_;  // Of the entry that is being merged.
  std::string key_;        // Of one of the delta's entries, in the index.
  std::string primary_key_;
};

}  // namespace cairn
