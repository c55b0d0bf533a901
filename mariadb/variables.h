// The values of the system variables (variables.def).
#pragma once

#include <cstdint>

#include "engine/metrics/perf_context.h"
#include "engine/table/bulk_load.h"
#include "engine/txn/transaction.h"

struct st_mysql_sys_var;
class THD;

namespace cairn {

// Global variables. Written by SET GLOBAL under the server's lock, read without: each is one
// machine word.
struct GlobalVariables {
#define GLOBAL_BOOL(name, ...) char name;
#define GLOBAL_INT(name, ...) int name;
#define GLOBAL_UINT(name, ...) unsigned int name;
#define GLOBAL_SIZE(name, ...) unsigned long long name;
#define GLOBAL_TEXT(name, ...) char* name;
#define GLOBAL_ENUM(name, ...) unsigned long name;
#define GLOBAL_NUMBER(name, ...) long long name;
#define GLOBAL_SHARE(name, ...) double name;
#include "mariadb/variables.def"
};
extern GlobalVariables global_variables;

// What the session's variables say about a transaction that starts now; isolation and autocommit
// are the caller's to fill in.
TransactionSettings SessionTransactionSettings(THD* thd);
// How durable a commit is, by rocksdb_flush_log_at_trx_commit.
Durability CommitDurability();
// The number of rows that the optimizer is told of every range; 0 when it is to be estimated.
uint32_t FixedRangeRows(THD* thd, bool forced_index);
// Whether the session verifies row checksums, and whether the row that it writes next gets one.
bool SessionVerifiesChecksums(THD* thd);
bool SessionStoresChecksum(THD* thd);
bool SessionLocksScannedRows(THD* thd);
// Whether reads of the session ask prefix filters.
bool SessionAsksPrefixFilters(THD* thd);
// How much of what the session's statements cost is to be collected.
PerfLevel SessionPerfLevel(THD* thd);
// Whether the session deletes rows without reading them where it can.
bool SessionDeletesBlindly(THD* thd);
// Whether changes by statement may go to the binary log.
bool SessionAllowsStatementLog(THD* thd);

// What variables say about the parts of a running engine that have no options. Called once it runs.
void ApplyToRunningEngine();
// Lets background work go on that the user paused: the engine cannot end without.
void ResumeBackgroundWork();
// Gives the variables that show facts their values. Called before any session exists.
void ShowFacts();
// Whether the session is in bulk-load mode, and how a load that begins now works.
bool SessionBulkLoads(THD* thd);
BulkLoadSettings SessionBulkLoadSettings(THD* thd);

// For the plug-in's declaration; ends with a null pointer.
extern st_mysql_sys_var* system_variables[];

}  // namespace cairn
