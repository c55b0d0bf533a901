// What the engine keeps for each connection: its transaction, and how it is bound to the server's.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/metrics/perf_context.h"
#include "engine/txn/transaction.h"
#include "engine/txn/transaction_id.h"
#include "mariadb/bulk_loads.h"
#include "mariadb/open_tables.h"
#include "mariadb/session_list.h"

class THD;
struct handlerton;

namespace cairn {

class IndexBuild;
class SortMemory;

// Belongs to one connection and is used by its thread, but for commit_ordered.
class Session final : public WaitObserver {
 public:
  // The session of `thd`, made at the first call.
  static Session& Of(THD* thd);
  // Null when the connection never used the engine.
  static Session* Find(THD* thd);
  // Forgets and destroys the session; an open transaction is rolled back, a prepared one stays.
  static void Close(THD* thd);

  Transaction& transaction() { return transaction_; }

  // A statement is about to use tables of the engine: registers with the server's transaction and
  // starts ours. What the statement costs is added to the sums of its first table, `table` if it is
  // that; null: of none.
  void BeginStatement(const std::shared_ptr<OpenTable>& table);

  // What the session's thread costs from here on is collected, if the user wants that; a statement
  // that has begun goes on. The end adds it up.
  void BeginPerf();
  void EndPerf();
  // A row of this table was written; the table counts as changed once the transaction is committed.
  void NoteChange(const TableDefinition& table);

  // The rows of a copy of ALTER TABLE have the parents that its new foreign keys want. The next
  // copy may have the same name.
  void NoteCheckedCopy(const TableDefinition& copy) { checked_copy_ = FirstIndexOf(copy); }
  bool HasCheckedCopy(const TableDefinition& copy) const {
    return checked_copy_ == FirstIndexOf(copy);
  }

  BulkLoads& bulk_loads() { return bulk_loads_; }
  // What the partitions of the table that ALTER TABLE copies to share. The first of them says how
  // many bytes it is.
  std::shared_ptr<SortMemory> CopyMemory(uint64_t most_bytes);
  // The builds of indexes of the statement that is running, one for each table or partition whose
  // build has begun. They are there as long as somebody holds what this returns and they live.
  std::shared_ptr<std::vector<IndexBuild*>> IndexBuilds();

  // A temporary table of this connection is gone: its entries go when the transaction that may have
  // written some of them has ended.
  void DropTemporaryTable(std::shared_ptr<const TableDefinition> table);
  void TransactionCommitted();
  void TransactionEnded();

  // Bound while a handler call runs, so that waits for row locks end when the statement is killed.
  bool Interrupted() override;
  void WaitBegins() override;
  void WaitEnds() override;

  // XA PREPARE: the transaction is prepared under this name and no longer the session's, since the
  // server may give the name to others without a word (the end of a connection, its reset, a
  // replica). Errors: those of Transaction::Prepare().
  Status PrepareBranch(const TransactionId& id, Durability durability);
  // The name of the branch that the session has prepared, if the server's transaction is that one.
  std::optional<TransactionId> branch_to_decide() const;
  Status CommitBranch(const TransactionId& id, Durability durability);
  Status RollbackBranch(const TransactionId& id);

  // For any thread, while the session is in its list.
  SessionDescription Describe() const;

  // The client has been told of an error by the statement with this number, and is not to be told
  // again by it.
  void NoteReportedError(uint64_t query) { reported_in_query_ = query; }
  bool HasReportedError(uint64_t query) const { return reported_in_query_ == query; }

  // A statement has read something, which its transaction is to see again. One that locks rows and
  // has not may forget its snapshot. Where locking reads take what is committed last, there is none
  // to tell by that the statement, and the one that has called it, have read nothing.
  void NoteRead() { has_read_nothing_ = false; }
  bool MayForgetSnapshot() const {
    return has_read_nothing_ && !transaction_.has_writes() && !transaction_.TakesLatest();
  }

  // Whether the server's current transaction spans statements.
  bool in_explicit_transaction() const;

 private:
  explicit Session(THD* thd);
  static uint32_t FirstIndexOf(const TableDefinition& table) {
    return table.indexes.front().id.index_number;
  }
  void ReportWait();
  void ForgetBranch();

  THD* const thd_;
  Transaction transaction_;
  std::vector<std::shared_ptr<const TableDefinition>> forgotten_tables_;
  BulkLoads bulk_loads_;
  std::weak_ptr<SortMemory> copy_memory_;
  std::weak_ptr<std::vector<IndexBuild*>> index_builds_;
  const char* state_before_wait_ = nullptr;
  uint64_t reported_in_query_ = UINT64_MAX;
  bool has_read_nothing_ = false;  // Since the transaction began.
  PerfCollection perf_;
  std::shared_ptr<OpenTable> perf_table_;                       // Of the statement.
  std::vector<std::shared_ptr<TableCounters>> changed_tables_;  // By the transaction.
  uint32_t checked_copy_ = 0;                                   // No index has this number.
  std::optional<TransactionId> branch_;    // That the session has prepared last.
  mutable std::mutex shown_branch_mutex_;  // Guards shown_branch_.
  // The branch as it was prepared, for people; it may be decided by now.
  std::optional<TransactionDescription> shown_branch_;
  std::atomic<bool> read_only_{false};
  std::atomic<bool> locks_rows_{true};
};

extern handlerton* rocksdb_hton;

}  // namespace cairn
