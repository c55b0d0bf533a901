// Qualifiers in the comments of tables and indexes: "name=value" tokens between semicolons.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cairn {

// The value of the first token `name=value`. Blanks count; a token with no value or with a second
// equals sign is none.
std::optional<std::string> FindInComment(std::string_view comment, std::string_view name);

// What stands behind "#P#" in a dictionary name: the partition, and the sub-partition if there is
// one.
std::optional<std::string_view> PartitionOf(std::string_view dictionary_name);

}  // namespace cairn
