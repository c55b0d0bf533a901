// Copies of the files by which the server knows a table, its .frm and .par, in the dictionary: how
// they come there. definition_restore.h has the way back.
//
// Names are those of the dictionary, with or without partition. A table of which no copy can be
// made here has none until it is opened: nothing is ever refused for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/codec/definition_copy_record.h"

class THD;
struct TABLE;

namespace cairn {

inline constexpr const char* kDefinitionFile = ".frm";
inline constexpr const char* kPartitionsFile = ".par";

// The server's file of a table; its working directory is the data directory.
std::string DefinitionFileOf(std::string_view name, const char* extension);

// The names of partitions that a .par file lists, as the dictionary has them ("p0",
// "p0#SP#p0sp0"), in its order; none: the bytes are not those of such a file.
std::optional<std::vector<std::string>> PartitionsIn(std::string_view file);

// Whether the dictionary has these partitions and no others.
bool HasPartitions(std::string_view table, const std::vector<std::string>& partitions);

// That of a table or partition that CREATE TABLE, or the copy of ALTER TABLE, makes of `form`. Of a
// partition that is not the first one it has the version alone: the dictionary has the rest.
std::optional<DefinitionCopy> DefinitionOfCreated(const TABLE& form, std::string_view name);

// That of a table after an ALTER TABLE in place, whose new definition lies in a file of the
// server's already. Null: it cannot be read.
std::shared_ptr<const DefinitionCopy> DefinitionOfAltered(const TABLE& altered,
                                                          std::string_view name);

// That of the table `name` is or belongs to, if the statement is EXCHANGE PARTITION, which changes
// no definition.
std::optional<DefinitionCopy> DefinitionOfExchanged(THD* thd, std::string_view name);

// Called when a table is opened: makes a copy of its definition if the dictionary has none of this
// version. Cheap otherwise. What goes wrong is logged.
void KeepDefinition(const TABLE& table, std::string_view name);

}  // namespace cairn
