#include "engine/catalog/dictionary.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/store/comparator.h"
#include "engine/store/rocksdb_status.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) {
  return rocksdb::Slice(bytes.data(), bytes.size());
}

std::string Describe(IndexId id) {
  return "index " + std::to_string(id.index_number) + " in column family " +
         std::to_string(id.column_family);
}

// Calls `visit(key, value)` for every record of a type, in key order, until it fails.
template <typename Visit>
Status ForEachRecord(const Database& database, DictionaryRecordType type, Visit visit) {
  const std::string prefix = DictionaryPrefix(type);
  const std::string end =
      DictionaryPrefix(static_cast<DictionaryRecordType>(static_cast<uint32_t>(type) + 1));
  rocksdb::Slice upper_bound(end);
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.iterate_upper_bound = &upper_bound;
  std::unique_ptr<rocksdb::Iterator> iterator(
      database.rocksdb()->NewIterator(options, database.system_family().handle));
  for (iterator->Seek(prefix); iterator->Valid(); iterator->Next()) {
    const Status visited = visit(iterator->key().ToStringView(), iterator->value().ToStringView());
    if (!visited.ok()) {
      return visited.WithContext("dictionary record " + ToHex(iterator->key().ToStringView()));
    }
  }
  return FromRocksDb(iterator->status());
}

}  // namespace

std::string TableVersionPath(std::string_view table_name) {
  const size_t partition = table_name.find("#P#");
  std::string path = "./" + std::string(table_name.substr(0, partition));
  const size_t dot = path.find('.', 2);
  if (dot != std::string::npos) path[dot] = '/';
  return path;
}

Result<std::unique_ptr<Dictionary>> Dictionary::Load(Database* database) {
  std::unique_ptr<Dictionary> dictionary(new Dictionary(database));
  CAIRN_RETURN_IF_ERROR(dictionary->LoadRecords());
  CAIRN_RETURN_IF_ERROR(dictionary->WriteRequiredRecords());
  return dictionary;
}

Status Dictionary::LoadRecords() {
  uint32_t max_index_number = kFirstUserIndexNumber - 1;
  CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> max_record, Read(MaxIndexNumberKey()));
  if (max_record.has_value()) {
    CAIRN_ASSIGN_OR_RETURN(const uint32_t stored, DecodeMaxIndexNumber(*max_record));
    max_index_number = std::max(max_index_number, stored);
  }
  max_index_number_.store(max_index_number, std::memory_order_relaxed);

  CAIRN_RETURN_IF_ERROR(
      ForEachRecord(*database_, DictionaryRecordType::kColumnFamily,
                    [this](std::string_view key, std::string_view value) -> Status {
                      CAIRN_ASSIGN_OR_RETURN(const uint32_t family, DecodeColumnFamilyKey(key));
                      CAIRN_ASSIGN_OR_RETURN(const uint32_t flags, DecodeColumnFamily(value));
                      family_flags_[family] = flags;
                      return Status();
                    }));

  std::map<IndexId, IndexInfo> indexes;
  CAIRN_RETURN_IF_ERROR(ForEachRecord(
      *database_, DictionaryRecordType::kIndex,
      [&indexes](std::string_view key, std::string_view value) -> Status {
        CAIRN_ASSIGN_OR_RETURN(const IndexId id, DecodeIndexKey(DictionaryRecordType::kIndex, key));
        CAIRN_ASSIGN_OR_RETURN(indexes[id], DecodeIndexInfo(value));
        return Status();
      }));

  const auto mark_dropped = [&](DictionaryRecordType type) {
    return ForEachRecord(
        *database_, type, [&, type](std::string_view key, std::string_view value) -> Status {
          CAIRN_ASSIGN_OR_RETURN(const IndexId id, DecodeIndexKey(type, key));
          CAIRN_RETURN_IF_ERROR(DecodeOngoingMark(value));
          if (id.index_number > max_index_number) {
            return Status(StatusCode::kCorruption, Describe(id) +
                                                       " is above the largest number handed out, " +
                                                       std::to_string(max_index_number));
          }
          database_->dropped_indexes().Add(id);
          return Status();
        });
  };
  CAIRN_RETURN_IF_ERROR(mark_dropped(DictionaryRecordType::kIndexDropOngoing));
  // An index build that did not finish leaves nothing that anybody refers to.
  CAIRN_RETURN_IF_ERROR(mark_dropped(DictionaryRecordType::kIndexCreateOngoing));

  return ForEachRecord(
      *database_, DictionaryRecordType::kTable,
      [&](std::string_view key, std::string_view value) -> Status {
        CAIRN_ASSIGN_OR_RETURN(std::string name, DecodeTableKey(key));
        auto ids = DecodeTable(value);
        if (!ids.ok()) return ids.status().WithContext("table " + name);
        auto table = std::make_shared<TableDefinition>();
        for (const IndexId id : *ids) {
          const auto info = indexes.find(id);
          const ColumnFamily* family = database_->FindFamily(id.column_family);
          if (info == indexes.end() || family == nullptr || id.index_number > max_index_number) {
            const char* what = info == indexes.end() ? " has no record"
                               : family == nullptr   ? ": the column family does not exist"
                                                     : " is above the largest number handed out";
            return Status(StatusCode::kMetadataMismatch,
                          "table " + name + ", " + Describe(id) + what);
          }
          table->indexes.push_back(IndexEntry{id, info->second, family});
        }
        table->name = name;
        table->counters = std::make_shared<TableCounters>();
        tables_.emplace(std::move(name), std::move(table));
        return Status();
      });
}

Status Dictionary::WriteRequiredRecords() {
  rocksdb::WriteBatch batch;
  for (const ColumnFamily* family : {&database_->system_family(), &database_->default_family()}) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(
        database_->system_family().handle, ColumnFamilyKey(family->id), EncodeColumnFamily(0))));
    family_flags_[family->id] = 0;
  }
  return Write(&batch);
}

std::shared_ptr<const TableDefinition> Dictionary::Find(std::string_view name) const {
  std::shared_lock lock(map_mutex_);
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const TableDefinition>> Dictionary::Tables() const {
  std::shared_lock lock(map_mutex_);
  std::vector<std::shared_ptr<const TableDefinition>> tables;
  tables.reserve(tables_.size());
  for (const auto& [name, table] : tables_) tables.push_back(table);
  return tables;
}

Status Dictionary::Write(rocksdb::WriteBatch* batch) const {
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::TransactionDBWriteOptimizations optimizations;
  optimizations.skip_concurrency_control = true;  // No transaction locks dictionary keys.
  return FromRocksDb(database_->rocksdb()->Write(options, optimizations, batch))
      .WithContext("writing the data dictionary");
}

Result<std::optional<std::string>> Dictionary::Read(std::string_view key) const {
  std::string value;
  const rocksdb::Status read = database_->rocksdb()->Get(
      rocksdb::ReadOptions(), database_->system_family().handle, ToSlice(key), &value);
  if (read.IsNotFound()) return std::optional<std::string>();
  if (!read.ok()) return FromRocksDb(read).WithContext("reading the data dictionary");
  return std::optional<std::string>(std::move(value));
}

// Returns the first of `count` consecutive numbers. They are recorded before anybody uses them, so
// that no number is ever handed out twice; those of a failed CREATE are lost.
Result<uint32_t> Dictionary::AllocateIndexNumbers(uint32_t count) {
  const uint32_t last = max_index_number_.load(std::memory_order_relaxed);
  if (last > UINT32_MAX - 1 - count) {
    return Status(StatusCode::kNotSupported, "all index numbers of this database are used up");
  }
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(
      database_->system_family().handle, MaxIndexNumberKey(), EncodeMaxIndexNumber(last + count))));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  max_index_number_.store(last + count, std::memory_order_relaxed);
  return last + 1;
}

Result<std::shared_ptr<const TableDefinition>> Dictionary::CreateTable(
    std::string_view name, const std::vector<NewIndex>& indexes,
    std::optional<uint64_t> next_auto_increment) {
  std::lock_guard change(change_mutex_);
  if (Find(name) != nullptr) return Status(StatusCode::kAlreadyExists, std::string(name));

  std::vector<const ColumnFamily*> families;
  for (const NewIndex& index : indexes) {
    if (index.family_name == kSystemColumnFamily) {
      return Status(
          StatusCode::kInvalidArgument,
          "the column family __system__ holds the data dictionary and cannot hold an index");
    }
    CAIRN_ASSIGN_OR_RETURN(families.emplace_back(),
                           database_->FindOrCreateFamily(index.family_name));
  }
  CAIRN_ASSIGN_OR_RETURN(uint32_t index_number,
                         AllocateIndexNumbers(static_cast<uint32_t>(indexes.size())));

  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  auto table = std::make_shared<TableDefinition>();
  table->name = name;
  table->counters = std::make_shared<TableCounters>();
  table->counters->next_hidden_key = 1;
  rocksdb::WriteBatch batch;
  std::map<uint32_t, uint32_t> new_family_flags;
  for (size_t i = 0; i < indexes.size(); ++i) {
    IndexEntry entry;
    entry.id = IndexId{families[i]->id, index_number++};
    entry.info.kind = indexes[i].kind;
    entry.info.format_version = indexes[i].format_version;
    entry.info.features = indexes[i].features;
    entry.family = families[i];
    table->indexes.push_back(entry);
    if (family_flags_.contains(entry.id.column_family)) continue;
    const uint32_t flags = (families[i]->reverse ? kColumnFamilyReverse : 0) |
                           (indexes[i].family_per_partition ? kColumnFamilyPerPartition : 0);
    new_family_flags.emplace(entry.id.column_family, flags);
  }
  for (const auto& [family, flags] : new_family_flags) {
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch.Put(system, ColumnFamilyKey(family), EncodeColumnFamily(flags))));
  }
  if (next_auto_increment.has_value()) {
    table->counters->next_auto_increment = *next_auto_increment;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        batch.Merge(system, AutoIncrementKey(*table), EncodeAutoIncrement(*next_auto_increment))));
  }
  CAIRN_RETURN_IF_ERROR(PutTable(*table, &batch));
  CAIRN_RETURN_IF_ERROR(FromRocksDb(
      batch.Put(system, TableVersionKey(TableVersionPath(name)), EncodeTableVersion(0))));
  CAIRN_RETURN_IF_ERROR(Write(&batch));

  family_flags_.merge(new_family_flags);
  std::unique_lock lock(map_mutex_);
  tables_.emplace(std::string(name), table);
  return std::shared_ptr<const TableDefinition>(std::move(table));
}

Status Dictionary::PutTable(const TableDefinition& table, rocksdb::WriteBatch* batch) const {
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  std::vector<IndexId> ids;
  for (const IndexEntry& index : table.indexes) {
    ids.push_back(index.id);
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Put(
        system, IndexKey(DictionaryRecordType::kIndex, index.id), EncodeIndexInfo(index.info))));
  }
  return FromRocksDb(batch->Put(system, TableKey(table.name), EncodeTable(ids)));
}

Status Dictionary::PutDropMarks(const TableDefinition& table, rocksdb::WriteBatch* batch) const {
  for (const IndexEntry& index : table.indexes) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Put(
        database_->system_family().handle,
        IndexKey(DictionaryRecordType::kIndexDropOngoing, index.id), EncodeOngoingMark())));
  }
  return Status();
}

Status Dictionary::DropTable(std::string_view name) {
  std::lock_guard change(change_mutex_);
  const std::shared_ptr<const TableDefinition> table = Find(name);
  if (table == nullptr) return Status(StatusCode::kNotFound, std::string(name));
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(PutDropMarks(*table, &batch));
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, TableKey(name))));
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, TableVersionKey(TableVersionPath(name)))));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  for (const IndexEntry& index : table->indexes) database_->dropped_indexes().Add(index.id);
  std::unique_lock lock(map_mutex_);
  tables_.erase(tables_.find(name));
  return Status();
}

Status Dictionary::TruncateTable(std::string_view name) {
  std::lock_guard change(change_mutex_);
  const std::shared_ptr<const TableDefinition> table = Find(name);
  if (table == nullptr) return Status(StatusCode::kNotFound, std::string(name));
  CAIRN_ASSIGN_OR_RETURN(uint32_t index_number,
                         AllocateIndexNumbers(static_cast<uint32_t>(table->indexes.size())));
  auto emptied = std::make_shared<TableDefinition>(*table);
  emptied->counters = std::make_shared<TableCounters>();
  emptied->counters->next_auto_increment = 1;
  emptied->counters->next_hidden_key = 1;
  for (IndexEntry& index : emptied->indexes) index.id.index_number = index_number++;
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(PutDropMarks(*table, &batch));
  CAIRN_RETURN_IF_ERROR(PutTable(*emptied, &batch));
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(batch.Put(database_->system_family().handle,
                            TableVersionKey(TableVersionPath(name)), EncodeTableVersion(0))));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  for (const IndexEntry& index : table->indexes) database_->dropped_indexes().Add(index.id);
  std::unique_lock lock(map_mutex_);
  tables_.find(name)->second = std::move(emptied);
  return Status();
}

Status Dictionary::ChangeIndexes(const std::vector<IndexChange>& changes) {
  std::lock_guard change(change_mutex_);
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  rocksdb::WriteBatch batch;
  std::vector<std::shared_ptr<TableDefinition>> changed_tables;
  TableDefinition dropped;  // Only its indexes count.
  for (const IndexChange& table_change : changes) {
    const std::shared_ptr<const TableDefinition> table = Find(table_change.table_name);
    if (table == nullptr) return Status(StatusCode::kNotFound, table_change.table_name);
    const auto& changed = changed_tables.emplace_back(std::make_shared<TableDefinition>(*table));
    changed->indexes = table_change.indexes;
    for (const IndexEntry& index : table->indexes) {
      const bool stays =
          std::any_of(changed->indexes.begin(), changed->indexes.end(),
                      [&index](const IndexEntry& kept) { return kept.id == index.id; });
      if (!stays) dropped.indexes.push_back(index);
    }
    CAIRN_RETURN_IF_ERROR(PutTable(*changed, &batch));
    const std::string path = TableVersionPath(table->name);
    CAIRN_ASSIGN_OR_RETURN(const uint64_t version, LoadTableVersion(path));
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch.Put(system, TableVersionKey(path), EncodeTableVersion(version + 1))));
  }
  CAIRN_RETURN_IF_ERROR(PutDropMarks(dropped, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  for (const IndexEntry& index : dropped.indexes) database_->dropped_indexes().Add(index.id);
  std::unique_lock lock(map_mutex_);
  for (std::shared_ptr<TableDefinition>& changed : changed_tables) {
    const auto found = tables_.find(changed->name);
    found->second = std::move(changed);
  }
  return Status();
}

Status Dictionary::RenameTable(std::string_view from, std::string_view to) {
  std::lock_guard change(change_mutex_);
  const std::shared_ptr<const TableDefinition> table = Find(from);
  if (table == nullptr) return Status(StatusCode::kNotFound, std::string(from));
  if (Find(to) != nullptr) return Status(StatusCode::kAlreadyExists, std::string(to));
  auto renamed = std::make_shared<TableDefinition>(*table);
  renamed->name = to;
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(PutTable(*renamed, &batch));
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(batch.Delete(database_->system_family().handle, TableKey(from))));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  std::unique_lock lock(map_mutex_);
  tables_.erase(tables_.find(from));
  tables_.emplace(std::string(to), std::move(renamed));
  return Status();
}

std::string Dictionary::AutoIncrementKey(const TableDefinition& table) {
  for (const IndexEntry& index : table.indexes) {
    if (index.info.kind != IndexKind::kSecondary) {
      return IndexKey(DictionaryRecordType::kAutoIncrement, index.id);
    }
  }
  CAIRN_ASSERT(false);  // Every table has a primary or a hidden primary key.
  return std::string();
}

Result<uint64_t> Dictionary::LoadAutoIncrement(const TableDefinition& table) const {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> record, Read(AutoIncrementKey(table)));
  if (!record.has_value()) return uint64_t{0};
  return DecodeAutoIncrement(*record);
}

Status Dictionary::SetAutoIncrement(const TableDefinition& table, uint64_t next_value) {
  std::lock_guard change(change_mutex_);
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(batch.Put(database_->system_family().handle, AutoIncrementKey(table),
                            EncodeAutoIncrement(next_value))));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  table.counters->next_auto_increment = next_value;
  return Status();
}

Result<uint64_t> Dictionary::LoadTableVersion(std::string_view path) const {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> record, Read(TableVersionKey(path)));
  if (!record.has_value()) return uint64_t{0};
  return DecodeTableVersion(*record);
}

std::vector<IndexId> Dictionary::PendingDrops() const {
  const auto dropped = database_->dropped_indexes().Get();
  return std::vector<IndexId>(dropped->begin(), dropped->end());
}

std::map<uint32_t, uint32_t> Dictionary::FamilyFlags() const {
  std::lock_guard change(change_mutex_);
  return family_flags_;
}

Status Dictionary::ForgetDroppedIndex(IndexId id) {
  std::lock_guard change(change_mutex_);
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  rocksdb::WriteBatch batch;
  for (const DictionaryRecordType type :
       {DictionaryRecordType::kIndexDropOngoing, DictionaryRecordType::kIndexCreateOngoing,
        DictionaryRecordType::kIndex, DictionaryRecordType::kIndexStatistics,
        DictionaryRecordType::kAutoIncrement}) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, IndexKey(type, id))));
  }
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  database_->dropped_indexes().Remove(id);
  database_->known_indexes().Remove(id.index_number);
  return Status();
}

}  // namespace cairn
