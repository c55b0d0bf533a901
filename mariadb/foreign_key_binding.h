// Joins the foreign keys of a table with the tables on their other sides.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/status.h"
#include "engine/table/foreign_key_check.h"

class THD;

namespace cairn {

// Those of `table`, open, as the dictionary has them. The definitions of other tables are read,
// each under a metadata lock that is held to the end of the statement. A child whose parent is
// missing, or does not fit, has none. `generation`: ForeignKeys::generation() from before. Errors:
// kLockTimeout, kInterrupted, those of Table::Open; kMetadataMismatch when a table has no index for
// a foreign key.
Result<std::shared_ptr<const BoundForeignKeys>> BindForeignKeys(
    THD* thd, const std::shared_ptr<const Table>& table, uint64_t generation);

// A foreign key that `child`, as it will be, is about to have. As above; `other` of the result is
// null when there is no parent.
Result<BoundForeignKey> BindNewForeignKey(THD* thd, const ForeignKeyRecord& key,
                                          const std::shared_ptr<const Table>& child);

}  // namespace cairn
