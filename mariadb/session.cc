#include "mariadb/session.h"

#include <utility>

#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/server_headers.h"
#include "mariadb/variables.h"

namespace cairn {

handlerton* rocksdb_hton = nullptr;

Session::Session(THD* thd) : thd_(thd), transaction_(&RunningEngine()->database()) {}

Session* Session::Find(THD* thd) {
  return static_cast<Session*>(thd_get_ha_data(thd, rocksdb_hton));
}

Session& Session::Of(THD* thd) {
  Session* session = Find(thd);
  if (session == nullptr) {
    session = new Session(thd);
    thd_set_ha_data(thd, rocksdb_hton, session);
  }
  return *session;
}

void Session::Close(THD* thd) {
  Session* const session = Find(thd);
  if (session == nullptr) return;
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

void Session::DropTemporaryTable(std::shared_ptr<const TableDefinition> table) {
  forgotten_tables_.push_back(std::move(table));
  if (!transaction_.has_writes()) TransactionEnded();
}

void Session::TransactionEnded() {
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

bool Session::Interrupted() { return thd_killed(thd_) != 0; }

// Shown by SHOW PROCESSLIST.
void Session::WaitBegins() { state_before_wait_ = thd_proc_info(thd_, "Waiting for row lock"); }

void Session::WaitEnds() { thd_proc_info(thd_, state_before_wait_); }

Status Session::BeginStatement() {
  const int level = thd_tx_isolation(thd_);
  if (level != ISO_READ_COMMITTED && level != ISO_REPEATABLE_READ) {
    my_error(ER_ISOLATION_MODE_NOT_SUPPORTED, MYF(0), tx_isolation_names[level]);
    return Status(StatusCode::kNotSupported);
  }
  TransactionSettings settings = SessionTransactionSettings(thd_);
  settings.isolation = level == ISO_READ_COMMITTED ? IsolationLevel::kReadCommitted
                                                   : IsolationLevel::kRepeatableRead;
  settings.autocommit = !in_explicit_transaction();
  transaction_.Start(settings);
  transaction_.BeginStatement();
  trans_register_ha(thd_, /*all=*/false, rocksdb_hton, 0);
  if (!settings.autocommit) trans_register_ha(thd_, /*all=*/true, rocksdb_hton, 0);
  return Status();
}

}  // namespace cairn
