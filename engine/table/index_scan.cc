#include "engine/table/index_scan.h"

#include <utility>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/ordered_iterator.h"

namespace cairn {
namespace {

using std::chrono::steady_clock;
using Stage = IndexBuildFigures::Stage;

// Entries after which the statement looks whether it was killed.
constexpr uint64_t kEntriesPerLook = 256;

// What a chunk has at most: old versions of rows stay for as long as its iterator.
constexpr uint64_t kRowsPerChunk = 65'536;
constexpr std::chrono::seconds kTimePerChunk(1);

TransactionSettings ReadSettings() {
  TransactionSettings settings;
  settings.fill_block_cache = false;
  return settings;
}

// What a row must give: the parts of the primary key and of the new indexes, and all columns where
// virtual ones are to be made of them.
ColumnSet WantedColumns(const Table& table, const std::vector<uint32_t>& positions) {
  ColumnSet wanted(table.layout().columns.size(), false);
  std::vector<uint32_t> read = positions;
  read.push_back(table.primary_position());
  for (const uint32_t position : read) {
    if (table.index(position).has_virtual_part) return ColumnSet(wanted.size(), true);
    for (const KeyPartLayout& part : table.index(position).layout().parts) {
      wanted[part.column] = true;
    }
  }
  return wanted;
}

}  // namespace

IndexScan::IndexScan(Database* database, const Table* table, const std::vector<uint32_t>& positions,
                     IndexBuildSettings settings, uint8_t* record, VirtualColumns* virtual_columns,
                     IndexBuildState* state, UniqueSuspects* suspects)
    : table_(table),
      settings_(std::move(settings)),
      record_(record),
      state_(state),
      positions_(positions),
      sorted_(database, table, positions, settings_, virtual_columns, suspects),
      transaction_(database) {}

Status IndexScan::Run() {
  transaction_.Start(ReadSettings());
  CAIRN_ASSIGN_OR_RETURN(row_plan_, table_->primary().codec->MakePlan(
                                        WantedColumns(*table_, positions_), settings_.checksums));
  CAIRN_RETURN_IF_ERROR(SortEntries());
  if (state_ != nullptr) state_->figures().stage = Stage::kSort;
  CAIRN_RETURN_IF_ERROR(sorted_.WriteFiles());
  if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
  return sorted_.Ingest();
}

Status IndexScan::SortEntries() {
  transaction_.EnsureSnapshot();
  begun_at_ = transaction_.SnapshotNumber();
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool more, SortChunk());
    if (!more) break;
    transaction_.RenewSnapshot();
  }
  transaction_.RenewSnapshot();  // None is held while files are written.
  return Status();
}

// Goes on behind last_key_. Whether rows may be left.
Result<bool> IndexScan::SortChunk() {
  const steady_clock::time_point end = steady_clock::now() + kTimePerChunk;
  OrderedIterator iterator(table_->primary().entry, &transaction_, Transaction::View::kSnapshot);
  if (last_key_.empty()) {
    iterator.SeekToFirst();
  } else {
    iterator.SeekAtOrAfter(last_key_ + '\0');
  }
  for (uint64_t row_count = 0; iterator.Valid(); iterator.Next()) {
    if (row_count % kEntriesPerLook == 0) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      sorted_.CountMemory();
      const bool is_whole = row_count == kRowsPerChunk || steady_clock::now() >= end;
      if (row_count != 0 && is_whole) return true;
    }
    ++row_count;
    if (state_ != nullptr) state_->figures().rows_read.fetch_add(1, std::memory_order_relaxed);
    last_key_.assign(iterator.key());
    if (transaction_.HidesExpired(iterator.value(), table_->ttl_seconds())) continue;
    CAIRN_RETURN_IF_ERROR(AddRow(iterator.key(), iterator.value()));
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  return false;
}

Status IndexScan::AddRow(std::string_view primary_key, std::string_view row) {
  const IndexCodec& primary = *table_->primary().codec;
  CAIRN_RETURN_IF_ERROR(primary.Decode(*row_plan_, primary_key, row, record_));
  uint64_t hidden_key = 0;
  if (table_->has_hidden_key()) {
    CAIRN_ASSIGN_OR_RETURN(hidden_key, primary.HiddenKey(primary_key));
  }
  uint64_t ttl_stamp = 0;
  if (primary.layout().has_ttl_stamp) {
    CAIRN_ASSIGN_OR_RETURN(ttl_stamp, primary.TtlStamp(row));
  }
  return sorted_.Add(record_, hidden_key, ttl_stamp);
}

}  // namespace cairn
