// The FOREIGN KEY clauses of a statement that makes a table, read and checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/catalog/dictionary.h"
#include "engine/codec/foreign_key_record.h"
#include "engine/table/foreign_key_binding.h"

class Alter_info;
struct TABLE;
class Field;
class THD;

namespace cairn {

struct TableDescription;

// The name in the dictionary of a table as users know it.
std::string DictionaryNameOf(std::string_view database, std::string_view table);

// The names of the columns of one side.
std::vector<std::string> ColumnsOf(const ForeignKeyRecord& key,
                                   std::string ForeignKeyRecord::ColumnPair::*side);

// The columns of a side and the index that it goes by.
ForeignKeyBinding FindSide(const TableDescription& table, const std::vector<std::string>& names);

// The column of that name, without regard to case; null: none.
const Field* FindField(const TABLE& table, std::string_view name);

// Whether the types of two columns are equal but for the length of strings: what their layouts do
// not tell of that, such as the digits of a DECIMAL.
bool HaveEqualTypes(const Field& child, const Field& parent);

// Reads the clauses of CREATE TABLE, or those that ALTER TABLE adds, for a table whose name in the
// dictionary is `name` and that will be as `form`, which is described. Nobody writes to the parents
// from then on to the end of the statement (metadata lock SNW). A parent must fit; it may be
// missing with foreign_key_checks=0 alone. What is wrong is told in a warning, as with InnoDB.
// Returns 0 or a handler error: HA_ERR_CANNOT_ADD_FOREIGN, HA_ERR_FOUND_DUPP_KEY (a constraint of
// the database has that name), HA_WRONG_CREATE_OPTION, which is reported, also when a
// metadata lock was refused or a prepared transaction has changed a parent.
int ReadForeignKeys(THD* thd, const TABLE& form, const TableDescription& description,
                    const Alter_info& alter_info, TableLifetime lifetime, std::string_view name,
                    std::vector<ForeignKeyRecord>* keys);

// Whether the table that is about to be made fits those that name it as their parent, and nobody
// writes to these from now on. Returns as ReadForeignKeys.
int CheckWaitingChildren(THD* thd, const TABLE& form, const TableDescription& description,
                         uint64_t ttl_seconds, std::string_view name);

// Why the table cannot be a parent, whatever the foreign keys are; empty: it can. `ttl_seconds`:
// after which its rows expire.
std::string WhyNeverParent(uint64_t ttl_seconds);

// The same of a table that gets another name.
int CheckNewParent(THD* thd, std::string_view from, std::string_view to);

}  // namespace cairn
