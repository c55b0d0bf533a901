// What a statement asks of all rows of one open table alike: with which locks it reads them, and
// which checks its writes make. Bound once, not asked row by row.
//
// Each fact is bound where it is final. What the server's lock on the table says is known when the
// statement begins. What writes ask of the session is bound with the first row: on a replica, an
// event brings its unique_checks along after the table was locked. What the optimizer may still
// change is bound with the first read of each scan. What is not final before the row is asked
// there: see the functions below the class.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/txn/action_counts.h"
#include "engine/txn/transaction.h"

class THD;
struct TABLE;

namespace cairn {

class Table;

// What the rows that a statement writes have in common. A SET of a function that the statement
// calls is for the next one.
struct WritePlan {
  bool unchecked = false;           // unique_checks=0, where it counts: see UniqueChecksAreOff().
  bool loads = false;               // rocksdb_bulk_load.
  bool asks_prefix_filters = true;  // Unless rocksdb_skip_bloom_filter_on_read.
  bool checks_foreign_keys = true;  // Unless foreign_key_checks=0.
  bool log_may_have_statement = false;  // See StatementLogNeedsLocks().
};

class StatementPlan {
 public:
  // The server locks the table, and says with that how rows are read: with `lock`, if any; and
  // whether they may decide what is written elsewhere, so that they are locked (shared) where plain
  // reads alone repeat.
  void SetLock(std::optional<LockMode> lock, bool skips_locked, bool feeds_changes) {
    lock_ = lock;
    skips_locked_ = skips_locked;
    feeds_changes_ = feeds_changes;
  }
  void LockExclusively() { lock_ = LockMode::kExclusive; }
  // The second handler of a statement that reads one table by several indexes.
  void TakeLockFrom(const StatementPlan& other) {
    SetLock(other.lock_, other.skips_locked_, other.feeds_changes_);
  }
  // The statement begins; the session's transaction has heard of it.
  void Begin(THD* thd, const Transaction& transaction);
  // A scan begins, or other columns are read.
  void ForgetScan() { wants_plain_rows_ = deletes_unread_ = std::nullopt; }

  const std::optional<LockMode>& lock() const { return lock_; }
  bool locks_rows() const { return lock_.has_value(); }
  bool locks_exclusively() const { return lock_ == LockMode::kExclusive; }
  // SKIP LOCKED: rows that others have locked are passed over.
  bool skips_locked() const { return skips_locked_; }
  // The rows are those that a replica's events name, and transactions before this one may not have
  // committed them yet (handler_applier.cc).
  bool rows_may_come_later() const { return applies_in_parallel_ && locks_exclusively(); }

  const WritePlan& Writes(THD* thd, const Table& table) {
    if (!writes_.has_value()) BindWrites(thd, table);
    return *writes_;
  }
  // Whether rows that were locked and do not match stay locked (rocksdb_lock_scanned_rows).
  bool KeepsScannedRows(THD* thd) {
    if (!keeps_scanned_rows_.has_value()) BindScannedRows(thd);
    return *keeps_scanned_rows_;
  }
  // Whether the statement reads one table for nothing but its rows.
  bool WantsPlainRows(THD* thd) {
    if (!wants_plain_rows_.has_value()) BindPlainRows(thd);
    return *wants_plain_rows_;
  }
  // Whether a DELETE needs nothing of the rows that it names by their primary keys but these keys,
  // so that it can do without reading them (rocksdb_blind_delete_primary_key).
  bool DeletesUnread(THD* thd, const TABLE& server_table, const Table& table) {
    if (!deletes_unread_.has_value()) BindDeletes(thd, server_table, table);
    return *deletes_unread_;
  }

  // How many rows actions of foreign keys had changed in the table when the statement began.
  void NoteActions(const ActionCounts::Counts& before) { actions_before_ = before; }
  const ActionCounts::Counts& actions_before() const { return actions_before_; }

  // Counts a row that was changed; returns the number of those so far.
  uint64_t CountChange() { return ++changed_rows_; }

 private:
  void BindWrites(THD* thd, const Table& table);
  void BindScannedRows(THD* thd);
  void BindPlainRows(THD* thd);
  void BindDeletes(THD* thd, const TABLE& server_table, const Table& table);

  std::optional<LockMode> lock_;
  bool skips_locked_ = false;
  bool feeds_changes_ = false;
  bool applies_in_parallel_ = false;
  std::optional<WritePlan> writes_;
  std::optional<bool> keeps_scanned_rows_;
  std::optional<bool> wants_plain_rows_;
  std::optional<bool> deletes_unread_;
  ActionCounts::Counts actions_before_;
  uint64_t changed_rows_ = 0;
};

// Whether the statement changes the row that is in the way of one which it writes (ON DUPLICATE KEY
// UPDATE, REPLACE). On a replica each event says so anew.
bool ChangesDuplicates(THD* thd);

// Whether the read of one row of the table is all that the statement does with tables. The
// optimizer says so right before that read.
bool ReadsOneRow(THD* thd, const TABLE& table);

// Whether the statement is an UPDATE or DELETE of one table with ORDER BY, whose use of an index's
// order the server does not tell. Asked while the optimizer compares ranges.
bool UpdatesInOrder(THD* thd);

// Whether the statement may give its table another definition, or copy its rows.
bool MayRedefineTable(THD* thd);

}  // namespace cairn
