// The engine's side of the server's transaction coordinator: commit, rollback, two-phase commit,
// recovery.
#include "mariadb/handlerton.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/lsm/rocksdb_status.h"
#include "engine/monitor/engine_status.h"
#include "engine/txn/prepared_transactions.h"
#include "mariadb/cairn_backup.h"
#include "mariadb/ddl_recovery.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/handler_costs.h"
#include "mariadb/isolation.h"
#include "mariadb/savepoints.h"
#include "mariadb/session.h"
#include "mariadb/variables.h"
#include "mariadb/xid.h"

namespace cairn {
namespace {

// What commit_by_xid and rollback_by_xid answer, numbers of the X/Open XA specification.
constexpr int kXaOk = 0;
constexpr int kXaResourceManagerError = -3;
constexpr int kXaUnknownId = -4;

// With these XA COMMIT says that the branch can only be rolled back, which the server then has
// done.
bool IsRollbackOnly(uint error) {
  return error == ER_XA_RBROLLBACK || error == ER_XA_RBTIMEOUT || error == ER_XA_RBDEADLOCK;
}

int Commit(THD* thd, bool all) {
  Session* const session = Session::Find(thd);
  if (session == nullptr) return 0;
  if (!all && session->in_explicit_transaction()) {
    session->transaction().EndStatement();
    session->EndPerf();
    return 0;
  }
  session->BeginPerf();
  const std::optional<TransactionId> branch = session->branch_to_decide();
  const Status committed = branch.has_value() ? session->CommitBranch(*branch, CommitDurability())
                                              : session->transaction().Commit(CommitDurability());
  if (committed.ok()) session->TransactionCommitted();
  session->TransactionEnded();
  session->EndPerf();
  return CommitError(committed);
}

// Called in the order of the binary log under a lock of the server, once the binary log is durable,
// and perhaps by another connection's thread.
void CommitOrdered(THD* thd, bool) {
  Session* const session = Session::Find(thd);
  if (session != nullptr) session->transaction().CommitOrdered();
}

// The server asks before it forgets, with a file of its binary log, what it decided. What cannot be
// confirmed now is tried again when it asks the next time.
void CommitCheckpointRequest(void* cookie) {
  static std::mutex mutex;
  static std::vector<void*> unconfirmed;
  std::vector<void*> requests;
  {
    std::lock_guard lock(mutex);
    unconfirmed.push_back(cookie);
    requests.swap(unconfirmed);
  }
  Database& database = RunningEngine()->database();
  const Status durable = database.MakeCommitsDurable();
  if (durable.ok()) {
    for (void* const request : requests) commit_checkpoint_notify_ha(request);
    return;
  }
  database.log().Write(Severity::kError,
                       "the binary log cannot be checkpointed: " + durable.ToString());
  std::lock_guard lock(mutex);
  unconfirmed.insert(unconfirmed.end(), requests.begin(), requests.end());
}

int Rollback(THD* thd, bool all) {
  Session* const session = Session::Find(thd);
  if (session == nullptr) return 0;
  session->BeginPerf();
  Status rolled_back;
  if (all || !session->in_explicit_transaction()) {
    const std::optional<TransactionId> branch = session->branch_to_decide();
    rolled_back =
        branch.has_value() ? session->RollbackBranch(*branch) : session->transaction().Rollback();
    session->TransactionEnded();
  } else {
    rolled_back = session->transaction().RollbackStatement();
  }
  session->EndPerf();
  return CommitError(rolled_back);
}

// The server prepares when the binary log or another engine takes part, or for XA PREPARE.
int Prepare(THD* thd, bool all) {
  Session* const session = Session::Find(thd);
  if (session == nullptr) return 0;
  Transaction& transaction = session->transaction();
  if (!all && session->in_explicit_transaction()) return 0;
  // Whoever says XA PREPARE counts on it, with rocksdb_enable_2pc=OFF as well.
  const XID_STATE& state = thd->transaction->xid_state;
  if (state.is_explicit_XA() && thd_sql_command(thd) != SQLCOM_XA_COMMIT) {
    session->BeginPerf();
    const Status prepared =
        session->PrepareBranch(ToTransactionId(*state.get_xid()), CommitDurability());
    session->EndPerf();
    return CommitError(prepared);
  }
  if (!transaction.started() || !transaction.has_writes() || !global_variables.enable_2pc) return 0;
  session->BeginPerf();  // A statement's commit or rollback follows and ends the collection.
  // XA COMMIT ... ONE PHASE is in the binary log as an ordinary commit, by which recovery finds
  // what it has committed: not under the user's name.
  return CommitError(
      transaction.Prepare(ToTransactionId(thd->transaction->implicit_xid), CommitDurability()));
}

int Recover(XID* xids, uint capacity) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return 0;
  const std::vector<TransactionId> prepared = ListPreparedTransactions(&engine->database());
  // The server asks again after a full list, until it gets one that is not.
  static size_t position = 0;
  uint count = 0;
  for (; position < prepared.size() && count < capacity; ++position) {
    const TransactionId& id = prepared[position];
    XID& xid = xids[count++];
    xid.formatID = static_cast<long>(id.format);
    xid.gtrid_length = static_cast<long>(id.global.size());
    xid.bqual_length = static_cast<long>(id.branch.size());
    memcpy(xid.data, id.global.data(), id.global.size());
    memcpy(xid.data + id.global.size(), id.branch.data(), id.branch.size());
  }
  if (count < capacity) position = 0;
  return static_cast<int>(count);
}

// XA COMMIT and XA ROLLBACK of what this session has not prepared. The server ignores the answer
// and looks only at whether the statement has an error: if so it keeps the name, and the client may
// repeat the statement. Without a client, while the server recovers, the decision stands.
int DecideByXid(XID* xid, Status (*decide)(Database*, PreparedLocks*, const TransactionId&,
                                           OnFailure, Durability)) {
  Engine* const engine = RunningEngine();
  THD* const thd = current_thd;
  const int command = thd == nullptr ? SQLCOM_END : thd_sql_command(thd);
  const bool is_asked = command == SQLCOM_XA_COMMIT || command == SQLCOM_XA_ROLLBACK;
  // Such as that the binary log cannot be written. The branch stays, as the client is told.
  if (is_asked && thd->is_error() && !IsRollbackOnly(thd->get_stmt_da()->sql_errno())) {
    return kXaResourceManagerError;
  }
  const Status decided =
      decide(&engine->database(), &engine->prepared_locks(), ToTransactionId(*xid),
             is_asked ? OnFailure::kRemember : OnFailure::kTryAgain, Durability::kSync);
  if (decided.ok()) return kXaOk;
  if (decided.code() == StatusCode::kNotFound) return kXaUnknownId;
  engine->database().log().Write(Severity::kError,
                                 "deciding a prepared transaction: " + decided.ToString());
  if (is_asked) PushXaError(decided);
  return kXaResourceManagerError;
}

int CommitByXid(XID* xid) { return DecideByXid(xid, &CommitPrepared); }

int RollbackByXid(XID* xid) { return DecideByXid(xid, &RollbackPrepared); }

int CloseConnection(THD* thd) {
  Session::Close(thd);
  return 0;
}

// Called under a mutex of `thd` that keeps the session alive, by any thread.
void KillQuery(handlerton*, THD* thd, enum thd_kill_levels) {
  Session* const session = Session::Find(thd);
  if (session != nullptr) session->WakeUp();
}

int StartConsistentSnapshot(THD* thd) {
  // The server asks every engine, so that an error would also keep those from starting who do not
  // use this one.
  if (SessionIsolation(thd) == IsolationLevel::kReadCommitted) {
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_ISOLATION_LEVEL_WITH_CONSISTENT_SNAPSHOT,
                 "RocksDB: WITH CONSISTENT SNAPSHOT has no effect at this isolation level, where "
                 "each statement reads at a snapshot of its own");
    return 0;
  }
  Session& session = Session::Of(thd);
  session.BeginStatement(/*table=*/nullptr);
  session.transaction().PinSnapshot();
  return 0;
}

bool FlushLogs(handlerton*) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return false;
  const Status synced = engine->database().SyncLog();
  if (!synced.ok()) engine->database().log().Write(Severity::kError, synced.ToString());
  return !synced.ok();
}

bool ShowStatus(handlerton*, THD* thd, stat_print_fn* print, enum ha_stat_type type) {
  Engine* const engine = RunningEngine();
  if (type != HA_ENGINE_STATUS || engine == nullptr) return false;
  const auto row = [&](std::string_view kind, std::string_view name, std::string_view text) {
    return print(thd, kind.data(), static_cast<uint>(kind.size()), name.data(),
                 static_cast<uint>(name.size()), text.data(), static_cast<uint>(text.size()));
  };
  for (const StatusSection& section : DescribeEngineStatus(engine->database())) {
    if (row(section.type, section.name, section.text)) return true;
  }
  return row("FOREIGN KEYS", "", engine->foreign_key_errors().Describe());
}

handler* CreateHandler(handlerton* hton, TABLE_SHARE* share, MEM_ROOT* mem_root) {
  return new (mem_root) ha_rocksdb(hton, share);
}

int DropTable(handlerton*, const char* path) { return DropTableByPath(path); }

void DropDatabase(handlerton*, char* path) { DropTablesOfDatabase(path); }

}  // namespace

void InitHandlerton(handlerton* hton) {
  rocksdb_hton = hton;
  hton->create = CreateHandler;
  hton->drop_table = DropTable;
  hton->drop_database = DropDatabase;
  hton->check_version = CheckTableVersion;
  hton->signal_ddl_recovery_done = FinishDdlRecovery;
  hton->close_connection = TransactionCallback<CloseConnection>();
  hton->kill_query = KillQuery;
  hton->commit = TransactionCallback<Commit>();
  hton->rollback = TransactionCallback<Rollback>();
  hton->prepare = TransactionCallback<Prepare>();
  hton->recover = TransactionCallback<Recover>();
  hton->commit_by_xid = TransactionCallback<CommitByXid>();
  hton->rollback_by_xid = TransactionCallback<RollbackByXid>();
  hton->start_consistent_snapshot = TransactionCallback<StartConsistentSnapshot>();
  InitCosts(hton);
  InitSavepoints(hton);
  InitBackup(hton);
  hton->flush_logs = FlushLogs;
  hton->commit_ordered = TransactionCallback<CommitOrdered>();
  hton->commit_checkpoint_request = CommitCheckpointRequest;
  hton->show_status = ShowStatus;
  hton->flags = HTON_SUPPORTS_EXTENDED_KEYS | HTON_REQUIRES_CLOSE_AFTER_TRUNCATE |
                HTON_TRUNCATE_REQUIRES_EXCLUSIVE_USE;
}

}  // namespace cairn
