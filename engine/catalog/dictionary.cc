#include "engine/catalog/dictionary.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/catalog/expiry_rules.h"
#include "engine/codec/index_statistics.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/directory_marker.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

constexpr std::string_view kPartitionMark = "#P#";

}  // namespace

std::string_view TableOfEntry(std::string_view entry) {
  return entry.substr(0, entry.find(kPartitionMark));
}

std::string TableVersionPath(std::string_view table_name) {
  std::string path = "./" + std::string(TableOfEntry(table_name));
  const size_t dot = path.find('.', 2);
  if (dot != std::string::npos) path[dot] = '/';
  return path;
}

Status Dictionary::SaveStatistics() {
  std::lock_guard change(change_mutex_);
  const std::vector<IndexStatistics> changed = database_->file_statistics().TakeChanged();
  if (changed.empty()) return Status();
  std::set<IndexId> existing;
  for (const auto& table : Tables()) {
    for (const IndexDefinition& index : table->indexes) existing.insert(index.id);
  }
  rocksdb::WriteBatch batch;
  for (const IndexStatistics& statistics : changed) {
    if (!existing.contains(statistics.id)) continue;
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch.Put(database_->system_family().handle,
                              IndexKey(DictionaryRecordType::kIndexStatistics, statistics.id),
                              EncodeIndexStatistics({statistics}))));
  }
  return batch.Count() == 0 ? Status() : Write(&batch, Sync::kNo);
}

uint64_t Dictionary::StateNumber() const {
  rocksdb::TransactionDB* const database = database_->rocksdb();
  const rocksdb::Snapshot* const snapshot = database->GetSnapshot();
  const uint64_t number = snapshot->GetSequenceNumber();
  database->ReleaseSnapshot(snapshot);
  return number;
}

void Dictionary::NoteRedefined(TableCounters* counters) const {
  counters->defined_at.store(StateNumber(), std::memory_order_release);
}

void Dictionary::NotePartitionLeft(std::string_view entry) const {
  const std::string_view table = TableOfEntry(entry);
  if (table.size() == entry.size()) return;
  for (const std::string& sibling : EntriesOf(table)) {
    if (const auto remaining = Find(sibling)) NoteRedefined(remaining->counters.get());
  }
}

// Rows that a snapshot saw cannot have been in a partition that came later: what an old snapshot
// finds in it is right, unless another partition of the table has gone meanwhile, perhaps one of
// the same name.
uint64_t Dictionary::DefinedAtOfNewEntry(std::string_view entry) const {
  const std::string_view table = TableOfEntry(entry);
  uint64_t latest = 0;
  bool has_siblings = false;
  if (table.size() != entry.size()) {
    for (const std::string& name : EntriesOf(table)) {
      const auto sibling = Find(name);
      if (sibling == nullptr) continue;
      has_siblings = true;
      latest = std::max(latest, sibling->counters->defined_at.load(std::memory_order_acquire));
    }
  }
  return has_siblings ? latest : StateNumber();
}

std::shared_ptr<const TableDefinition> Dictionary::Find(std::string_view name) const {
  std::shared_lock lock(map_mutex_);
  for (const auto* tables : {&tables_, &temporary_tables_}) {
    const auto found = tables->find(name);
    if (found != tables->end()) return found->second;
  }
  return nullptr;
}

std::vector<std::shared_ptr<const TableDefinition>> Dictionary::Tables() const {
  std::shared_lock lock(map_mutex_);
  std::vector<std::shared_ptr<const TableDefinition>> tables;
  tables.reserve(tables_.size());
  for (const auto& [name, table] : tables_) tables.push_back(table);
  return tables;
}

std::optional<QuarantinedTable> Dictionary::FindQuarantined(std::string_view name) const {
  std::shared_lock lock(map_mutex_);
  const auto found = quarantined_.find(name);
  return found == quarantined_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<QuarantinedTable> Dictionary::QuarantinedTables() const {
  std::shared_lock lock(map_mutex_);
  std::vector<QuarantinedTable> tables;
  for (const auto& [name, table] : quarantined_) tables.push_back(table);
  return tables;
}

Status Dictionary::CheckNotQuarantined(std::string_view name) const {
  const auto quarantined = FindQuarantined(name);
  if (!quarantined.has_value()) return Status();
  return Status(StatusCode::kQuarantined,
                "table " + quarantined->name + " is quarantined: " + quarantined->reason);
}

Status Dictionary::SetFormat(DirectoryFormat format) {
  std::lock_guard change(change_mutex_);
  if (format == this->format()) return Status();
  CAIRN_RETURN_IF_ERROR(WriteDirectoryMarker(database_->env(), database_->directory()));
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(
      database_->system_family().handle, DirectoryFormatKey(), EncodeDirectoryFormat(format))));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  format_.store(format, std::memory_order_relaxed);
  return Status();
}

Status Dictionary::Write(rocksdb::WriteBatch* batch, Sync sync) const {
  rocksdb::WriteOptions options;
  options.sync = sync == Sync::kYes;
  rocksdb::TransactionDBWriteOptimizations optimizations;
  optimizations.skip_concurrency_control = true;  // No transaction locks dictionary keys.
  return FromRocksDb(database_->rocksdb()->Write(options, optimizations, batch))
      .WithContext("writing the data dictionary");
}

Result<std::optional<std::string>> Dictionary::Read(std::string_view key) const {
  std::string value;
  const rocksdb::Status read = database_->rocksdb()->Get(
      rocksdb::ReadOptions(), database_->system_family().handle, key, &value);
  if (read.IsNotFound()) return std::optional<std::string>();
  if (!read.ok()) return FromRocksDb(read).WithContext("reading the data dictionary");
  return std::optional<std::string>(std::move(value));
}

// Returns the first of `count` consecutive numbers. They are recorded before anybody uses them, so
// that no number is ever handed out twice; those of a failed CREATE are lost. Without a sync a
// crash takes the record away together with all that was written under the numbers.
Result<uint32_t> Dictionary::AllocateIndexNumbers(uint32_t count, Sync sync) {
  uint32_t last = max_index_number_.load(std::memory_order_relaxed);
  for (auto taken = reserved_numbers_.upper_bound(last);
       taken != reserved_numbers_.end() && *taken - last <= count; ++taken) {
    last = *taken;
  }
  if (last > UINT32_MAX - 1 - count) {
    return Status(StatusCode::kNotSupported, "all index numbers of this database are used up");
  }
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(
      database_->system_family().handle, MaxIndexNumberKey(), EncodeMaxIndexNumber(last + count))));
  CAIRN_RETURN_IF_ERROR(Write(&batch, sync));
  max_index_number_.store(last + count, std::memory_order_relaxed);
  return last + 1;
}

Result<std::vector<IndexDefinition>> Dictionary::MakeIndexes(const std::vector<NewIndex>& indexes,
                                                             Sync sync) {
  std::vector<IndexDefinition> entries;
  for (const NewIndex& index : indexes) {
    if (index.format_version == kCairnFormatVersion && format() != DirectoryFormat::kCairn) {
      return Status(StatusCode::kNotSupported,
                    "an index of the Cairn format in a directory that is kept in the stock format");
    }
    if (index.family_name == kSystemColumnFamily) {
      return Status(
          StatusCode::kInvalidArgument,
          "the column family __system__ holds the data dictionary and cannot hold an index");
    }
    CAIRN_ASSIGN_OR_RETURN(const ColumnFamily* const family,
                           database_->families().FindOrCreate(index.family_name));
    const auto bad = bad_families_.find(family->id);
    if (bad != bad_families_.end()) {
      return Status(StatusCode::kQuarantined,
                    "the column family " + index.family_name + " cannot be used: " + bad->second);
    }
    IndexDefinition& entry = entries.emplace_back();
    entry.id.column_family = family->id;
    entry.info.kind = index.kind;
    entry.info.format_version = index.format_version;
    entry.info.features = index.features;
    entry.info.has_ttl_stamp = index.ttl_seconds > 0;
    entry.info.ttl_seconds = index.ttl_seconds;
    entry.family = family;
  }
  CAIRN_ASSIGN_OR_RETURN(uint32_t index_number,
                         AllocateIndexNumbers(static_cast<uint32_t>(indexes.size()), sync));
  for (IndexDefinition& entry : entries) entry.id.index_number = index_number++;
  return entries;
}

Result<std::map<uint32_t, uint32_t>> Dictionary::PutNewFamilies(
    const std::vector<NewIndex>& indexes, const std::vector<IndexDefinition>& entries,
    rocksdb::WriteBatch* batch) const {
  std::map<uint32_t, uint32_t> new_family_flags;
  for (size_t i = 0; i < indexes.size(); ++i) {
    const uint32_t family = entries[i].id.column_family;
    if (family_flags_.contains(family)) continue;
    const uint32_t flags = (entries[i].family->reverse ? kColumnFamilyReverse : 0) |
                           (indexes[i].family_per_partition ? kColumnFamilyPerPartition : 0);
    new_family_flags.emplace(family, flags);
  }
  for (const auto& [family, flags] : new_family_flags) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Put(
        database_->system_family().handle, ColumnFamilyKey(family), EncodeColumnFamily(flags))));
  }
  return new_family_flags;
}

Result<std::shared_ptr<const TableDefinition>> Dictionary::CreateTable(
    std::string_view name, const std::vector<NewIndex>& indexes,
    std::optional<uint64_t> next_auto_increment, TableLifetime lifetime,
    const std::vector<ForeignKeyRecord>& foreign_keys, const DefinitionCopy* definition) {
  std::lock_guard change(change_mutex_);
  const bool temporary = lifetime == TableLifetime::kTemporary;
  // What a crash is to remove anyway need not be on disk.
  const Sync sync = temporary ? Sync::kNo : Sync::kYes;
  if (Find(name) != nullptr) return Status(StatusCode::kAlreadyExists, std::string(name));
  CAIRN_RETURN_IF_ERROR(CheckNotQuarantined(name));

  auto table = std::make_shared<TableDefinition>();
  table->name = name;
  table->temporary = temporary;
  table->counters = std::make_shared<TableCounters>();
  table->counters->next_hidden_key = 1;
  CAIRN_ASSIGN_OR_RETURN(table->indexes, MakeIndexes(indexes, sync));
  std::set<std::string> concerned{table->name};
  AddReplaced(foreign_keys, &concerned);
  ForeignKeyPlan plan = PlanForeignKeys(concerned);
  if (!temporary) {
    plan.Create(table->name);
    CAIRN_RETURN_IF_ERROR(AddForeignKeys(table->name, foreign_keys, &plan));
  } else if (!foreign_keys.empty()) {
    return Status(StatusCode::kInvalidArgument, "a temporary table cannot have foreign keys");
  }
  CAIRN_RETURN_IF_ERROR(plan.Finish());
  SetGuards(temporary ? 0 : plan.Guards(name), table.get());
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  rocksdb::WriteBatch batch;
  CAIRN_ASSIGN_OR_RETURN(auto new_family_flags, PutNewFamilies(indexes, table->indexes, &batch));
  if (next_auto_increment.has_value()) {
    table->counters->next_auto_increment = *next_auto_increment;
    table->counters->largest_given_value = 0;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        batch.Merge(system, AutoIncrementKey(*table), EncodeAutoIncrement(*next_auto_increment))));
  }
  CAIRN_RETURN_IF_ERROR(PutTable(*table, &batch));
  if (!temporary) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        batch.Put(system, TableVersionKey(TableVersionPath(name)), EncodeTableVersion(0))));
  }
  DefinitionChanges definitions;
  CAIRN_RETURN_IF_ERROR(PutDefinitionOfNew(*table, definition, &definitions, &batch));
  CAIRN_ASSIGN_OR_RETURN(auto guarded, PutForeignKeys(plan, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch, sync));

  family_flags_.merge(new_family_flags);
  database_->expiry().Add(ExpiryRules(*table));
  // The one session that sees a temporary table saw nothing under its name before.
  if (!temporary) table->counters->defined_at = DefinedAtOfNewEntry(name);
  std::unique_lock lock(map_mutex_);
  (temporary ? temporary_tables_ : tables_).emplace(std::string(name), table);
  ApplyDefinitions(std::move(definitions));
  ApplyForeignKeys(plan, std::move(guarded));
  return std::shared_ptr<const TableDefinition>(std::move(table));
}

Status Dictionary::PutTable(const TableDefinition& table, rocksdb::WriteBatch* batch) const {
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  std::vector<IndexId> ids;
  for (const IndexDefinition& index : table.indexes) {
    ids.push_back(index.id);
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Put(
        system, IndexKey(DictionaryRecordType::kIndex, index.id), EncodeIndexInfo(index.info))));
    if (!table.temporary) continue;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        batch->Put(system, IndexKey(DictionaryRecordType::kIndexCreateOngoing, index.id),
                   EncodeOngoingMark())));
  }
  if (table.temporary) return Status();
  return FromRocksDb(batch->Put(system, TableKey(table.name), EncodeTable(ids)));
}

Status Dictionary::PutDropMarks(const TableDefinition& table, rocksdb::WriteBatch* batch) const {
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  for (const IndexDefinition& index : table.indexes) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Put(
        system, IndexKey(DictionaryRecordType::kIndexDropOngoing, index.id), EncodeOngoingMark())));
    if (index.info.format_version == kCairnFormatVersion || index.info.features != 0) {
      // The entries go by their number alone, and the stock plug-in is to be able to go on with
      // that.
      const IndexInfo readable{.kind = index.info.kind};
      CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Put(
          system, IndexKey(DictionaryRecordType::kIndex, index.id), EncodeIndexInfo(readable))));
    }
    if (!table.temporary) continue;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        batch->Delete(system, IndexKey(DictionaryRecordType::kIndexCreateOngoing, index.id))));
  }
  return Status();
}

Status Dictionary::DropTables(const std::vector<std::string>& names) {
  std::lock_guard change(change_mutex_);
  if (names.size() == 1 && Find(names.front()) == nullptr) {
    if (const auto quarantined = FindQuarantined(names.front()))
      return DropQuarantined(*quarantined);
  }
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  rocksdb::WriteBatch batch;
  ForeignKeyPlan plan = PlanForeignKeys({names.begin(), names.end()});
  std::vector<std::shared_ptr<const TableDefinition>> dropped;
  for (const std::string& name : names) {
    plan.Drop(name);
    const auto& table = dropped.emplace_back(Find(name));
    if (table == nullptr || table->temporary) return Status(StatusCode::kNotFound, name);
    CAIRN_RETURN_IF_ERROR(PutDropMarks(*table, &batch));
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, TableKey(name))));
    const std::string path = TableVersionPath(name);
    if (SharesVersion(path, names)) continue;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, TableVersionKey(path))));
  }
  CAIRN_RETURN_IF_ERROR(plan.Finish());
  DefinitionChanges definitions;
  CAIRN_RETURN_IF_ERROR(PutDefinitionsOfDropped(names, &definitions, &batch));
  CAIRN_ASSIGN_OR_RETURN(auto guarded, PutForeignKeys(plan, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  for (const auto& table : dropped) {
    table->counters->dropped.store(true, std::memory_order_relaxed);
    for (const IndexDefinition& index : table->indexes) database_->dropped_indexes().Add(index.id);
  }
  {
    std::unique_lock lock(map_mutex_);
    for (const std::string& name : names) tables_.erase(name);
    ApplyDefinitions(std::move(definitions));
    ApplyForeignKeys(plan, std::move(guarded));
  }
  for (const std::string& name : names) NotePartitionLeft(name);
  return Status();
}

// Its indexes are marked as dropped where nothing else can be meant. The stock plug-in wants a
// readable record for every mark: the data of an index without one goes by its number alone, so
// that any will do.
Status Dictionary::DropQuarantined(const QuarantinedTable& table) {
  std::set<uint32_t> others;  // Index numbers that another table claims.
  for (const auto& other : Tables()) {
    for (const IndexDefinition& index : other->indexes) others.insert(index.id.index_number);
  }
  for (const QuarantinedTable& other : QuarantinedTables()) {
    if (other.name == table.name) continue;
    for (const IndexId id : other.indexes) others.insert(id.index_number);
  }
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  rocksdb::WriteBatch batch;
  std::set<IndexId> dropped;
  for (const IndexId id : std::set<IndexId>(table.indexes.begin(), table.indexes.end())) {
    if (others.contains(id.index_number)) continue;
    CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> record,
                           Read(IndexKey(DictionaryRecordType::kIndex, id)));
    if (!record.has_value() || !DecodeIndexInfo(*record).ok()) {
      CAIRN_RETURN_IF_ERROR(
          FromRocksDb(batch.Put(system, IndexKey(DictionaryRecordType::kIndex, id),
                                EncodeIndexInfo(IndexInfo{.kind = IndexKind::kSecondary}))));
    }
    if (!CanHoldIndex(id)) continue;  // The record alone stays, so that the number is not used.
    dropped.insert(id);
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(
        system, IndexKey(DictionaryRecordType::kIndexDropOngoing, id), EncodeOngoingMark())));
  }
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, TableKey(table.name))));
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(batch.Delete(system, TableVersionKey(TableVersionPath(table.name)))));
  DefinitionChanges definitions;
  CAIRN_RETURN_IF_ERROR(PutDefinitionsOfDropped({table.name}, &definitions, &batch));
  ForeignKeyPlan plan = PlanForeignKeys({table.name});
  plan.Drop(table.name);
  CAIRN_RETURN_IF_ERROR(plan.Finish());
  CAIRN_ASSIGN_OR_RETURN(auto guarded, PutForeignKeys(plan, &batch));
  CAIRN_ASSIGN_OR_RETURN(auto damaged, PutDamagedForeignKeyDrops(table, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  damaged_foreign_keys_ = std::move(damaged);
  for (const IndexId id : dropped) database_->dropped_indexes().Add(id);
  std::unique_lock lock(map_mutex_);
  quarantined_.erase(quarantined_.find(table.name));
  ApplyDefinitions(std::move(definitions));
  ApplyForeignKeys(plan, std::move(guarded));
  return Status();
}

std::shared_ptr<const TableDefinition> Dictionary::ForgetTemporaryTable(std::string_view name) {
  std::unique_lock lock(map_mutex_);
  const auto found = temporary_tables_.find(name);
  if (found == temporary_tables_.end()) return nullptr;
  std::shared_ptr<const TableDefinition> table = found->second;
  temporary_tables_.erase(found);
  return table;
}

Status Dictionary::DropForgottenTable(const TableDefinition& table) {
  std::lock_guard change(change_mutex_);
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(PutDropMarks(table, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch, Sync::kNo));
  table.counters->dropped.store(true, std::memory_order_relaxed);
  for (const IndexDefinition& index : table.indexes) database_->dropped_indexes().Add(index.id);
  return Status();
}

bool Dictionary::CanHoldIndex(IndexId id) const {
  return id.index_number >= kFirstUserIndexNumber && id.index_number <= max_index_number() &&
         id.column_family != database_->system_family().id;
}

Status Dictionary::TruncateTables(const std::vector<std::string>& names) {
  std::lock_guard change(change_mutex_);
  std::vector<std::shared_ptr<const TableDefinition>> tables;
  uint32_t index_count = 0;
  Sync sync = Sync::kNo;
  for (const std::string& name : names) {
    const auto& table = tables.emplace_back(Find(name));
    if (table == nullptr) return Status(StatusCode::kNotFound, name);
    if (!table->temporary) sync = Sync::kYes;
    index_count += static_cast<uint32_t>(table->indexes.size());
  }
  CAIRN_ASSIGN_OR_RETURN(uint32_t index_number, AllocateIndexNumbers(index_count, sync));
  rocksdb::WriteBatch batch;
  // Only definitions change.
  ForeignKeyPlan plan = PlanForeignKeys({names.begin(), names.end()});
  std::vector<std::shared_ptr<TableDefinition>> emptied;
  for (const auto& table : tables) {
    const auto& empty = emptied.emplace_back(std::make_shared<TableDefinition>(*table));
    empty->counters = std::make_shared<TableCounters>();
    empty->counters->next_auto_increment = 1;
    empty->counters->largest_given_value = 0;
    empty->counters->next_hidden_key = 1;
    for (IndexDefinition& index : empty->indexes) {
      index.id.index_number = index_number++;
      index.built_at = 0;
      // There are no rows of another layout.
      index.info.features &= ~kFeatureRowLayouts;
      index.history = nullptr;
    }
    CAIRN_RETURN_IF_ERROR(PutDropMarks(*table, &batch));
    CAIRN_RETURN_IF_ERROR(PutTable(*empty, &batch));
    if (table->temporary) continue;
    plan.Change(table->name);
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(database_->system_family().handle,
                                                TableVersionKey(TableVersionPath(table->name)),
                                                EncodeTableVersion(0))));
  }
  CAIRN_RETURN_IF_ERROR(plan.Finish());
  DefinitionChanges definitions;
  CAIRN_RETURN_IF_ERROR(PutDefinitionsOfEmptied(emptied, &definitions, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch, sync));
  for (const auto& table : tables) {
    table->counters->dropped.store(true, std::memory_order_relaxed);
    for (const IndexDefinition& index : table->indexes) database_->dropped_indexes().Add(index.id);
  }
  for (const auto& empty : emptied) {
    database_->expiry().Add(ExpiryRules(*empty));
    if (!empty->temporary) NoteRedefined(empty->counters.get());
  }
  std::unique_lock lock(map_mutex_);
  for (auto& empty : emptied) {
    auto& map = empty->temporary ? temporary_tables_ : tables_;
    map.find(empty->name)->second = std::move(empty);
  }
  ApplyDefinitions(std::move(definitions));
  ApplyForeignKeys(plan, {});
  return Status();
}

std::string Dictionary::AutoIncrementKey(const TableDefinition& table) {
  for (const IndexDefinition& index : table.indexes) {
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
  MoveAutoIncrement(table.counters.get(), next_value);
  return Status();
}

void Dictionary::MoveAutoIncrement(TableCounters* counters, uint64_t next_value) {
  // Rows may have values that are going to be handed out again.
  const std::lock_guard loading(counters->initialise);
  counters->RaiseLargestGivenValue(counters->next_auto_increment.load());
  counters->RaiseLargestGivenValue(counters->next_auto_increment.exchange(next_value));
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
        DictionaryRecordType::kAutoIncrement, DictionaryRecordType::kLayoutHistory}) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, IndexKey(type, id))));
  }
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  database_->dropped_indexes().Remove(id);
  database_->expiry().Remove(id);
  database_->file_statistics().Remove(id);
  database_->key_layouts().Remove(id);
  return Status();
}

}  // namespace cairn
