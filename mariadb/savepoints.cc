#include "mariadb/savepoints.h"

#include <cstring>

#include "mariadb/error.h"
#include "mariadb/server_headers.h"
#include "mariadb/session.h"

namespace cairn {
namespace {

// The server keeps as many bytes for us with each of its savepoints, at any address.
Savepoint LoadSavepoint(const void* place) {
  Savepoint savepoint;
  memcpy(&savepoint, place, sizeof(savepoint));
  return savepoint;
}

// The server asks only when the engine takes part in the transaction or, inside a function or
// trigger, in the statement that called it.
int SetSavepoint(THD* thd, void* place) {
  const Savepoint savepoint = Session::Of(thd).transaction().SetSavepoint();
  memcpy(place, &savepoint, sizeof(savepoint));
  return 0;
}

int RollbackToSavepoint(THD* thd, void* place) {
  Session& session = Session::Of(thd);
  Transaction& transaction = session.transaction();
  if (!transaction.started()) return 0;
  const Savepoint savepoint = LoadSavepoint(place);
  if (transaction.CommittedSince(savepoint) || session.bulk_loads().table_count() != 0) {
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_WARNING_NOT_COMPLETE_ROLLBACK,
                 "Rows that rocksdb_commit_in_the_middle has committed or rocksdb_bulk_load has "
                 "loaded since the savepoint stay");
  }
  return HandlerError(transaction.RollbackToSavepoint(savepoint));
}

// A savepoint that is set again leaves those between its old place and the new one; RELEASE
// SAVEPOINT and the end of a function or trigger take later ones along, of which the server does
// not speak.
int ReleaseSavepoint(THD* thd, void* place) {
  Transaction& transaction = Session::Of(thd).transaction();
  if (!transaction.started()) return 0;
  transaction.ReleaseSavepoint(LoadSavepoint(place), thd_sql_command(thd) == SQLCOM_SAVEPOINT
                                                         ? Savepoints::Later::kKeep
                                                         : Savepoints::Later::kRelease);
  return 0;
}

// Row locks outlive the rollback, and their tables are not to change under them; nor does a build
// of indexes end before the transactions that it counts.
bool MayReleaseMetadataLocks(THD* thd) {
  const Transaction& transaction = Session::Of(thd).transaction();
  return transaction.lock_count() == 0 && !transaction.has_joined_builds();
}

}  // namespace

void InitSavepoints(handlerton* hton) {
  hton->savepoint_offset = sizeof(Savepoint);
  hton->savepoint_set = TransactionCallback<SetSavepoint>();
  hton->savepoint_rollback = TransactionCallback<RollbackToSavepoint>();
  hton->savepoint_release = TransactionCallback<ReleaseSavepoint>();
  hton->savepoint_rollback_can_release_mdl = TransactionCallback<MayReleaseMetadataLocks>();
}

}  // namespace cairn
