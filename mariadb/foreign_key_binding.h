// Joins the foreign keys of a table with the tables on their other sides.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/foreign_key_check.h"
#include "mariadb/other_table.h"

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

// As `child` sees it, with `parent` for its parent, which may be null. Errors: kMetadataMismatch.
Result<BoundForeignKey> BindToParent(const ForeignKeys::Pointer& key, const Table& child,
                                     std::shared_ptr<const Table> parent);

// What a statement does to rows of a table.
struct RowChanges {
  bool deletes = false;
  bool updates = false;
};

// The tables that actions of foreign keys come to from the rows of one, and the children of all of
// these, found anew when foreign keys have changed. Used by one thread at a time.
class ReachedTables {
 public:
  // Takes the metadata locks of a statement that does so to rows of the table `name`, always the
  // same, so that none that it reaches gets another definition before the transaction ends. The
  // server does so itself for most of them, and only for statements of users. `generation`:
  // ForeignKeys::generation() from before. Errors: kDeadlock, kInterrupted; the server has reported
  // why.
  Status Lock(THD* thd, std::string_view name, RowChanges changes, uint64_t generation);

 private:
  struct Known {
    std::optional<uint64_t> generation;
    std::vector<std::pair<std::string, DefinitionLock>> tables;  // In the order of their names.
  };
  std::array<Known, 4> known_;  // By what is done to rows.
};

}  // namespace cairn
