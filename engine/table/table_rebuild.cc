#include "engine/table/table_rebuild.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/codec/same_encoding.h"
#include "engine/table/index_build.h"
#include "engine/table/row_scan.h"

namespace cairn {
namespace {

std::vector<uint32_t> AllPositions(const Table& table) {
  std::vector<uint32_t> positions(table.indexes().size());
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

bool IsNull(const ColumnLayout& column, const uint8_t* record) {
  return column.nullable() && (record[column.null_offset] & column.null_mask) != 0;
}

}  // namespace

bool SameRowOrder(const Table& source, const Table& table) {
  const IndexLayout& from = source.primary().layout();
  const IndexLayout& to = table.primary().layout();
  if (from.kind != to.kind || from.format_version != to.format_version) return false;
  return std::equal(
      from.parts.begin(), from.parts.end(), to.parts.begin(), to.parts.end(),
      [&](const KeyPartLayout& a, const KeyPartLayout& b) {
        return a.column == b.column && a.is_prefix == b.is_prefix && a.descending == b.descending &&
               SameEncoding(source.layout(), a, table.layout(), b, from.format_version);
      });
}

TableRebuild::TableRebuild(Database* database, const Table* source, const Table* table,
                           IndexBuildSettings settings, uint8_t* record,
                           VirtualColumns* virtual_columns)
    : database_(database),
      source_(source),
      listed_(database, NewFigures(*table, AllPositions(*table)), settings.estimated_rows),
      scan_(database, source, table, AllPositions(*table), std::move(settings), record,
            virtual_columns, &listed_.figures(), /*suspects=*/nullptr) {
  if (SameRowOrder(*source, *table)) scan_.RowsComeInOrder();
}

Status TableRebuild::Run() {
  CAIRN_RETURN_IF_ERROR(IndexBuild::CheckNoRowsWillChange(database_, *source_));
  Status scanned = scan_.Run();
  if (scanned.ok()) listed_.figures().stage = IndexBuildFigures::Stage::kWait;
  if (scanned.code() != StatusCode::kDuplicateKey) return scanned;
  duplicate_index_ = scan_.duplicate()->position;
  CAIRN_RETURN_IF_ERROR(scan_.LoadDuplicate());
  return scanned;
}

Result<std::optional<NullValue>> FindNull(Database* database, const Table& table,
                                          const std::vector<uint32_t>& columns,
                                          ExpiredRows expired_rows, IndexCodec::Checksums checksums,
                                          uint8_t* record) {
  CAIRN_RETURN_IF_ERROR(IndexBuild::CheckNoRowsWillChange(database, table));
  ColumnSet wanted(table.layout().columns.size(), false);
  for (const uint32_t column : columns) wanted[column] = true;
  CAIRN_ASSIGN_OR_RETURN(const auto plan, table.primary().codec->MakePlan(wanted, checksums));
  std::optional<NullValue> found;
  uint64_t row_number = 0;
  RowScan rows(database, &table);
  const Status read = rows.Run([&](std::string_view key, std::string_view row) -> Status {
    if (expired_rows == ExpiredRows::kGo && rows.HidesExpired(row)) return Status();
    ++row_number;
    CAIRN_RETURN_IF_ERROR(table.primary().codec->Decode(*plan, key, row, record));
    for (const uint32_t column : columns) {
      if (!IsNull(table.layout().columns[column], record)) continue;
      found = {column, row_number};
      return Status(StatusCode::kEndOfRange);
    }
    return Status();
  });
  if (found.has_value()) return found;
  if (!read.ok()) return read;
  return found;
}

}  // namespace cairn
