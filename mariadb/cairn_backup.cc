#include "mariadb/cairn_backup.h"

#include "mariadb/cairn_variables.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "mdl.h"

namespace cairn {
namespace {

void PrepareForBackup() {
  if (Engine* const engine = RunningEngine()) engine->backup_watch().Begin();
}

void EndBackup() {
  if (Engine* const engine = RunningEngine()) engine->backup_watch().End();
}

}  // namespace

void SettleBackupVariables() {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  engine->backup_watch().SetExpireSeconds(cairn_variables.backup_expire_seconds);
  engine->backup_watch().SetMemtableBytes(cairn_variables.backup_memtable_bytes);
}

void SetBackupVariable(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  *static_cast<unsigned long long*>(variable) = *static_cast<const unsigned long long*>(value);
  SettleBackupVariables();
}

void InitBackup(handlerton* hton) {
  hton->prepare_for_backup = PrepareForBackup;
  hton->end_backup = EndBackup;
}

bool IsBackupLockHeld() {
  my_thread_init();  // What looks into the server's table of locks is counted by thread.
  MDL_key key;
  key.mdl_key_init(MDL_key::USER_LOCK, "mariabackup_rocksdb_checkpoint", "");
  MDL_context context;
  const bool held = context.get_lock_owner(&key) != 0;
  context.destroy();
  my_thread_end();
  return held;
}

}  // namespace cairn
