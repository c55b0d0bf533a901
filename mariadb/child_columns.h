// Virtual columns of tables that actions of foreign keys have come to, made by the server.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/child_columns.h"
#include "engine/table/table.h"

class Field;
class THD;
struct TABLE;

namespace cairn {

// Adds the stored columns that a virtual column of an open table depends on, by other virtual ones
// perhaps. `bases` has an entry for each column.
void AddBases(TABLE* table, const Field& field, std::vector<bool>* bases);

// Opens a TABLE of its own, which no other part of the statement sees. It is for statements of
// `thd` and keeps the table's definition in use: it goes before the statement's metadata locks do,
// one of which is on `child`. Errors: kMetadataMismatch.
Result<std::unique_ptr<ChildColumns>> OpenChildColumns(THD* thd, const Table& child);

}  // namespace cairn
