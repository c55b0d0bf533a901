// Whether locking reads lock ranges of keys: the variable cairn_range_locks of the plug-in CAIRN.
#pragma once

#include "engine/base/status.h"

class THD;

namespace cairn {

// Does what the variable says, before any session uses the engine: called when the engine has
// started and when the plug-in CAIRN has, in either order. Errors: those of PreparedLocks::Take.
Status SettleRangeLocks();

// Whether the session applies changes of single rows, which say themselves which rows they are
// about.
bool AppliesRowEvents(THD* thd);

// Whether locking reads of this session lock ranges.
bool SessionLocksRanges(THD* thd);

// Whether statements of this session may be logged as they are: whatever decides which rows they
// change stays locked until their transaction is in the log.
bool RangeLocksAllowStatementLog(THD* thd);

// Whether rows that a statement only reads, to change others, are to be locked: a replica, or the
// next one who restores the log, will read them when it repeats the statement.
bool StatementLogNeedsLocks(THD* thd);

}  // namespace cairn
