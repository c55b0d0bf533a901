// What an ALTER TABLE in place may do to a table with foreign keys.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

struct TABLE;
class Alter_inplace_info;

namespace cairn {

// Whether the table, "db.name" in the dictionary, keeps what foreign keys need, as child and as
// parent: their columns, as they are, and an index of each side. Else false, and the reason is
// reported with my_error.
bool KeepsForeignKeys(const TABLE& table, const TABLE& altered_table,
                      const Alter_inplace_info& info, std::string_view name);

// Old and new names of columns that the statement gives other ones.
std::map<std::string, std::string> RenamedColumns(const TABLE& table,
                                                  const Alter_inplace_info& info);

// The numbers of the foreign keys that it drops.
std::vector<uint32_t> DroppedForeignKeys(const Alter_inplace_info& info, std::string_view name);

}  // namespace cairn
