#include "engine/table/index_scan.h"

#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/index_delta.h"
#include "engine/table/ordered_iterator.h"

namespace cairn {
namespace {

using std::chrono::steady_clock;
using Stage = IndexBuildFigures::Stage;

// While the entries of a UNIQUE index are sorted, their values end with the length of the key's
// part that is unique, 0 when it has a NULL, which is unlike any other.
constexpr size_t kUniqueBytesTrailer = sizeof(uint32_t);

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
    : database_(database),
      table_(table),
      settings_(std::move(settings)),
      record_(record),
      virtual_columns_(virtual_columns),
      state_(state),
      suspects_(suspects),
      transaction_(database),
      memory_(&database->memory_accounts(), MemoryPart::kBulkLoad) {
  SortSettings sort = settings_.sort;
  sort.keys_differ = true;  // Each ends with the primary key.
  sort.interrupted = [this] { return side_by_side_.IsToEnd(0); };
  for (const uint32_t position : positions) {
    const TableIndex& index = table_->index(position);
    indexes_.push_back(
        {position, MakeSorter(database_, index.family(), index.entry.id.index_number, sort),
         std::make_unique<SortedFiles>(database_, index.family(),
                                       table_->definition().name + "_" + index.layout().name,
                                       settings_.trace)});
  }
}

Status IndexScan::Run() {
  transaction_.Start(ReadSettings());
  std::vector<uint32_t> positions;
  for (const NewIndex& index : indexes_) positions.push_back(index.position);
  CAIRN_ASSIGN_OR_RETURN(row_plan_, table_->primary().codec->MakePlan(
                                        WantedColumns(*table_, positions), settings_.checksums));
  CAIRN_RETURN_IF_ERROR(SortEntries());
  if (state_ != nullptr) state_->figures().stage = Stage::kSort;
  CAIRN_RETURN_IF_ERROR(
      side_by_side_.Run(indexes_.size(), [this](size_t i) { return WriteFiles(i); }));
  CountMemory();
  std::vector<SortedFiles*> sets;
  for (const NewIndex& index : indexes_) sets.push_back(index.files.get());
  if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
  return SortedFiles::Ingest(database_, sets);
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
      CountMemory();
      const bool is_whole = row_count == kRowsPerChunk || steady_clock::now() >= end;
      if (row_count != 0 && is_whole) return true;
    }
    ++row_count;
    if (state_ != nullptr) state_->figures().rows_read.fetch_add(1, std::memory_order_relaxed);
    last_key_.assign(iterator.key());
    if (transaction_.HidesExpired(iterator.value(), table_->ttl_seconds())) continue;
    CAIRN_RETURN_IF_ERROR(AddEntries(iterator.key(), iterator.value()));
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  return false;
}

Status IndexScan::AddEntries(std::string_view primary_key, std::string_view row) {
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
  for (const NewIndex& index : indexes_) {
    const TableIndex& table_index = table_->index(index.position);
    const IndexCodec& codec = *table_index.codec;
    if (table_index.has_virtual_part) {
      CAIRN_RETURN_IF_ERROR(virtual_columns_->Compute(index.position));
    }
    codec.EncodeKey(record_, hidden_key, &key_, &unpack_info_);
    codec.EncodeSecondaryValue(unpack_info_, ttl_stamp, &value_);
    if (settings_.append_checksums) IndexCodec::AppendChecksums(key_, &value_);
    if (codec.layout().unique) {
      AppendBigEndian(UniqueBytes(codec, record_, &unique_prefix_), &value_);
    }
    CAIRN_RETURN_IF_ERROR(index.sorter->Add(key_, value_));
  }
  return Status();
}

Status IndexScan::WriteFiles(size_t i) {
  NewIndex& index = indexes_[i];
  const bool unique = table_->index(index.position).layout().unique;
  uint64_t entry_count = 0;
  CAIRN_RETURN_IF_ERROR(
      index.sorter->Drain([&](std::string_view key, std::string_view value) -> Status {
        if (entry_count++ % kEntriesPerLook == 0 && side_by_side_.IsToEnd(i)) {
          return Status(StatusCode::kInterrupted);
        }
        if (unique) {
          const size_t value_bytes = value.size() - kUniqueBytesTrailer;
          const auto unique_bytes = LoadBigEndian<uint32_t>(value.data() + value_bytes);
          CAIRN_RETURN_IF_ERROR(CheckUnique(&index, key, unique_bytes));
          value = value.substr(0, value_bytes);
        }
        return index.files->Add(key, value);
      }));
  return index.files->Finish();
}

// Equal values lie side by side. Of several indexes that have duplicates the first is named.
Status IndexScan::CheckUnique(NewIndex* index, std::string_view key, uint32_t unique_bytes) {
  const std::string_view unique_value = key.substr(0, unique_bytes);
  if (unique_bytes == 0 || unique_value != index->previous_unique_value) {
    index->previous_unique_value.assign(unique_value);
    return Status();
  }
  const std::lock_guard lock(twins_mutex_);
  if (suspects_ != nullptr) return suspects_->Add(index->position, unique_value);
  if (!duplicate_.has_value() || index->position < duplicate_->position) {
    duplicate_ = {index->position, std::string(key)};
  }
  return Status(StatusCode::kDuplicateKey);
}

void IndexScan::CountMemory() {
  uint64_t bytes = 0;
  for (const NewIndex& index : indexes_) {
    bytes += index.sorter->buffered_bytes() + index.files->buffered_bytes();
  }
  memory_.Set(bytes);
}

}  // namespace cairn
