#include "mariadb/cairn_backup.h"

#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "mdl.h"

namespace cairn {
namespace {

using Number = unsigned long long;

Number expire_seconds;
Number memtable_bytes;

void SetNumber(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  *static_cast<Number*>(variable) = *static_cast<const Number*>(value);
  SettleBackupVariables();
}

constexpr Number kExpireSeconds = 24 * 60 * 60;
constexpr Number kMemtableBytes = 64 << 20;

MYSQL_SYSVAR_ULONGLONG(backup_expire_seconds, expire_seconds, PLUGIN_VAR_RQCMDARG,
                       "How long the copy of the database that mariadb-backup has made in "
                       "rocksdb_datadir, and not removed, stays there. It also stays while a "
                       "session holds the tool's lock",
                       nullptr, SetNumber, kExpireSeconds, 1, ULONG_MAX, 0);
MYSQL_SYSVAR_ULONGLONG(backup_memtable_bytes, memtable_bytes, PLUGIN_VAR_RQCMDARG,
                       "About how much of memtables a backup finds when it takes its copy of the "
                       "database, while all commits wait: from BACKUP STAGE START to END they are "
                       "written to files early. 0: they are not",
                       nullptr, SetNumber, kMemtableBytes, 0, ULLONG_MAX, 0);

void PrepareForBackup() {
  if (Engine* const engine = RunningEngine()) engine->backup_watch().Begin();
}

void EndBackup() {
  if (Engine* const engine = RunningEngine()) engine->backup_watch().End();
}

}  // namespace

constinit st_mysql_sys_var* const cairn_backup_expire_seconds_variable =
    reinterpret_cast<st_mysql_sys_var*>(&mysql_sysvar_backup_expire_seconds);
constinit st_mysql_sys_var* const cairn_backup_memtable_bytes_variable =
    reinterpret_cast<st_mysql_sys_var*>(&mysql_sysvar_backup_memtable_bytes);

void SettleBackupVariables() {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return;
  engine->backup_watch().SetExpireSeconds(expire_seconds);
  engine->backup_watch().SetMemtableBytes(memtable_bytes);
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
