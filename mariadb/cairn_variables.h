// The values of the system variables of the plug-in CAIRN (cairn_variables.def).
#pragma once

#include <cstdint>

#include "engine/txn/transaction.h"

class THD;
struct st_mysql_sys_var;

namespace cairn {

// Written by SET GLOBAL under the server's lock, read without: each is one machine word. They have
// the values of the configuration before the engine starts, unless the plug-ins are installed by
// hand: an engine that starts before CAIRN finds the defaults.
inline char no_text[] = "";  // Of variables that are set to have something done: they keep it.
struct CairnVariables {
#define GLOBAL_BOOL(name, mutability, value, ...) char name = value;
#define GLOBAL_SIZE(name, mutability, value, ...) unsigned long long name = value;
#define GLOBAL_ENUM(name, mutability, value, ...) unsigned long name = value;
#define GLOBAL_TEXT(name, ...) char* name = no_text;
#include "mariadb/cairn_variables.def"
};
extern CairnVariables cairn_variables;

// cairn_verify_reads, for the statement that begins.
bool SessionVerifiesReads(THD* thd);
// cairn_snapshot_conflicts, for the same.
SnapshotConflicts SessionSnapshotConflicts(THD* thd);

// For the plug-in's declaration; ends with a null pointer.
extern st_mysql_sys_var* cairn_system_variables[];

}  // namespace cairn
