#include "mariadb/table_name.h"

#include <algorithm>

#include "mariadb/server_headers.h"

namespace cairn {
namespace {

// A name of nothing else is that of its file.
bool IsPlain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string DecodeFileName(std::string_view encoded) {
  std::string text(encoded);
  if (IsPlain(text)) return text;
  char decoded[NAME_LEN * 2 + 1];
  const uint length =
      filename_to_tablename(text.c_str(), decoded, sizeof(decoded), /*stay_quiet=*/true);
  return std::string(decoded, length);
}

}  // namespace

DictionaryNameParts SplitDictionaryName(std::string_view name) {
  constexpr std::string_view kPartition = "#P#";
  DictionaryNameParts parts;
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    parts.table = name;
    return parts;
  }
  parts.database = name.substr(0, dot);
  parts.table = name.substr(dot + 1);
  const size_t partition = parts.table.find(kPartition);
  if (partition != std::string_view::npos) {
    parts.partition = parts.table.substr(partition + kPartition.size());
    parts.table = parts.table.substr(0, partition);
  }
  return parts;
}

TableName DecodeTableName(std::string_view dictionary_name) {
  constexpr std::string_view kSubpartition = "#SP#";
  const DictionaryNameParts parts = SplitDictionaryName(dictionary_name);
  TableName name;
  name.schema = DecodeFileName(parts.database);
  name.table = DecodeFileName(parts.table);
  const size_t subpartition = parts.partition.find(kSubpartition);
  name.partition = DecodeFileName(parts.partition.substr(0, subpartition));
  if (subpartition != std::string_view::npos) {
    name.partition +=
        "/" + DecodeFileName(parts.partition.substr(subpartition + kSubpartition.size()));
  }
  return name;
}

std::string DescribeTableName(std::string_view dictionary_name) {
  const TableName name = DecodeTableName(dictionary_name);
  std::string text = name.schema + "." + name.table;
  if (!name.partition.empty()) text += " partition " + name.partition;
  return text;
}

}  // namespace cairn
