// What the end or the change of a parent's row does to its children: ON DELETE and ON UPDATE with
// CASCADE and SET NULL.
//
// The actions follow the write of the row, foreign key by foreign key, by the position of the index
// that is referenced and then by name; RESTRICT takes its turn among them. A child's row is written
// by a TableWriter of its own, which asks what the child's other foreign keys want and lets the
// actions of its own children follow before the next row's turn comes. Neither triggers nor the
// binary log see any of it. Whatever fails, fails the row that it all began with, which the
// TableWriter of that row undoes together with what has followed.
//
// In a table with versions (ValidityColumns) a row that goes stays as one of the past, and a change
// leaves a row of the past behind, as by statements of the server. The time is that of the row that
// it all began with, where its table has versions too, so that a replica, which has that row's
// times, gets the same; else that of the statement.
//
// Limits are InnoDB's: at most 15 rows stand above one another, and no action changes a row of a
// table that a change above it is about (it may delete one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/child_columns.h"
#include "engine/table/foreign_key_check.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

class TableWriter;

// Used by one handler. Errors of all it does: those of ForeignKeyChecks and of TableWriter, whose
// kDuplicateKey in a child is kForeignDuplicateKey; kForeignKeyDepth.
class ForeignKeyActions {
 public:
  using Keys = ForeignKeyChecks::Keys;
  // Gives the foreign keys of a table that actions have come to.
  using Bind = std::function<Result<Keys>(const std::shared_ptr<const Table>& table)>;
  // Gives what makes the virtual columns of a table, one of whose indexes has such a column.
  using OpenColumns = std::function<Result<std::unique_ptr<ChildColumns>>(const Table& table)>;

  // Gives the time of the statement as ValidityColumns have it, for a row that is valid since
  // `start`: later than that where the statement's own time is not exact (on a replica).
  using Now = std::function<std::string(std::string_view start)>;

  // `database` and `known` outlive this.
  ForeignKeyActions(Database* database, const ForeignKeys* known, Bind bind,
                    OpenColumns open_columns, Now now);
  ~ForeignKeyActions();
  ForeignKeyActions(const ForeignKeyActions&) = delete;
  ForeignKeyActions& operator=(const ForeignKeyActions&) = delete;

  // A statement begins: tables that have changed are opened anew, and none is noted as changed.
  void BeginStatement();
  // It has ended: what it has opened is closed.
  void EndStatement();

  // A row of `table`, whose foreign keys are those of `checks`, is gone, or has been replaced by
  // `new_record` (else null): the actions of its children, and what RESTRICT has to say. The
  // records are complete. What `checks` fails with is told by it.
  Status Follow(Transaction* transaction, ForeignKeyChecks* checks, const Table& table,
                const uint8_t* old_record, const uint8_t* new_record);

  // How many rows stand above the one whose actions follow, that one counted; 0: none does.
  size_t depth() const { return chain_.size(); }

  // The tables whose rows have been changed since the statement began.
  const std::vector<std::shared_ptr<const Table>>& changed() const { return changed_; }
  // Valid after kForeignDuplicateKey: the child and the position of its index.
  const Table& duplicate_table() const { return *duplicate_table_; }
  uint32_t duplicate_index() const { return duplicate_index_; }

 private:
  // A row whose actions follow.
  struct Link {
    const std::string* table;
    bool is_update;
    std::string_view time;  // Empty: the table has no versions, or they do not tell.
  };
  // A child at one depth: what is done at greater depths does not touch it.
  struct Child;
  // One action of one row.
  struct Action;

  Status FollowKeys(Transaction* transaction, ForeignKeyChecks* checks, const Table& table,
                    const uint8_t* old_record, const uint8_t* new_record);
  Status Run(const Action& action);
  Status RunBatch(const Action& action, Child* child, bool* changed);
  Result<bool> CollectRows(const Action& action, Child* child);
  Status ChangeChild(const Action& action, Child* child, std::string_view key);
  Status WriteChild(const Action& action, Child* child, std::string_view key);
  Status EndChild(const Action& action, Child* child, std::string_view key, uint64_t hidden_key);
  static Result<std::optional<uint32_t>> TakenLongUnique(const Action& action, Child* child,
                                                         const std::vector<uint32_t>& indexes,
                                                         const uint8_t* record,
                                                         std::string_view key);
  Status UpdateChild(const Action& action, Child* child, std::string_view key, uint64_t hidden_key);
  Result<bool> IsPast(const Action& action, Child* child, std::string_view key);
  bool BeginVersion(Child* child);
  static void BindAssigned(const Action& action, Child* child);
  const std::string& Time(const Child& child);
  Result<bool> AssignChanged(const Action& action, Child* child);
  Status MakeNewColumns(const Action& action, Child* child, std::string_view key);
  static void NoteRefusal(const Action& action);
  static Status Refuse(const Action& action);
  Status RefuseDuplicate(const Action& action, const Child& child, uint32_t index);
  Result<Child*> ChildOf(const std::shared_ptr<const Table>& table);
  Result<std::unique_ptr<Child>> MakeChild(const std::shared_ptr<const Table>& table);
  Result<ChildColumns*> ColumnsOf(const Table& table);
  void NoteChanged(const std::shared_ptr<const Table>& table);

  Database* const database_;
  const ForeignKeys* const known_;
  const Bind bind_;
  const OpenColumns open_columns_;
  const Now now_;
  std::string time_;
  uint64_t generation_ = 0;  // Of the children.
  std::map<std::pair<size_t, std::string>, std::unique_ptr<Child>> children_;
  // Of tables, by name; of this statement.
  std::map<std::string, std::unique_ptr<ChildColumns>> columns_;
  std::vector<Link> chain_;
  std::vector<std::shared_ptr<const Table>> changed_;
  std::shared_ptr<const Table> duplicate_table_;
  uint32_t duplicate_index_ = 0;
};

}  // namespace cairn
