// What one transaction did to the numbers of rows of tables.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/catalog/dictionary.h"
#include "engine/txn/savepoints.h"

namespace cairn {

// The tables' counters hear of it when a statement ends, and again when the transaction does. Every
// call to Note() is followed by one of the others.
class RowCountChanges {
 public:
  // The current statement added rows to a table or took them away; `since` is the transaction's
  // newest savepoint.
  void Note(const TableDefinition& table, int64_t rows, Savepoint since);
  void EndStatement();
  void RollbackTo(Savepoint savepoint);
  // The savepoints from `first` to `last` were released; `before` is the one before them.
  void Release(Savepoint first, Savepoint last, Savepoint before);
  void Commit();
  void Rollback();

 private:
  struct Change {
    std::shared_ptr<TableCounters> counters;
    Savepoint since = Savepoint::kBegin;
    int64_t statement_rows = 0;  // Of the current statement.
    int64_t told_rows = 0;       // That the counter knows of.
    uint64_t told_moves = 0;     // The sum of its steps, without signs.
  };

  Change& Find(const std::shared_ptr<TableCounters>& counters, Savepoint since);

  std::vector<Change> changes_;  // Transactions change few tables.
};

}  // namespace cairn
