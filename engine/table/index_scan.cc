#include "engine/table/index_scan.h"

#include <algorithm>
#include <utility>

#include "engine/locks/interruptible_mutex.h"

namespace cairn {
namespace {

using Stage = IndexBuildFigures::Stage;

// Rows after which the memory account is told what the sorters hold.
constexpr uint64_t kRowsPerCount = 256;

// What a row must give: the parts of the primary key and of the new indexes, and all columns where
// the row itself or virtual columns are to be made of them.
ColumnSet WantedColumns(const Table& table, const std::vector<uint32_t>& positions) {
  ColumnSet wanted(table.layout().columns.size(), false);
  const uint32_t primary = table.primary_position();
  if (std::find(positions.begin(), positions.end(), primary) != positions.end()) {
    return ColumnSet(wanted.size(), true);
  }
  std::vector<uint32_t> read = positions;
  read.push_back(primary);
  for (const uint32_t position : read) {
    if (table.index(position).has_virtual_part) return ColumnSet(wanted.size(), true);
    for (const KeyPartLayout& part : table.index(position).layout().parts) {
      wanted[part.column] = true;
    }
  }
  return wanted;
}

}  // namespace

IndexScan::IndexScan(Database* database, const Table* source, const Table* table,
                     const std::vector<uint32_t>& positions, IndexBuildSettings settings,
                     uint8_t* record, VirtualColumns* virtual_columns, IndexBuildFigures* figures,
                     UniqueSuspects* suspects)
    : source_(source),
      settings_(std::move(settings)),
      record_(record),
      figures_(figures),
      wanted_(WantedColumns(*table, positions)),
      sorted_(database, table, positions, settings_, virtual_columns, suspects, figures),
      rows_(database, source) {}

Status IndexScan::Run() {
  CAIRN_ASSIGN_OR_RETURN(row_plan_,
                         source_->primary().codec->MakePlan(wanted_, settings_.checksums));
  CAIRN_RETURN_IF_ERROR(
      rows_.Run([this](std::string_view key, std::string_view row) { return AddRow(key, row); }));
  figures_->stage = Stage::kSort;
  CAIRN_RETURN_IF_ERROR(sorted_.WriteFiles());
  if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
  return sorted_.Ingest();
}

Status IndexScan::AddRow(std::string_view primary_key, std::string_view row) {
  if (row_count_++ % kRowsPerCount == 0) sorted_.CountMemory();
  figures_->rows_read.fetch_add(1, std::memory_order_relaxed);
  if (rows_.HidesExpired(row)) return Status();
  const IndexCodec& primary = *source_->primary().codec;
  CAIRN_RETURN_IF_ERROR(primary.Decode(*row_plan_, primary_key, row, record_));
  uint64_t hidden_key = 0;
  if (source_->has_hidden_key()) {
    CAIRN_ASSIGN_OR_RETURN(hidden_key, primary.HiddenKey(primary_key));
  }
  uint64_t ttl_stamp = 0;
  if (primary.layout().has_ttl_stamp) {
    CAIRN_ASSIGN_OR_RETURN(ttl_stamp, primary.TtlStamp(row));
  }
  return sorted_.Add(record_, hidden_key, ttl_stamp);
}

}  // namespace cairn
