// What the server says of isolation, for the engine's transactions.
#pragma once

#include "engine/txn/transaction.h"

class THD;

namespace cairn {

// READ UNCOMMITTED is read as READ COMMITTED: the engine has no version of a row that nobody has
// committed.
IsolationLevel SessionIsolation(THD* thd);

// Whether nothing that the current transaction reads can matter to what it changes, so that even at
// SERIALIZABLE its snapshot is enough: it is READ ONLY, a single statement that only reads, or a
// change of a definition.
bool OnlyReads(THD* thd, bool autocommit);

}  // namespace cairn
