// The locks of a transaction as bytes, so that a prepared one has them again after a crash.
//
// Prepare writes them into the batch as a record of the data dictionary which the batch deletes
// again (docs/on-disk-format.md): they are in the log as long as the transaction is undecided, and
// nowhere afterwards.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/locks/range_lock_table.h"

namespace cairn {

// Of single keys or of ranges.
using LockList = std::map<KeySpan, LockMode>;

// The key of the record in `__system__`.
std::string LockListKey();
std::string EncodeLockList(const LockList& locks);
// Errors: kCorruption.
Result<LockList> DecodeLockList(std::string_view value);

}  // namespace cairn
