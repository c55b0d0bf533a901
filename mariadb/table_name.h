// The names that users know of a table in the dictionary.
#pragma once

#include <string>
#include <string_view>

namespace cairn {

// The parts of "db.table[#P#part]", file-name encoded as they are; an empty partition when it has
// none.
struct DictionaryNameParts {
  std::string_view database;
  std::string_view table;
  std::string_view partition;
};
DictionaryNameParts SplitDictionaryName(std::string_view name);

struct TableName {
  std::string schema;
  std::string table;
  std::string partition;  // "p0" or "p0/p0sp1"; empty: the table has none.
};

// Splits "db.table[#P#part[#SP#subpart]]" and decodes its parts from the encoding of file names.
// What cannot be decoded stays as it is.
TableName DecodeTableName(std::string_view dictionary_name);

// "db.table", and " partition p0" where it has one: for messages.
std::string DescribeTableName(std::string_view dictionary_name);

}  // namespace cairn
