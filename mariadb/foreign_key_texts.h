// Foreign keys as the server and users are told of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/catalog/foreign_keys.h"
#include "engine/codec/table_layout.h"

struct st_foreign_key_info;
class THD;

namespace cairn {

// How names of constraints and columns are compared, and tables called.
ForeignKeyNames ServerNames();

// The name in quotes, as the session quotes names.
std::string QuotedName(THD* thd, std::string_view name);

// "`db`.`table`" of a name in the dictionary.
std::string QuotedTable(THD* thd, std::string_view dictionary_name);

// "CASCADE", "SET NULL", "NO ACTION" or "RESTRICT".
const char* TextOf(ForeignKeyAction action);

// "CONSTRAINT `name` FOREIGN KEY (`a`) REFERENCES `t` (`b`) ON DELETE CASCADE", as SHOW CREATE
// TABLE has it; a parent in another database than the child comes with its database.
std::string DescribeForeignKey(THD* thd, const ForeignKeyRecord& key);

// "`db`.`child`, CONSTRAINT ...": what errors 1451 and 1452 have in brackets.
std::string DescribeForeignKeyOfTable(THD* thd, const ForeignKeyRecord& key);

// "SELECT ... LEFT JOIN ...": gives the rows of the child that lack their parent.
std::string OrphanQuery(THD* thd, const ForeignKeyRecord& key);

// The tables of a foreign key, as far as they can be opened.
struct ForeignKeyLayouts {
  const TableLayout* child = nullptr;
  const TableLayout* parent = nullptr;
};

// What information_schema and the server's checks of ALTER TABLE are told; `parent_index` is the
// name of the index of the parent that it is bound to, empty for none. Lives as long as the
// statement's memory; null: there was none left.
st_foreign_key_info* MakeForeignKeyInfo(THD* thd, const ForeignKeyRecord& key,
                                        const ForeignKeyLayouts& tables,
                                        std::string_view parent_index);

}  // namespace cairn
