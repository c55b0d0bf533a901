#include "engine/table/bulk_load.h"

#include <algorithm>
#include <utility>

#include "engine/lsm/rocksdb_status.h"
#include "engine/sort/external_sorter.h"
#include "engine/sort/sorted_files.h"

namespace cairn {

struct BulkLoad::Index {
  std::unique_ptr<ExternalSorter> sorter;  // Null when entries come in order.
  std::unique_ptr<SortedFiles> files;
};

BulkLoad::BulkLoad(Database* database, const Dictionary* dictionary,
                   std::shared_ptr<const Table> table, BulkLoadSettings settings)
    : database_(database),
      dictionary_(dictionary),
      table_(std::move(table)),
      settings_(std::move(settings)),
      indexes_(table_->indexes().size()),
      memory_(&database->memory_accounts(), MemoryPart::kBulkLoad) {
  CAIRN_ASSERT(!table_->has_hidden_key());
}

BulkLoad::~BulkLoad() { Discard(); }

std::unique_lock<std::mutex> BulkLoad::Enter() {
  std::unique_lock lock(mutex_);
  if (finished_) lock = {};
  return lock;
}

BulkLoad::Index& BulkLoad::IndexAt(uint32_t position) {
  Index& index = indexes_[position];
  if (index.files != nullptr) return index;
  const TableIndex& table_index = table_->index(position);
  const std::string name = table_->definition().name + "_" + table_index.layout().name;
  index.files =
      std::make_unique<SortedFiles>(database_, table_index.family(), name, settings_.trace);
  if (position != table_->primary_position() || settings_.sort_rows) {
    index.sorter = MakeSorter(database_, table_index.family(),
                              table_index.definition.id.index_number, settings_.sort);
  }
  return index;
}

Status BulkLoad::Add(uint32_t index_position, std::string_view key, std::string_view value) {
  Index& index = IndexAt(index_position);
  const auto held = [&index] {
    return index.files->buffered_bytes() +
           (index.sorter != nullptr ? index.sorter->buffered_bytes() : 0);
  };
  const uint64_t before = held();
  Status added =
      index.sorter != nullptr ? index.sorter->Add(key, value) : index.files->Add(key, value);
  buffered_bytes_.fetch_add(held() - before, std::memory_order_relaxed);
  memory_.Set(buffered_bytes());
  return added;
}

Status BulkLoad::Finish() {
  const std::lock_guard lock(mutex_);
  if (finished_.exchange(true)) return outcome_;
  outcome_ = FinishFiles().WithContext("table " + table_->definition().name);
  indexes_.clear();
  buffered_bytes_ = 0;
  memory_.Set(0);
  return outcome_;
}

// The table may have got another definition with the same indexes, because a foreign key began or
// ceased to name it.
Result<bool> BulkLoad::IsThere() const {
  const TableDefinition& own = table_->definition();
  const auto now = dictionary_->Find(own.name);
  if (now.get() == &own) return true;
  const auto has = [&now](const IndexDefinition& index) {
    return std::any_of(now->indexes.begin(), now->indexes.end(), [&](const IndexDefinition& found) {
      return found.id.index_number == index.id.index_number;
    });
  };
  if (now == nullptr || !has(own.indexes.front())) return false;
  if (now->indexes.size() == own.indexes.size() &&
      std::all_of(own.indexes.begin(), own.indexes.end(), has)) {
    return true;
  }
  return Status(StatusCode::kAborted, "its indexes are others since the load began");
}

Status BulkLoad::FinishFiles() {
  const TableDefinition& definition = table_->definition();
  CAIRN_ASSIGN_OR_RETURN(const bool is_there, IsThere());
  if (!is_there) return Status();
  std::vector<SortedFiles*> sets;
  for (Index& index : indexes_) {
    if (index.files == nullptr) continue;
    if (index.sorter != nullptr) {
      CAIRN_RETURN_IF_ERROR(
          index.sorter->Drain([&index](std::string_view key, std::string_view value) {
            return index.files->Add(key, value);
          }));
    }
    CAIRN_RETURN_IF_ERROR(index.files->Finish());
    sets.push_back(index.files.get());
  }
  const Index& primary = indexes_[table_->primary_position()];
  if (primary.files == nullptr || primary.files->empty()) return Status();
  CAIRN_RETURN_IF_ERROR(CheckOverlap(*primary.files));
  Status ingested = SortedFiles::Ingest(database_, sets);
  // Who took the table for empty is to look again.
  database_->table_claims().RevokeIndex(definition.indexes.front().id.index_number);
  if (!ingested.ok()) return ingested;
  definition.counters->row_count.Forget();  // The rows came past the transactions.
  return Status();
}

// The range of the rows must be free, so that none of them can be a duplicate.
Status BulkLoad::CheckOverlap(const SortedFiles& rows) const {
  auto [smallest, largest] = rows.KeyRange();
  largest.push_back('\0');  // The end is not part of the range.
  const rocksdb::Slice first(smallest);
  const rocksdb::Slice end(largest);
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  // In a reverse family the range runs from the end to the beginning, where the bounds lie the
  // other way: its keys are checked instead.
  if (!rows.family().reverse) {
    options.iterate_lower_bound = &first;
    options.iterate_upper_bound = &end;
  }
  const std::unique_ptr<rocksdb::Iterator> iterator(
      database_->rocksdb()->NewIterator(options, rows.family().handle));
  iterator->Seek(rows.family().reverse ? end : first);
  CAIRN_RETURN_IF_ERROR(FromRocksDb(iterator->status()));
  if (iterator->Valid() && iterator->key().compare(first) >= 0 &&
      iterator->key().compare(end) < 0) {
    return Status(StatusCode::kOverlap);
  }
  return Status();
}

void BulkLoad::Discard() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  indexes_.clear();
  buffered_bytes_ = 0;
  memory_.Set(0);
}

}  // namespace cairn
