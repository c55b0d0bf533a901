#include "mariadb/table_name.h"

#include "mariadb/server_headers.h"

namespace cairn {
namespace {

std::string DecodeFileName(std::string_view encoded) {
  const std::string text(encoded);
  char decoded[NAME_LEN * 2 + 1];
  const uint length =
      filename_to_tablename(text.c_str(), decoded, sizeof(decoded), /*stay_quiet=*/true);
  return std::string(decoded, length);
}

}  // namespace

TableName DecodeTableName(std::string_view dictionary_name) {
  TableName name;
  const size_t dot = dictionary_name.find('.');
  if (dot == std::string_view::npos) {
    name.table = DecodeFileName(dictionary_name);
    return name;
  }
  name.schema = DecodeFileName(dictionary_name.substr(0, dot));
  std::string_view rest = dictionary_name.substr(dot + 1);
  const size_t partition = rest.find("#P#");
  name.table = DecodeFileName(rest.substr(0, partition));
  if (partition == std::string_view::npos) return name;
  rest.remove_prefix(partition + 3);
  const size_t subpartition = rest.find("#SP#");
  name.partition = DecodeFileName(rest.substr(0, subpartition));
  if (subpartition != std::string_view::npos) {
    name.partition += "/" + DecodeFileName(rest.substr(subpartition + 4));
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
