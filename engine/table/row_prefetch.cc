#include "engine/table/row_prefetch.h"

#include <algorithm>
#include <utility>

namespace cairn {

void RowPrefetch::Forget() {
  rows_.Clear();
  row_ = 0;
  next_wanted_ = kFirstRows;
  end_ = Status();
}

void RowPrefetch::Begin(bool exact) {
  rows_.Clear();
  row_ = 0;
  exact_ = exact;
  wanted_ = std::exchange(next_wanted_, std::min(2 * next_wanted_, RowBatch::kMostRows));
}

void RowPrefetch::NoteRow(std::string_view entry) {
  if (entries_.size() < rows_.size()) entries_.resize(rows_.size());
  entries_[rows_.size() - 1].assign(entry);
}

Status RowPrefetch::Fetch(Transaction* transaction, const ColumnFamily& family,
                          Transaction::View view) {
  // The rows before an error come first.
  if (rows_.size() == 0) return std::exchange(end_, Status());
  rows_.Fetch(transaction, family, view);
  return Status();
}

}  // namespace cairn
