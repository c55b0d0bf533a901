#include "engine/codec/layout_check.h"

#include <string>

#include "engine/codec/format_version.h"

namespace cairn {
namespace {

Status Impossible(std::string text) {
  return Status(StatusCode::kInvalidArgument, std::move(text));
}

bool HasPossibleSizes(const ColumnLayout& column) {
  switch (column.type) {
    case ColumnType::kVarchar:
      return (column.length_bytes == 1 || column.length_bytes == 2) &&
             column.image_bytes >= column.length_bytes &&
             column.max_bytes <= column.image_bytes - column.length_bytes &&
             (column.length_bytes == 2 || column.max_bytes <= UINT8_MAX);
    case ColumnType::kBlob:
      return column.length_bytes >= 1 && column.length_bytes <= 4 &&
             column.image_bytes == column.length_bytes + sizeof(const char*);
    case ColumnType::kChar:
      return column.max_bytes == column.image_bytes;
    default:
      return true;
  }
}

Status CheckColumn(const TableLayout& table, const ColumnLayout& column) {
  if (column.offset > table.record_bytes ||
      column.image_bytes > table.record_bytes - column.offset) {
    return Impossible("column `" + column.name + "` lies outside the record");
  }
  if (column.nullable() && column.null_offset >= table.record_bytes) {
    return Impossible("the NULL bit of column `" + column.name + "` lies outside the record");
  }
  if (!HasPossibleSizes(column)) {
    return Impossible("column `" + column.name + "` has impossible sizes for its type");
  }
  return Status();
}

}  // namespace

Status CheckTableLayout(const TableLayout& table) {
  for (const ColumnLayout& column : table.columns) {
    CAIRN_RETURN_IF_ERROR(CheckColumn(table, column));
  }
  return Status();
}

Status CheckIndexLayout(const TableLayout& table, const IndexLayout& primary,
                        const IndexLayout& index) {
  if (!IsKnownFormatVersion(index.format_version)) {
    return Status(StatusCode::kNotSupported, UnknownFormatVersion(index.format_version));
  }
  if (primary.kind == IndexKind::kSecondary)
    return Impossible("its primary key is a secondary index");
  if (primary.format_version == kCairnFormatVersion &&
      index.format_version != kCairnFormatVersion) {
    return Impossible("its primary key has the Cairn format and it has not");
  }
  if (index.trims_chars &&
      (index.format_version != kCairnFormatVersion || index.kind == IndexKind::kSecondary)) {
    return Impossible("only rows of the Cairn format have CHAR columns without trailing spaces");
  }
  if (index.history != nullptr && index.kind == IndexKind::kSecondary) {
    return Impossible("only rows have a history of their layouts");
  }
  if (index.kind != IndexKind::kSecondary && index.index_number != primary.index_number) {
    return Impossible("a primary key must be described as its own primary key");
  }
  if ((index.kind == IndexKind::kHiddenPrimary) != index.parts.empty()) {
    return Impossible("a hidden primary key has no key parts, every other index has some");
  }
  if ((primary.kind == IndexKind::kHiddenPrimary) != primary.parts.empty()) {
    return Impossible("its primary key has no key parts");
  }
  for (const KeyPartLayout& part : primary.parts) {
    if (part.column < table.columns.size() && table.columns[part.column].nullable()) {
      return Impossible("column `" + table.columns[part.column].name +
                        "` of the primary key may be NULL");
    }
    if (part.column < table.columns.size() && table.columns[part.column].is_virtual) {
      return Impossible("column `" + table.columns[part.column].name +
                        "` of the primary key is not stored");
    }
  }
  return Status();
}

}  // namespace cairn
