#include "engine/txn/row_count_changes.h"

#include <algorithm>
#include <cstdlib>

namespace cairn {

void RowCountChanges::Note(const TableDefinition& table, int64_t rows) {
  const auto found = std::find_if(changes_.begin(), changes_.end(), [&table](const Change& change) {
    return change.counters == table.counters;
  });
  Change& change = found != changes_.end() ? *found : changes_.emplace_back(Change{table.counters});
  change.statement_rows += rows;
}

void RowCountChanges::EndStatement() {
  for (Change& change : changes_) {
    if (change.statement_rows == 0) continue;
    change.counters->row_count.Add(change.statement_rows);
    change.told_rows += change.statement_rows;
    change.told_moves += static_cast<uint64_t>(std::abs(change.statement_rows));
    change.statement_rows = 0;
  }
}

void RowCountChanges::UndoStatement() {
  for (Change& change : changes_) change.statement_rows = 0;
}

void RowCountChanges::Commit() {
  EndStatement();
  for (Change& change : changes_) change.counters->row_count.Keep(change.told_moves);
  changes_.clear();
}

void RowCountChanges::Rollback() {
  for (Change& change : changes_) {
    change.counters->row_count.Undo(change.told_rows, change.told_moves);
  }
  changes_.clear();
}

}  // namespace cairn
