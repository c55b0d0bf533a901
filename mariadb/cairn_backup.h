// What backups need of the server and give to it: the variables cairn_backup_*, the handlerton's
// calls around a backup, and the lock of mariadb-backup.
#pragma once

struct handlerton;
struct st_mysql_sys_var;

namespace cairn {

extern st_mysql_sys_var* const cairn_backup_expire_seconds_variable;
extern st_mysql_sys_var* const cairn_backup_memtable_bytes_variable;

// Does what the variables say: called when the engine has started and when the plug-in CAIRN has,
// in either order.
void SettleBackupVariables();

void InitBackup(handlerton* hton);

// Whether a session holds the user-level lock that mariadb-backup takes before it has a checkpoint
// made, and gives back when it has removed it. By any thread, also one that the server does not
// know.
bool IsBackupLockHeld();

}  // namespace cairn
