#include "engine/table/index_build.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/ordered_iterator.h"
#include "engine/txn/lock_report.h"

namespace cairn {
namespace {

// While the entries of a UNIQUE index are sorted, their values end with the length of the key's
// part that is unique, 0 when it has a NULL, which is unlike any other.
constexpr size_t kUniqueBytesTrailer = sizeof(uint32_t);

// Entries after which the statement looks whether it was killed.
constexpr uint64_t kEntriesPerLook = 256;

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

bool IndexBuild::CanBuild(const IndexCodec& codec) {
  return !codec.layout().unique || codec.UniquePrefixIsExact();
}

IndexBuild::IndexBuild(Database* database, const Table* table,
                       const std::vector<uint32_t>& positions, IndexBuildSettings settings,
                       uint8_t* record, VirtualColumns* virtual_columns)
    : database_(database),
      table_(table),
      settings_(std::move(settings)),
      record_(record),
      virtual_columns_(virtual_columns),
      transaction_(database),
      memory_(&database->memory_accounts(), MemoryPart::kBulkLoad) {
  SortSettings sort = settings_.sort;
  sort.keys_differ = true;  // Each ends with the primary key.
  sort.interrupted = WaitInterrupted;
  for (const uint32_t position : positions) {
    const TableIndex& index = table_->index(position);
    CAIRN_ASSERT(CanBuild(*index.codec));
    indexes_.push_back(
        {position, MakeSorter(database_, index.family(), index.entry.id.index_number, sort),
         std::make_unique<SortedFiles>(database_, index.family(),
                                       table_->definition().name + "_" + index.layout().name,
                                       settings_.trace)});
  }
}

// A prepared transaction that its session has left may commit its changes of rows later, and would
// give the new indexes no entries. Nobody else can have locked rows to change them now.
bool IndexBuild::RowsWillChange() const {
  const IndexEntry& primary = table_->primary().entry;
  // Rows with a hidden key are not locked when they come.
  if (database_->prepared_indexes().Names(primary.id.index_number, database_->rocksdb())) {
    return true;
  }
  std::string prefix;
  AppendBigEndian(primary.id.index_number, &prefix);
  const std::vector<LockDescription> locks = ListLocks(*database_);
  return std::any_of(locks.begin(), locks.end(), [&](const LockDescription& lock) {
    return lock.range.family == primary.id.column_family && lock.mode == LockMode::kExclusive &&
           lock.range.first.starts_with(prefix);
  });
}

Status IndexBuild::Run() {
  if (RowsWillChange()) return Status(StatusCode::kLockTimeout);
  transaction_.Start(ReadSettings());
  transaction_.EnsureSnapshot();
  built_at_ = transaction_.SnapshotNumber();
  std::vector<uint32_t> positions;
  for (const NewIndex& index : indexes_) positions.push_back(index.position);
  CAIRN_ASSIGN_OR_RETURN(row_plan_, table_->primary().codec->MakePlan(
                                        WantedColumns(*table_, positions), settings_.checksums));
  CAIRN_RETURN_IF_ERROR(SortEntries());
  std::vector<SortedFiles*> sets;
  for (NewIndex& index : indexes_) {
    CAIRN_RETURN_IF_ERROR(WriteFiles(&index));
    sets.push_back(index.files.get());
  }
  if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
  return SortedFiles::Ingest(database_, sets);
}

Status IndexBuild::SortEntries() {
  OrderedIterator iterator(table_->primary().entry, &transaction_, Transaction::View::kSnapshot);
  uint64_t row_count = 0;
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    if (row_count++ % kEntriesPerLook == 0) {
      if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
      CountMemory();
    }
    if (transaction_.HidesExpired(iterator.value(), table_->ttl_seconds())) continue;
    CAIRN_RETURN_IF_ERROR(AddEntries(iterator.key(), iterator.value()));
  }
  return iterator.status();
}

Status IndexBuild::AddEntries(std::string_view primary_key, std::string_view row) {
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
      const bool may_collide = codec.EncodeUniquePrefix(record_, &unique_prefix_);
      AppendBigEndian(may_collide ? static_cast<uint32_t>(unique_prefix_.size()) : 0, &value_);
    }
    CAIRN_RETURN_IF_ERROR(index.sorter->Add(key_, value_));
  }
  return Status();
}

Status IndexBuild::WriteFiles(NewIndex* index) {
  const bool unique = table_->index(index->position).layout().unique;
  previous_unique_value_.clear();
  uint64_t entry_count = 0;
  CAIRN_RETURN_IF_ERROR(
      index->sorter->Drain([&](std::string_view key, std::string_view value) -> Status {
        if (entry_count++ % kEntriesPerLook == 0 && WaitInterrupted()) {
          return Status(StatusCode::kInterrupted);
        }
        if (unique) {
          const size_t value_bytes = value.size() - kUniqueBytesTrailer;
          const auto unique_bytes = LoadBigEndian<uint32_t>(value.data() + value_bytes);
          CAIRN_RETURN_IF_ERROR(CheckUnique(*index, key, unique_bytes));
          value = value.substr(0, value_bytes);
        }
        return index->files->Add(key, value);
      }));
  CountMemory();
  return index->files->Finish();
}

// Equal values lie side by side.
Status IndexBuild::CheckUnique(const NewIndex& index, std::string_view key, uint32_t unique_bytes) {
  const std::string_view unique_value = key.substr(0, unique_bytes);
  if (unique_bytes != 0 && unique_value == previous_unique_value_) {
    CAIRN_RETURN_IF_ERROR(LoadRowOf(index.position, key));
    duplicate_index_ = index.position;
    return Status(StatusCode::kDuplicateKey);
  }
  previous_unique_value_.assign(unique_value);
  return Status();
}

// Fills the whole record.
Status IndexBuild::LoadRowOf(uint32_t position, std::string_view entry) {
  const TableIndex& index = table_->index(position);
  const TableIndex& primary = table_->primary();
  CAIRN_ASSIGN_OR_RETURN(row_plan_,
                         primary.codec->MakePlan(ColumnSet(table_->layout().columns.size(), true),
                                                 settings_.checksums));
  CAIRN_RETURN_IF_ERROR(index.codec->ExtractPrimaryKey(entry, &key_));
  CAIRN_RETURN_IF_ERROR(
      transaction_.Get(primary.family(), key_, Transaction::View::kSnapshot, &row_value_));
  CAIRN_RETURN_IF_ERROR(
      primary.codec->Decode(*row_plan_, key_, row_value_.ToStringView(), record_));
  return index.has_virtual_part ? virtual_columns_->Compute(position) : Status();
}

void IndexBuild::CountMemory() {
  uint64_t bytes = 0;
  for (const NewIndex& index : indexes_) {
    bytes += index.sorter->buffered_bytes() + index.files->buffered_bytes();
  }
  memory_.Set(bytes);
}

}  // namespace cairn
