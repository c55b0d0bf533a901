// Loads many rows of one table at once: their entries go to sorted files, which become part of the
// table together when the load is finished (rocksdb_bulk_load).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/metrics/memory_account.h"
#include "engine/sort/sort_settings.h"
#include "engine/table/table.h"

namespace cairn {

class ExternalSorter;
class SortedFiles;

struct BulkLoadSettings {
  bool sort_rows = false;  // Rows come in any order; else in key order or its reverse.
  SortSettings sort;
  bool trace = false;
};

// A row's entries are all in the load, whatever their index: a crash before Finish() leaves none of
// them, and no reader meets an entry without its row. Uniqueness is checked for the primary key
// alone. Nobody else may write to the table meanwhile: what he writes among the loaded rows is not
// seen.
//
// Belongs to one session; Enter(), Finish() and Discard() may be called from any thread.
class BulkLoad {
 public:
  // `table` has a declared primary key. `database` and `dictionary` outlive the load.
  BulkLoad(Database* database, const Dictionary* dictionary, std::shared_ptr<const Table> table,
           BulkLoadSettings settings);
  ~BulkLoad();  // Discards what is not finished.

  const std::shared_ptr<const Table>& table() const { return table_; }

  // Keeps the load from being finished while the entries of one row are added. Owns nothing when it
  // is finished already.
  std::unique_lock<std::mutex> Enter();

  // Within Enter(): the entry of an index; the primary key's comes first. Errors: kOutOfOrder and
  // kDuplicateKey (the row is left out, if it was the primary key's entry), kIoError, kNoSpace.
  Status Add(uint32_t index_position, std::string_view key, std::string_view value);

  // Puts all rows into the table; does nothing after the table was dropped, emptied, renamed or
  // written anew. A second call does nothing, and returns what the first has returned. Errors:
  // kOverlap (the table has rows among those of the load), kOutOfOrder, kDuplicateKey, kAborted (it
  // has other indexes by now), kIoError, kNoSpace; then no row of the load is in the table.
  Status Finish();
  // Forgets all rows.
  void Discard();

  bool finished() const { return finished_.load(std::memory_order_acquire); }
  // Memory that the rows take until they are in files.
  uint64_t buffered_bytes() const { return buffered_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Index;

  Index& IndexAt(uint32_t position);
  Result<bool> IsThere() const;
  Status FinishFiles();
  Status CheckOverlap(const SortedFiles& rows) const;

  Database* const database_;
  const Dictionary* const dictionary_;
  const std::shared_ptr<const Table> table_;
  const BulkLoadSettings settings_;
  std::mutex mutex_;                   // Guards what follows.
  std::vector<Index> indexes_;         // By position; made when the first entry comes.
  std::atomic<bool> finished_{false};  // Written under mutex_.
  Status outcome_;                     // Of Finish().
  std::atomic<uint64_t> buffered_bytes_{0};
  MemoryCharge memory_;
};

}  // namespace cairn
