#include "mariadb/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/table/sorted_indexes.h"
#include "engine/txn/prepared_transactions.h"
#include "mariadb/cairn_range_locks.h"
#include "mariadb/cairn_variables.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/isolation.h"
#include "mariadb/lock_wait.h"
#include "mariadb/server_headers.h"
#include "mariadb/variables.h"
#include "mariadb/xid.h"

// The server has them for engines, but no header declares them.
extern "C" int thd_need_wait_reports(const MYSQL_THD thd);
extern "C" int thd_rpl_deadlock_check(MYSQL_THD thd, MYSQL_THD other_thd);

namespace cairn {
namespace {

// As much of a statement as ROCKSDB_TRX has room for, whatever its characters.
constexpr size_t kShownQueryBytes = 193 * 4 + 1;

}  // namespace

handlerton* rocksdb_hton = nullptr;

Session::Session(THD* thd) : thd_(thd), transaction_(&RunningEngine()->database()) {}

SessionDescription Session::Describe() const {
  SessionDescription description;
  description.transaction = transaction_.facts().Describe();
  if (description.transaction.state == TransactionState::kIdle) {
    std::lock_guard lock(shown_branch_mutex_);
    if (shown_branch_.has_value() && IsPrepared(RunningEngine()->database(), shown_branch_->name)) {
      description.transaction = *shown_branch_;
    }
  }
  description.thread_id = thd_get_thread_id(thd_);
  description.is_replication = thd_->slave_thread;
  description.bulk_loads = bulk_loads_.table_count();
  description.read_only = read_only_.load(std::memory_order_relaxed);
  description.skips_transaction_api = !locks_rows_.load(std::memory_order_relaxed);
  if (description.transaction.state == TransactionState::kIdle) return description;
  char query[kShownQueryBytes];
  description.query.assign(query, thd_query_safe(thd_, query, sizeof(query)));
  return description;
}

Session* Session::Find(THD* thd) {
  return static_cast<Session*>(thd_get_ha_data(thd, rocksdb_hton));
}

Session& Session::Of(THD* thd) {
  Session* session = Find(thd);
  if (session == nullptr) {
    session = new Session(thd);
    RunningEngine()->sessions().Add(session);
    thd_set_ha_data(thd, rocksdb_hton, session);
  }
  return *session;
}

void Session::Close(THD* thd) {
  Session* const session = Find(thd);
  if (session == nullptr) return;
  RunningEngine()->sessions().Remove(session);
  thd_set_ha_data(thd, rocksdb_hton, nullptr);
  const Status loaded = session->bulk_loads_.Finish();
  if (!loaded.ok()) {
    sql_print_error("RocksDB: Error %d finalizing last SST file while disconnecting: %s",
                    kErrorBulkLoad, loaded.ToString().c_str());
  }
  if (session->transaction_.started() && !session->transaction_.prepared()) {
    const Status rolled_back = session->transaction_.Rollback();
    if (!rolled_back.ok()) HandlerError(rolled_back);  // Logs it.
  }
  session->TransactionEnded();
  delete session;
}

Status Session::PrepareBranch(const TransactionId& id, Durability durability) {
  ForgetBranch();
  if (!transaction_.started()) return Status();
  // It has nothing that anybody could decide.
  if (!transaction_.has_writes() && transaction_.lock_count() == 0) return transaction_.Rollback();
  CAIRN_RETURN_IF_ERROR(transaction_.Prepare(id, durability));
  TransactionDescription prepared = transaction_.facts().Describe();
  transaction_.Detach();
  branch_ = id;
  std::lock_guard lock(shown_branch_mutex_);
  shown_branch_ = std::move(prepared);
  return Status();
}

void Session::ForgetBranch() {
  branch_.reset();
  std::lock_guard lock(shown_branch_mutex_);
  shown_branch_.reset();
}

std::optional<TransactionId> Session::branch_to_decide() const {
  if (!branch_.has_value() || !thd_->transaction->xid_state.is_explicit_XA()) return {};
  return ToTransactionId(*thd_->transaction->xid_state.get_xid()) == *branch_ ? branch_
                                                                              : std::nullopt;
}

Status Session::CommitBranch(const TransactionId& id, Durability durability) {
  Engine* const engine = RunningEngine();
  ForgetBranch();
  Status committed = CommitPrepared(&engine->database(), &engine->prepared_locks(), id,
                                    OnFailure::kTryAgain, durability);
  if (!committed.ok() || durability != Durability::kWritten) return committed;
  return engine->database().WriteLog().WithContext("the transaction is committed but may not last");
}

Status Session::RollbackBranch(const TransactionId& id) {
  Engine* const engine = RunningEngine();
  ForgetBranch();
  return RollbackPrepared(&engine->database(), &engine->prepared_locks(), id, OnFailure::kTryAgain);
}

void Session::DropTemporaryTable(std::shared_ptr<const TableDefinition> table) {
  forgotten_tables_.push_back(std::move(table));
  if (!transaction_.has_writes()) TransactionEnded();
}

void Session::NoteChange(const TableDefinition& table) {
  if (!changed_tables_.empty() && changed_tables_.back() == table.counters) return;
  const auto known = std::find(changed_tables_.begin(), changed_tables_.end(), table.counters);
  if (known == changed_tables_.end()) {
    changed_tables_.push_back(table.counters);
  } else {
    std::iter_swap(known, std::prev(changed_tables_.end()));
  }
}

void Session::TransactionCommitted() {
  if (!changed_tables_.empty()) {
    const int64_t now = static_cast<int64_t>(my_time(0));
    for (const auto& table : changed_tables_) {
      table->changed_at.store(now, std::memory_order_relaxed);
      // CREATE ... SELECT: until now others have seen nothing of the table, and a snapshot of
      // theirs would find it empty.
      if (table->made_by_query.load(std::memory_order_relaxed) ==
          static_cast<uint64_t>(thd_->query_id)) {
        RunningEngine()->dictionary().NoteRedefined(table.get());
      }
    }
  }
  TransactionEnded();
}

void Session::TransactionEnded() {
  changed_tables_.clear();
  if (forgotten_tables_.empty()) return;
  Engine* const engine = RunningEngine();
  for (const auto& table : forgotten_tables_) {
    // After an error the marks of the creation stay, and the next start removes the entries.
    const Status dropped = engine->dictionary().DropForgottenTable(*table);
    if (!dropped.ok()) {
      engine->database().log().Write(Severity::kWarning,
                                     "dropping a temporary table: " + dropped.ToString());
    }
  }
  forgotten_tables_.clear();
  engine->upkeep().RemoveDroppedIndexes();
}

bool Session::in_explicit_transaction() const {
  return thd_test_options(thd_, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN);
}

// KILL SOFT and max_statement_time count too: whoever waits can be ended at any time. A replica
// kills softly what it will apply again.
bool Session::Interrupted() { return thd_kill_level(thd_) != THD_IS_NOT_KILLED; }

// Shown by SHOW PROCESSLIST.
void Session::WaitBegins() {
  state_before_wait_ = thd_proc_info(thd_, "Waiting for row lock");
  transaction_.WaitBegins();
  if (thd_need_wait_reports(thd_)) ReportWait();
}

// The server notes in the binary log that the transaction had to wait. A replica that applies
// transactions in parallel and must commit this one before the one that holds the lock rolls that
// one back.
void Session::ReportWait() {
  thd_rpl_deadlock_check(thd_, nullptr);
  // Nobody else asks who it is.
  if (thd_->rgi_slave == nullptr && opt_binlog_commit_wait_count == 0) return;
  const SessionList& sessions = RunningEngine()->sessions();
  for (const uint64_t holder : transaction_.LockHolders()) {
    sessions.With(holder, [&](Session& other) { thd_rpl_deadlock_check(thd_, other.thd_); });
  }
}

void Session::WaitEnds() {
  transaction_.WaitEnds();
  thd_proc_info(thd_, state_before_wait_);
}

std::shared_ptr<SortMemory> Session::CopyMemory(uint64_t most_bytes) {
  std::shared_ptr<SortMemory> memory = copy_memory_.lock();
  if (memory == nullptr) copy_memory_ = memory = std::make_shared<SortMemory>(most_bytes);
  return memory;
}

std::shared_ptr<std::vector<IndexBuild*>> Session::IndexBuilds() {
  auto builds = index_builds_.lock();
  if (builds == nullptr) index_builds_ = builds = std::make_shared<std::vector<IndexBuild*>>();
  return builds;
}

void Session::BeginPerf() {
  if (!perf_.collects()) perf_.Begin(SessionPerfLevel(thd_));
}

void Session::EndPerf() {
  if (!perf_.collects()) return;
  const PerfFigures figures = perf_.End();
  RunningEngine()->database().perf_sums().Add(figures);
  if (perf_table_ != nullptr) perf_table_->perf.Add(figures);
  perf_table_.reset();
}

void Session::BeginStatement(const std::shared_ptr<OpenTable>& table) {
  // What the session has prepared is no longer its turn: the server lets no statement run before it
  // is decided or given up.
  if (branch_.has_value()) ForgetBranch();
  BeginPerf();
  if (perf_.collects() && perf_table_ == nullptr) perf_table_ = table;
  read_only_.store(thd_->tx_read_only, std::memory_order_relaxed);
  TransactionSettings settings = SessionTransactionSettings(thd_);
  settings.isolation = SessionIsolation(thd_);
  settings.autocommit = !in_explicit_transaction();
  settings.only_reads = OnlyReads(thd_, settings.autocommit);
  settings.lock_ranges = settings.repeat_reads = !AppliesRowEvents(thd_);
  if (!settings.autocommit && settings.isolation == IsolationLevel::kRepeatableRead) {
    settings.snapshot_conflicts = SessionSnapshotConflicts(thd_);
  }
  settings.verify_reads = SessionVerifiesReads(thd_);
  settings.prepares_locks = thd_->transaction->xid_state.is_explicit_XA();
  settings.lock_wait_timeout_ms = StatementLockWaitMs(thd_).value_or(settings.lock_wait_timeout_ms);
  transaction_.Start(settings);
  locks_rows_.store(transaction_.locks_rows(), std::memory_order_relaxed);
  transaction_.BeginStatement();
  has_read_nothing_ = !transaction_.has_snapshot();
  trans_register_ha(thd_, /*all=*/false, rocksdb_hton, 0);
  if (!settings.autocommit) trans_register_ha(thd_, /*all=*/true, rocksdb_hton, 0);
}

}  // namespace cairn
