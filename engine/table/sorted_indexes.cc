#include "engine/table/sorted_indexes.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/index_delta.h"
#include "engine/txn/transaction.h"

namespace cairn {
namespace {

// While the entries of a UNIQUE index are sorted, their values end with the length of the key's
// part that is unique, 0 when it has a NULL, which is unlike any other.
constexpr size_t kUniqueBytesTrailer = sizeof(uint32_t);

// While rows are sorted by a new primary key, which two of them may have, the keys of all entries
// end with a number, so that none of them are equal. No key is the beginning of another.
constexpr size_t kRowNumberBytes = sizeof(uint64_t);

// Entries after which the statement looks whether it was killed.
constexpr uint64_t kEntriesPerLook = 256;

}  // namespace

SortedIndexes::SortedIndexes(Database* database, const Table* table,
                             const std::vector<uint32_t>& positions,
                             const IndexBuildSettings& settings, VirtualColumns* virtual_columns,
                             UniqueSuspects* suspects, IndexBuildFigures* figures)
    : database_(database),
      table_(table),
      settings_(settings),
      virtual_columns_(virtual_columns),
      suspects_(suspects),
      memory_(&database->memory_accounts(), MemoryPart::kBulkLoad) {
  SortSettings sort = settings_.sort;
  sort.keys_differ = true;  // By the primary key at their end, or a number.
  sort.interrupted = [this] { return side_by_side_.IsToEnd(0); };
  std::vector<uint32_t> in_order = positions;
  // The primary key comes first: its files are complete when another index has a duplicate.
  std::stable_partition(in_order.begin(), in_order.end(), [this](uint32_t position) {
    return position == table_->primary_position();
  });
  for (const uint32_t position : in_order) {
    const TableIndex& index = table_->index(position);
    const auto i = std::find(positions.begin(), positions.end(), position) - positions.begin();
    indexes_.push_back(
        {position, MakeSorter(database_, index.family(), index.definition.id.index_number, sort),
         std::make_unique<SortedFiles>(database_, index.family(),
                                       table_->definition().name + "_" + index.layout().name,
                                       settings_.trace),
         &figures->indexes()[static_cast<size_t>(i)]});
  }
}

void SortedIndexes::RowsComeInOrder() {
  for (NewIndex& index : indexes_) {
    if (IsPrimary(index)) index.sorter.reset();
  }
}

bool SortedIndexes::IsPrimary(const NewIndex& index) const {
  return index.position == table_->primary_position();
}

// Whether the primary key is one of the indexes, and rows come in any order.
bool SortedIndexes::SortsRows() const {
  return IsPrimary(indexes_.front()) && indexes_.front().sorter != nullptr;
}

// Each row has its hidden key for itself.
bool SortedIndexes::IsUnique(const NewIndex& index) const {
  return IsPrimary(index) ? !table_->has_hidden_key() : IndexOf(index).layout().unique;
}

Status SortedIndexes::Add(uint8_t* record, uint64_t hidden_key, uint64_t ttl_stamp) {
  ++row_count_;
  for (NewIndex& index : indexes_) {
    if (IndexOf(index).has_virtual_part) {
      CAIRN_RETURN_IF_ERROR(virtual_columns_->Compute(index.position));
    }
    CAIRN_RETURN_IF_ERROR(AddEntry(&index, record, hidden_key, ttl_stamp));
  }
  return Status();
}

Status SortedIndexes::AddEntry(NewIndex* index, const uint8_t* record, uint64_t hidden_key,
                               uint64_t ttl_stamp) {
  const IndexCodec& codec = *IndexOf(*index).codec;
  codec.EncodeKey(record, hidden_key, &key_, &unpack_info_);
  if (IsPrimary(*index)) {
    codec.EncodeRow(record, unpack_info_, ttl_stamp, &value_);
  } else {
    codec.EncodeSecondaryValue(unpack_info_, ttl_stamp, &value_);
  }
  if (settings_.append_checksums) IndexCodec::AppendChecksums(key_, &value_);
  const uint32_t unique_bytes = IsUnique(*index) ? UniqueBytes(codec, record, &unique_prefix_) : 0;
  if (index->sorter == nullptr) {
    if (unique_bytes != 0) {
      CAIRN_RETURN_IF_ERROR(CheckUnique(index, key_, unique_bytes, value_));
      if (duplicate_.has_value()) return Status(StatusCode::kDuplicateKey);
    }
    ++index->figures->entries_written;
    return index->files->Add(key_, value_);
  }
  if (SortsRows()) AppendBigEndian(row_count_, &key_);
  if (IsUnique(*index)) AppendBigEndian(unique_bytes, &value_);
  return index->sorter->Add(key_, value_);
}

Status SortedIndexes::WriteFiles() {
  CAIRN_RETURN_IF_ERROR(
      side_by_side_.Run(indexes_.size(), [this](size_t i) { return WriteFilesOf(i); }));
  CountMemory();
  return duplicate_.has_value() ? Status(StatusCode::kDuplicateKey) : Status();
}

Status SortedIndexes::WriteFilesOf(size_t i) {
  NewIndex& index = indexes_[i];
  if (index.sorter == nullptr) return index.files->Finish();
  const bool unique = IsUnique(index);
  const size_t number_bytes = SortsRows() ? kRowNumberBytes : 0;
  uint64_t entry_count = 0;
  CAIRN_RETURN_IF_ERROR(
      index.sorter->Drain([&](std::string_view key, std::string_view value) -> Status {
        if (entry_count++ % kEntriesPerLook == 0) {
          index.figures->entries_written = entry_count;
          CountFiles(index);
          if (side_by_side_.IsToEnd(i)) return Status(StatusCode::kInterrupted);
        }
        key.remove_suffix(number_bytes);
        if (unique) {
          const size_t value_bytes = value.size() - kUniqueBytesTrailer;
          const auto unique_bytes = LoadBigEndian<uint32_t>(value.data() + value_bytes);
          value = value.substr(0, value_bytes);
          CAIRN_RETURN_IF_ERROR(CheckUnique(&index, key, unique_bytes, value));
        }
        return index.files->Add(key, value);
      }));
  Status finished = index.files->Finish();
  index.figures->entries_written = entry_count;
  CountFiles(index);
  return finished;
}

// Equal values lie side by side. Of several indexes that have duplicates the first is named.
Status SortedIndexes::CheckUnique(NewIndex* index, std::string_view key, uint32_t unique_bytes,
                                  std::string_view value) {
  const std::string_view unique_value = key.substr(0, unique_bytes);
  if (unique_bytes == 0 || unique_value != index->previous_unique_value) {
    index->previous_unique_value.assign(unique_value);
    return Status();
  }
  const std::lock_guard lock(twins_mutex_);
  if (suspects_ != nullptr) {
    ++index->figures->suspects;
    return suspects_->Add(index->position, unique_value);
  }
  if (!duplicate_.has_value() || index->position < duplicate_->position) {
    duplicate_ = {index->position, std::string(key)};
    duplicate_value_.assign(value);
  }
  return Status(StatusCode::kDuplicateKey);
}

Status SortedIndexes::Ingest() {
  std::vector<SortedFiles*> sets;
  for (const NewIndex& index : indexes_) sets.push_back(index.files.get());
  Status ingested = SortedFiles::Ingest(database_, sets);
  for (const NewIndex& index : indexes_) CountFiles(index);
  return ingested;
}

Status SortedIndexes::LoadDuplicate(uint8_t* record) {
  CAIRN_ASSERT(duplicate_.has_value());
  const TableIndex& index = table_->index(duplicate_->position);
  const TableIndex& primary = table_->primary();
  CAIRN_ASSIGN_OR_RETURN(const auto plan,
                         primary.codec->MakePlan(ColumnSet(table_->layout().columns.size(), true),
                                                 IndexCodec::Checksums::kIgnore));
  if (duplicate_->position == table_->primary_position()) {
    return primary.codec->Decode(*plan, duplicate_->entry, duplicate_value_, record);
  }
  // Lower indexes are written to their end, whichever fails: the primary key is the first.
  CAIRN_ASSERT(IsPrimary(indexes_.front()));
  CAIRN_RETURN_IF_ERROR(SortedFiles::Ingest(database_, {indexes_.front().files.get()}));
  std::string key;
  CAIRN_RETURN_IF_ERROR(index.codec->ExtractPrimaryKey(duplicate_->entry, &key));
  Transaction reader(database_);
  reader.Start(TransactionSettings());
  CAIRN_RETURN_IF_ERROR(
      reader.Get(primary.family(), key, Transaction::View::kLatest, &duplicate_row_));
  CAIRN_RETURN_IF_ERROR(primary.codec->Decode(*plan, key, duplicate_row_.ToStringView(), record));
  return index.has_virtual_part ? virtual_columns_->Compute(duplicate_->position) : Status();
}

// By whoever adds to the index or writes its files.
void SortedIndexes::CountFiles(const NewIndex& index) {
  uint64_t bytes = index.files->file_bytes();
  if (index.sorter != nullptr) bytes += index.sorter->file_bytes();
  index.figures->temporary_bytes = bytes;
}

void SortedIndexes::CountMemory() {
  uint64_t bytes = 0;
  for (const NewIndex& index : indexes_) {
    CountFiles(index);
    bytes += index.files->buffered_bytes();
    if (index.sorter != nullptr) bytes += index.sorter->buffered_bytes();
  }
  memory_.Set(bytes);
}

}  // namespace cairn
