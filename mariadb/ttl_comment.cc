#include "mariadb/ttl_comment.h"

#include <cstdlib>
#include <string>

#include "mariadb/comment_qualifier.h"
#include "mariadb/error.h"
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

// The partition's own value, else that of the table. While partitions are reorganised, the new ones
// bear names with a mark at the end.
std::optional<std::string> FindQualifier(const TABLE& table, std::string_view name,
                                         const char* qualifier) {
  const std::string_view comment(table.s->comment.str, table.s->comment.length);
  if (std::optional<std::string_view> partition = PartitionOf(name)) {
    for (const std::string_view mark : {"#TMP#", "#REN#"}) {
      if (partition->ends_with(mark)) partition->remove_suffix(mark.size());
    }
    if (auto own = FindInComment(comment, std::string(*partition) + "_" + qualifier)) return own;
  }
  return FindInComment(comment, qualifier);
}

std::optional<uint32_t> FindStampColumn(const TABLE& table, const std::string& name) {
  for (uint i = 0; i < table.s->fields; ++i) {
    const Field& field = *table.field[i];
    if (!IsSameName(field.field_name.str, name.c_str())) continue;
    const bool fits = field.real_type() == MYSQL_TYPE_LONGLONG && (field.flags & UNSIGNED_FLAG) &&
                      !field.real_maybe_null() && field.stored_in_db();
    if (fits) return i;
    break;
  }
  return std::nullopt;
}

}  // namespace

int ReadTtlDuration(const TABLE& table, std::string_view name, uint64_t* seconds) {
  *seconds = 0;
  const std::optional<std::string> duration = FindQualifier(table, name, "ttl_duration");
  if (duration.has_value()) {
    *seconds = std::strtoull(duration->c_str(), nullptr, 0);
    if (*seconds == 0) {
      my_error(ER_RDB_TTL_DURATION_FORMAT, MYF(0), duration->c_str());
      return HA_WRONG_CREATE_OPTION;
    }
  }
  const std::optional<std::string> column = FindQualifier(table, name, "ttl_col");
  if (column.has_value() && (*seconds == 0 || !FindStampColumn(table, *column).has_value())) {
    my_error(ER_RDB_TTL_COL_FORMAT, MYF(0), column->c_str());
    return HA_WRONG_CREATE_OPTION;
  }
  if (*seconds != 0 && table.s->primary_key == MAX_KEY) {
    my_error(ER_RDB_TTL_UNSUPPORTED, MYF(0));
    return HA_WRONG_CREATE_OPTION;
  }
  return 0;
}

int ReadExpiry(const TABLE& table, std::string_view name, RowExpiry* expiry) {
  if (const int error = ReadTtlDuration(table, name, &expiry->seconds)) return error;
  const auto column = FindTtlColumn(table, name);
  if (!column.ok()) return HandlerError(column.status());
  expiry->column = *column;
  return 0;
}

Result<std::optional<uint32_t>> FindTtlColumn(const TABLE& table, std::string_view name) {
  const std::optional<std::string> column_name = FindQualifier(table, name, "ttl_col");
  if (!column_name.has_value()) return std::optional<uint32_t>();
  const std::optional<uint32_t> column = FindStampColumn(table, *column_name);
  if (column.has_value()) return column;
  return Status(StatusCode::kMetadataMismatch,
                "table " + std::string(name) + ": the column of ttl_col, " + *column_name +
                    ", is not a stored BIGINT UNSIGNED NOT NULL column of the table");
}

}  // namespace cairn
