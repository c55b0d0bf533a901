// What ALTER TABLE may do to a table with foreign keys, in place and by a copy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

struct TABLE;
class Alter_info;

namespace cairn {

// Whether the table, "db.name" in the dictionary, keeps what foreign keys need, as child and as
// parent: their columns, as they are, and an index of each side. Else false, and the reason is
// reported with my_error.
// `drops_index`: the statement drops one, which says what a column that is gone was needed for.
bool KeepsForeignKeys(const TABLE& table, const TABLE& altered_table, const Alter_info& info,
                      bool drops_index, std::string_view name);

// Old and new names of columns that the statement gives other ones.
std::map<std::string, std::string> RenamedColumns(const TABLE& table, const Alter_info& info);

// The numbers of the foreign keys that it drops.
std::vector<uint32_t> DroppedForeignKeys(const Alter_info& info, std::string_view name);

}  // namespace cairn
