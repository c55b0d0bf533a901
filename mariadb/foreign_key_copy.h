// What becomes of foreign keys where ALTER TABLE copies the table: the copy is made with what is
// intended, which the dictionary carries out when the copy comes to its name
// (engine/catalog/foreign_key_plan.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/codec/foreign_key_record.h"
#include "engine/table/table.h"
#include "mariadb/table_description.h"

struct TABLE;
struct HA_CREATE_INFO;
class THD;

namespace cairn {

// Whether the statement makes the table `name`, "db.name" in the dictionary, in order to replace
// another by it.
bool IsCopyOfAlter(THD* thd, std::string_view name);

// The name that the table will have: for a copy the one that it replaces, or that RENAME says.
std::string NameOfCopied(THD* thd, const std::string& name);

// Refuses a copy that gets another name than a table whose name is encoded in those of files (x-y):
// the server would leave that table, with all its rows, beside the new one. Returns 0 or a handler
// error, reported.
int CheckRenameOfCopy(THD* thd, const std::string& copy);

// Whether the statement keeps the name of the table that it copies, so that those who reference it
// need not be looked at.
bool KeepsName(THD* thd, const std::string& copy);

// What is intended for the copy `name`, which will be as `form`. Returns 0 or a handler error, as
// ReadForeignKeys (foreign_key_clauses.h); HA_WRONG_CREATE_OPTION, reported, also when a foreign
// key that stays would lose what it needs.
int ReadForeignKeysOfCopy(THD* thd, const TABLE& form, const TableDescription& description,
                          const HA_CREATE_INFO& create_info, uint64_t ttl_seconds,
                          const std::string& name, std::vector<ForeignKeyRecord>* keys);

// Whether the rows of `child`, to which nobody writes, have their parents by new foreign keys: else
// a handler error, 1452 or why that cannot be told. Asks nothing with foreign_key_checks=0.
// `table` is the server's of the child, whose first record is written to; null: the values of a row
// without its parent are not told.
int CheckNewForeignKeys(THD* thd, const std::vector<ForeignKeyRecord>& added,
                        const std::shared_ptr<const Table>& child, TABLE* table);

// The same of a copy whose rows are there, by what is intended for it.
int CheckCopiedReferences(THD* thd, const std::shared_ptr<const Table>& copy, TABLE* table);

// The same of a copy, `from`, that is about to take its name, unless that was done.
int CheckUncheckedCopy(THD* thd, const std::string& from);

}  // namespace cairn
