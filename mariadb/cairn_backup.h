// What backups need of the server and give to it: the variables cairn_backup_*, the handlerton's
// calls around a backup, and the lock of mariadb-backup.
#pragma once

class THD;
struct handlerton;
struct st_mysql_sys_var;

namespace cairn {

// Does what the variables say: called when the engine has started and when the plug-in CAIRN has,
// in either order.
void SettleBackupVariables();

// SET GLOBAL of one of them.
void SetBackupVariable(THD*, st_mysql_sys_var*, void* variable, const void* value);

void InitBackup(handlerton* hton);

// Whether a session holds the user-level lock that mariadb-backup takes before it has a checkpoint
// made, and gives back when it has removed it. By any thread, also one that the server does not
// know.
bool IsBackupLockHeld();

}  // namespace cairn
