// Rows of secondary entries that a scan fetches together, some entries ahead of the row that it
// gives.
//
// While a batch lasts, the scan stands on one of its rows, and its iterator behind the last of
// them. A statement may want few rows, so a scan begins with few, and each batch is larger than the
// one before.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/row_batch.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Used by one thread. Takes little room before it is used, and keeps its buffers for the next
// batch.
class RowPrefetch {
 public:
  // Whether the scan stands on a row of a batch.
  bool active() const { return row_ < rows_.size(); }
  // Whether the batch is of entries with one prefix (ReadNextExact()).
  bool exact() const { return exact_; }
  // Gives up the batch, and what is known of its end. The next one is a first one again.
  void Forget();

  // --- The next batch ---------------------------------------------------------------------------

  // Begins it; entries are added while WantsMore().
  void Begin(bool exact);
  bool WantsMore() const { return end_.ok() && rows_.size() < wanted_; }
  // For the primary key of the next row.
  RowBatch* rows() { return &rows_; }
  // It was added; `entry` is the key of the row's entry.
  void NoteRow(std::string_view entry);
  // There is none behind those that were added, for this reason.
  void NoteEnd(Status end) { end_ = std::move(end); }
  // Fetches the rows; the scan stands on the first one. Errors: why there is none.
  Status Fetch(Transaction* transaction, const ColumnFamily& family, Transaction::View view);

  // --- The current row, while active() ----------------------------------------------------------

  // Goes to the next row. False: the batch has no more; also when there was none.
  bool Step() { return ++row_ < rows_.size(); }
  std::string_view primary_key() const { return rows_.key(row_); }
  const std::string& entry() const { return entries_[row_]; }  // Its key in the index.
  Status status() const { return rows_.status(row_); }
  std::string_view value() const { return rows_.value(row_); }

 private:
  static constexpr size_t kFirstRows = 4;

  RowBatch rows_;
  size_t row_ = 0;  // The current one; behind the last one there is none.
  bool exact_ = false;
  size_t wanted_ = 0;                 // Rows of the batch that is being made.
  size_t next_wanted_ = kFirstRows;   // And of the one after it.
  std::vector<std::string> entries_;  // Keys of the rows' entries; its size only grows.
  Status end_;                        // What comes behind the batch, when that is known.
};

}  // namespace cairn
