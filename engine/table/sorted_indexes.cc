#include "engine/table/sorted_indexes.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/index_delta.h"

namespace cairn {
namespace {

// While the entries of a UNIQUE index are sorted, their values end with the length of the key's
// part that is unique, 0 when it has a NULL, which is unlike any other.
constexpr size_t kUniqueBytesTrailer = sizeof(uint32_t);

// While entries are sorted, their keys end with the number of their row, if two rows may have the
// same primary key, so that none of them are equal. No key is the beginning of another.
constexpr size_t kRowNumberBytes = sizeof(uint64_t);

// Entries after which the statement looks whether it was killed.
constexpr uint64_t kEntriesPerLook = 256;

// What goes to a file of its own at least, where others want the memory.
constexpr uint64_t kLeastAppendedBytes = uint64_t{4} << 20;

// What may go through a transaction.
constexpr uint64_t kFewBytes = uint64_t{1} << 20;

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
      append_checksums_(settings.append_checksums),
      memory_(&database->memory_accounts(), MemoryPart::kBulkLoad) {
  SortSettings sort = settings_.sort;
  sort.keys_differ = true;  // They end with the primary key, and with numbers where that repeats.
  sort.interrupted = [this] { return IsToEnd(); };
  std::vector<uint32_t> in_order = positions;
  // The primary key comes first: its files are complete when another index has a duplicate.
  std::stable_partition(in_order.begin(), in_order.end(), [this](uint32_t position) {
    return position == table_->primary_position();
  });
  numbers_rows_ = !in_order.empty() && in_order.front() == table_->primary_position() &&
                  !table_->has_hidden_key();
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

SortedIndexes::~SortedIndexes() {
  is_abandoned_ = true;
  for (NewIndex& index : indexes_) {
    if (index.sorter != nullptr) index.sorter->WaitForThread();  // It uses the rest of this.
  }
  if (share_ == nullptr) return;
  share_->bytes_ -= shared_bytes_;
  std::erase(share_->sharers_, this);
  if (share_->appending_ == this) share_->appending_ = nullptr;
}

void SortedIndexes::Share(std::shared_ptr<SortMemory> memory) {
  share_ = std::move(memory);
  share_->sharers_.push_back(this);
}

void SortedIndexes::RowsTendToComeInOrder() {
  for (NewIndex& index : indexes_) {
    if (!IsPrimary(index) || IndexOf(index).search_keys_end_early) continue;
    index.appends = true;
    index.sorter->WhenFull(
        [this, &index] { return index.appends ? Append(&index) : index.sorter->Spill(); });
  }
}

void SortedIndexes::WorkInBackground() {
  for (NewIndex& index : indexes_) {
    if (index.sorter != nullptr) index.sorter->WorkInBackground();
  }
}

bool SortedIndexes::IsToEnd() { return is_abandoned_ || side_by_side_.IsToEnd(0); }

void SortedIndexes::RowsComeInOrder() {
  numbers_rows_ = false;  // A primary key that repeats ends all.
  for (NewIndex& index : indexes_) {
    if (IsPrimary(index)) index.sorter.reset();
  }
}

bool SortedIndexes::IsPrimary(const NewIndex& index) const {
  return index.position == table_->primary_position();
}

// Each row has its hidden key for itself.
bool SortedIndexes::IsUnique(const NewIndex& index) const {
  return IsPrimary(index) ? !table_->has_hidden_key() : IndexOf(index).layout().unique;
}

Status SortedIndexes::Add(const uint8_t* record, uint64_t hidden_key, uint64_t ttl_stamp) {
  ++row_count_;
  for (NewIndex& index : indexes_) {
    if (IndexOf(index).has_virtual_part && !records_are_complete_) {
      CAIRN_RETURN_IF_ERROR(virtual_columns_->Compute(index.position));
    }
    CAIRN_RETURN_IF_ERROR(AddEntry(&index, record, hidden_key, ttl_stamp));
  }
  return share_ == nullptr ? Status() : KeepWithinShare();
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
  if (append_checksums_) IndexCodec::AppendChecksums(key_, &value_);
  const uint32_t unique_bytes = IsUnique(*index) ? UniqueBytes(codec, record, &unique_prefix_) : 0;
  if (index->sorter == nullptr) return AddToFiles(index, {key_, value_, unique_bytes});
  return AddToSorter(index, row_count_, unique_bytes);
}

// The entry in key_ and value_.
Status SortedIndexes::AddToSorter(NewIndex* index, uint64_t row_number, uint32_t unique_bytes) {
  if (numbers_rows_) AppendBigEndian(row_number, &key_);
  if (IsUnique(*index)) AppendBigEndian(unique_bytes, &value_);
  Status added = index->sorter->Add(key_, value_);
  return added.code() == StatusCode::kOutOfOrder ? BeginToSort(index) : added;
}

SortedIndexes::Sorted SortedIndexes::TakeApart(const NewIndex& index, std::string_view key,
                                               std::string_view value) const {
  Sorted entry = {key, value, 0};
  if (numbers_rows_) entry.key.remove_suffix(kRowNumberBytes);
  if (IsUnique(index)) {
    entry.value.remove_suffix(kUniqueBytesTrailer);
    entry.unique_bytes = LoadBigEndian<uint32_t>(entry.value.data() + entry.value.size());
  }
  return entry;
}

Status SortedIndexes::AddToFiles(NewIndex* index, const Sorted& entry) {
  CAIRN_RETURN_IF_ERROR(CheckUnique(index, entry));
  CAIRN_RETURN_IF_ERROR(index->files->Add(entry.key, entry.value));
  index->figures->entries_written.fetch_add(1, std::memory_order_relaxed);
  return Status();
}

Status SortedIndexes::EmptyMemory(NewIndex* index) {
  Status emptied = index->sorter->EmptyMemory();
  return emptied.code() == StatusCode::kOutOfOrder ? BeginToSort(index) : emptied;
}

// Of all that share memory one has an open file, as it takes memory itself.
Status SortedIndexes::BeginNextFile() {
  if (share_ == nullptr) return Status();
  SortedIndexes* const before = std::exchange(share_->appending_, this);
  if (before == nullptr || before == this) return Status();
  for (const NewIndex& index : before->indexes_) {
    if (index.appends) CAIRN_RETURN_IF_ERROR(index.files->Finish());
  }
  return Status();
}

// Brings what the sorter has handed over to the end of the files. Errors: kOutOfOrder: some of it
// does not belong there, and all is where it was.
Status SortedIndexes::Append(NewIndex* index) {
  const rocksdb::Comparator& order = *IndexOf(*index).family().handle->GetComparator();
  uint64_t entry_count = 0;
  const auto append = [&](std::string_view key, std::string_view value) -> Status {
    if (entry_count % kEntriesPerLook == 0 && IsToEnd()) return Status(StatusCode::kInterrupted);
    const Sorted entry = TakeApart(*index, key, value);
    const std::string_view last = index->files->last_key();
    if (entry_count++ == 0) {
      if (!last.empty() && order.Compare(last, entry.key) >= 0) {
        return Status(StatusCode::kOutOfOrder);
      }
      return AddToFiles(index, entry);
    }
    Status added = AddToFiles(index, entry);
    CAIRN_ASSERT(added.code() != StatusCode::kOutOfOrder);
    return added;
  };
  CAIRN_RETURN_IF_ERROR(index->sorter->DrainHandedOver(append));
  return BeginNextFile();
}

// From here on the entries are sorted, those in the files as well.
Status SortedIndexes::BeginToSort(NewIndex* index) {
  index->appends = false;
  CAIRN_RETURN_IF_ERROR(index->sorter->Spill());
  uint64_t entry_count = 0;
  const auto sort = [&](std::string_view key, std::string_view value) -> Status {
    if (entry_count++ % kEntriesPerLook == 0 && IsToEnd()) return Status(StatusCode::kInterrupted);
    key_.assign(key);
    value_.assign(value);
    // They came before all others, and their whole keys are unique.
    return AddToSorter(index, /*row_number=*/0, static_cast<uint32_t>(key.size()));
  };
  CAIRN_RETURN_IF_ERROR(index->files->TakeBack(sort));
  index->figures->entries_written = 0;
  index->previous_unique_value.clear();
  return Status();
}

uint64_t SortedIndexes::HeldBytes() const {
  uint64_t bytes = 0;
  for (const NewIndex& index : indexes_) {
    // With a sorter the files keep nothing that counts, and may be a thread's.
    bytes +=
        index.sorter != nullptr ? index.sorter->buffered_bytes() : index.files->buffered_bytes();
  }
  return bytes;
}

void SortedIndexes::CountShare() {
  const uint64_t bytes = HeldBytes();
  share_->bytes_ += bytes - shared_bytes_;
  shared_bytes_ = bytes;
}

// Where several share the memory, whoever has the most of it gives it up. A duplicate that another
// one meets is for itself to tell, at its end at the latest.
Status SortedIndexes::KeepWithinShare() {
  CountShare();
  while (share_->bytes_ > share_->most_bytes_) {
    const uint64_t bytes_before = share_->bytes_;
    SortedIndexes* const largest =
        *std::max_element(share_->sharers_.begin(), share_->sharers_.end(),
                          [](const SortedIndexes* a, const SortedIndexes* b) {
                            return a->shared_bytes_ < b->shared_bytes_;
                          });
    Status emptied = largest->EmptyLargest();
    largest->CountShare();
    const bool tells_itself = largest != this && emptied.code() == StatusCode::kDuplicateKey;
    if (!emptied.ok() && !tells_itself) return emptied;
    if (share_->bytes_ >= bytes_before) break;  // What is left cannot be less.
  }
  return Status();
}

Status SortedIndexes::EmptyLargest() {
  NewIndex* largest = nullptr;
  for (NewIndex& index : indexes_) {
    if (index.sorter == nullptr) continue;
    if (largest == nullptr || index.sorter->buffered_bytes() > largest->sorter->buffered_bytes()) {
      largest = &index;
    }
  }
  CAIRN_ASSERT(largest != nullptr);
  // So little would make files that are not worth it.
  if (largest->appends && largest->sorter->buffered_bytes() < kLeastAppendedBytes) {
    CAIRN_RETURN_IF_ERROR(BeginToSort(largest));
  }
  return EmptyMemory(largest);
}

Status SortedIndexes::WriteFiles() {
  CAIRN_RETURN_IF_ERROR(
      side_by_side_.Run(indexes_.size(), [this](size_t i) { return WriteFilesOf(i); }));
  CountMemory();
  if (share_ != nullptr) CountShare();
  return duplicate_.has_value() ? Status(StatusCode::kDuplicateKey) : Status();
}

Status SortedIndexes::WriteFilesOf(size_t i) {
  NewIndex& index = indexes_[i];
  if (index.appends) CAIRN_RETURN_IF_ERROR(EmptyMemory(&index));
  if (index.appends || index.sorter == nullptr) return index.files->Finish();
  uint64_t entry_count = 0;
  CAIRN_RETURN_IF_ERROR(
      index.sorter->Drain([&](std::string_view key, std::string_view value) -> Status {
        if (entry_count++ % kEntriesPerLook == 0) {
          CountFiles(index);
          if (side_by_side_.IsToEnd(i)) return Status(StatusCode::kInterrupted);
        }
        return AddToFiles(&index, TakeApart(index, key, value));
      }));
  Status finished = index.files->Finish();
  CountFiles(index);
  return finished;
}

// Equal values lie side by side. Of several indexes that have duplicates the first is named.
Status SortedIndexes::CheckUnique(NewIndex* index, const Sorted& entry) {
  const std::string_view unique_value = entry.key.substr(0, entry.unique_bytes);
  if (entry.unique_bytes == 0 || unique_value != index->previous_unique_value) {
    index->previous_unique_value.assign(unique_value);
    return Status();
  }
  const std::lock_guard lock(twins_mutex_);
  if (suspects_ != nullptr) {
    ++index->figures->suspects;
    return suspects_->Add(index->position, unique_value);
  }
  if (!duplicate_.has_value() || index->position < duplicate_->position) {
    duplicate_ = {index->position, std::string(entry.key)};
    duplicate_value_.assign(entry.value);
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

bool SortedIndexes::AreFew() const {
  return HeldBytes() <= kFewBytes &&
         std::all_of(indexes_.begin(), indexes_.end(), [](const NewIndex& index) {
           return index.sorter != nullptr && index.sorter->is_in_memory() &&
                  index.files->last_key().empty();
         });
}

Status SortedIndexes::PutInto(Transaction* transaction) {
  transaction_ = transaction;
  for (NewIndex& index : indexes_) {
    const ColumnFamily& family = IndexOf(index).family();
    CAIRN_RETURN_IF_ERROR(
        index.sorter->Drain([&](std::string_view key, std::string_view value) -> Status {
          const Sorted entry = TakeApart(index, key, value);
          CAIRN_RETURN_IF_ERROR(CheckUnique(&index, entry));
          return transaction->Put(family, entry.key, entry.value);
        }));
  }
  CountMemory();
  if (share_ != nullptr) CountShare();
  return Status();
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
  Transaction* const holder = transaction_ != nullptr ? transaction_ : &reader;
  CAIRN_RETURN_IF_ERROR(
      holder->Get(primary.family(), key, Transaction::View::kLatest, &duplicate_row_));
  CAIRN_RETURN_IF_ERROR(primary.codec->Decode(*plan, key, duplicate_row_.ToStringView(), record));
  return index.has_virtual_part ? virtual_columns_->Compute(duplicate_->position) : Status();
}

void SortedIndexes::CountFiles(const NewIndex& index) {
  uint64_t bytes = index.files->file_bytes();
  if (index.sorter != nullptr) bytes += index.sorter->file_bytes();
  index.figures->temporary_bytes = bytes;
}

void SortedIndexes::CountMemory() {
  memory_.Set(HeldBytes());
  for (const NewIndex& index : indexes_) CountFiles(index);
}

}  // namespace cairn
