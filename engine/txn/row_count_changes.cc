#include "engine/txn/row_count_changes.h"

#include <algorithm>
#include <cstdlib>

namespace cairn {

RowCountChanges::Change& RowCountChanges::Find(const std::shared_ptr<TableCounters>& counters,
                                               Savepoint since) {
  const auto found = std::find_if(changes_.rbegin(), changes_.rend(), [&](const Change& change) {
    return change.counters == counters && change.since == since;
  });
  return found != changes_.rend() ? *found : changes_.emplace_back(Change{counters, since});
}

void RowCountChanges::Note(const TableDefinition& table, int64_t rows, Savepoint since) {
  Find(table.counters, since).statement_rows += rows;
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

void RowCountChanges::RollbackTo(Savepoint savepoint) {
  std::erase_if(changes_, [savepoint](const Change& change) {
    if (change.since < savepoint) return false;
    change.counters->row_count.Undo(change.told_rows, change.told_moves);
    return true;
  });
}

void RowCountChanges::Release(Savepoint first, Savepoint last, Savepoint before) {
  const auto stays = [&](const Change& change) {
    return change.since < first || change.since > last;
  };
  const auto released = std::stable_partition(changes_.begin(), changes_.end(), stays);
  const std::vector<Change> joining(released, changes_.end());
  changes_.erase(released, changes_.end());
  for (const Change& change : joining) {
    Change& into = Find(change.counters, before);
    into.statement_rows += change.statement_rows;
    into.told_rows += change.told_rows;
    into.told_moves += change.told_moves;
  }
}

void RowCountChanges::Commit() {
  for (Change& change : changes_) {
    change.counters->row_count.Keep(change.statement_rows, change.told_moves);
  }
  changes_.clear();
}

void RowCountChanges::Rollback() {
  for (Change& change : changes_) {
    change.counters->row_count.Undo(change.told_rows, change.told_moves);
  }
  changes_.clear();
}

}  // namespace cairn
