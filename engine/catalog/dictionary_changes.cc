// What an ALTER TABLE that stays in place makes of tables: new indexes begin, then all of its
// changes are one batch.
#include <algorithm>
#include <utility>

#include "engine/catalog/dictionary.h"
#include "engine/catalog/expiry_rules.h"
#include "engine/codec/layout_history_record.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/write_batch.h"

namespace cairn {

Result<std::vector<IndexDefinition>> Dictionary::BeginIndexes(
    const std::vector<NewIndex>& indexes) {
  std::lock_guard change(change_mutex_);
  CAIRN_ASSIGN_OR_RETURN(std::vector<IndexDefinition> begun, MakeIndexes(indexes, Sync::kYes));
  rocksdb::WriteBatch batch;
  CAIRN_ASSIGN_OR_RETURN(auto new_family_flags, PutNewFamilies(indexes, begun, &batch));
  for (const IndexDefinition& index : begun) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(
        database_->system_family().handle,
        IndexKey(DictionaryRecordType::kIndexCreateOngoing, index.id), EncodeOngoingMark())));
  }
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  family_flags_.merge(new_family_flags);
  return begun;
}

void Dictionary::AbandonIndexes(const std::vector<IndexDefinition>& begun) {
  std::lock_guard change(change_mutex_);
  for (const IndexDefinition& index : begun) database_->dropped_indexes().Add(index.id);
}

Result<std::vector<IndexDefinition>> Dictionary::IndexesAfter(const TableChange& change,
                                                              const TableDefinition& table) const {
  std::vector<IndexDefinition> indexes;
  for (const IndexId id : change.indexes) {
    const IndexDefinition* found = nullptr;
    for (const auto* candidates : {&table.indexes, &change.added}) {
      for (const IndexDefinition& index : *candidates) {
        if (index.id == id) found = &index;
      }
    }
    if (found == nullptr) {
      return Status(StatusCode::kInvalidArgument,
                    "table " + table.name + " has no index " + std::to_string(id.index_number));
    }
    IndexDefinition& index = indexes.emplace_back(*found);
    if (const auto info = change.infos.find(id); info != change.infos.end()) {
      index.info.ttl_seconds = info->second.ttl_seconds;
      index.info.features = info->second.features;
      if (index.info != info->second) {
        return Status(StatusCode::kInvalidArgument,
                      "table " + table.name + ": the entries of index " +
                          std::to_string(id.index_number) + " are of another format");
      }
    }
    if (index.info.kind != IndexKind::kSecondary && change.history != nullptr) {
      index.history = change.history;
    }
    if (((index.info.features & kFeatureRowLayouts) != 0) != (index.history != nullptr)) {
      return Status(StatusCode::kInvalidArgument,
                    "table " + table.name +
                        ": its record and the history of its row layouts go "
                        "together");
    }
  }
  return indexes;
}

// The next auto-increment value to store under the primary key's number; 0: nothing is to be
// stored. Values that were handed out and rolled back are not handed out again after a crash, as it
// is with a copy of the table.
Result<uint64_t> Dictionary::NextAutoIncrement(const TableChange& change,
                                               const TableDefinition& table,
                                               const TableDefinition& changed) const {
  if (change.next_auto_increment.has_value()) return *change.next_auto_increment;
  CAIRN_ASSIGN_OR_RETURN(const uint64_t stored, LoadAutoIncrement(table));
  const uint64_t next = std::max(stored, table.counters->next_auto_increment.load());
  const bool is_stored = next == stored && AutoIncrementKey(table) == AutoIncrementKey(changed);
  return next <= 1 || is_stored ? uint64_t{0} : next;
}

Status Dictionary::PutChange(const TableChange& change, const TableDefinition& table,
                             const TableDefinition& changed,
                             std::map<std::string, uint64_t>* versions,
                             rocksdb::WriteBatch* batch) const {
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  CAIRN_RETURN_IF_ERROR(PutTable(changed, batch));
  for (const IndexDefinition& index : change.added) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        batch->Delete(system, IndexKey(DictionaryRecordType::kIndexCreateOngoing, index.id))));
  }
  for (const IndexDefinition& index : changed.indexes) {
    if (change.history == nullptr || index.history != change.history) continue;
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch->Put(system, IndexKey(DictionaryRecordType::kLayoutHistory, index.id),
                               EncodeLayoutHistory(*index.history))));
  }
  CAIRN_ASSIGN_OR_RETURN(const uint64_t next_value, NextAutoIncrement(change, table, changed));
  if (next_value != 0) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        batch->Put(system, AutoIncrementKey(changed), EncodeAutoIncrement(next_value))));
  }
  const std::string path = TableVersionPath(changed.name);
  CAIRN_ASSIGN_OR_RETURN((*versions)[path], LoadTableVersion(path));
  return Status();
}

Status Dictionary::ResetTableVersion(std::string_view table_name) {
  const std::lock_guard change(change_mutex_);
  const std::string path = TableVersionPath(table_name);
  CAIRN_ASSIGN_OR_RETURN(const uint64_t version, LoadTableVersion(path));
  if (version == 0) return Status();
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(
      batch.Put(database_->system_family().handle, TableVersionKey(path), EncodeTableVersion(0))));
  return Write(&batch);
}

Status Dictionary::ChangeTables(const std::vector<TableChange>& changes) {
  std::lock_guard change(change_mutex_);
  rocksdb::WriteBatch batch;
  std::vector<std::shared_ptr<TableDefinition>> changed_tables;
  TableDefinition dropped;  // Only its indexes count.
  std::map<std::string, uint64_t> versions;
  CAIRN_ASSIGN_OR_RETURN(const ForeignKeyPlan plan, PlanForeignKeyChanges(changes));
  for (const TableChange& table_change : changes) {
    CAIRN_RETURN_IF_ERROR(CheckNotQuarantined(table_change.table_name));
    const std::shared_ptr<const TableDefinition> table = Find(table_change.table_name);
    if (table == nullptr || table->temporary) {
      return Status(StatusCode::kNotFound, table_change.table_name);
    }
    const auto& changed = changed_tables.emplace_back(std::make_shared<TableDefinition>(*table));
    CAIRN_ASSIGN_OR_RETURN(changed->indexes, IndexesAfter(table_change, *table));
    SetGuards(plan.Guards(table->name), changed.get());
    if (table_change.build != nullptr) {
      changed->build = nullptr;
      CAIRN_RETURN_IF_ERROR(PutDeltaDrops(*table_change.build, &batch));
    }
    for (const IndexDefinition& index : table->indexes) {
      if (std::find(table_change.indexes.begin(), table_change.indexes.end(), index.id) ==
          table_change.indexes.end()) {
        dropped.indexes.push_back(index);
      }
    }
    CAIRN_RETURN_IF_ERROR(PutChange(table_change, *table, *changed, &versions, &batch));
  }
  for (const auto& [path, version] : versions) {
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch.Put(database_->system_family().handle, TableVersionKey(path),
                              EncodeTableVersion(version + 1))));
  }
  CAIRN_RETURN_IF_ERROR(PutDropMarks(dropped, &batch));
  DefinitionChanges definitions;
  CAIRN_RETURN_IF_ERROR(PutDefinitionsOfChanged(changes, changed_tables, &definitions, &batch));
  CAIRN_ASSIGN_OR_RETURN(auto guarded, PutForeignKeys(plan, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  for (const IndexDefinition& index : dropped.indexes) database_->dropped_indexes().Add(index.id);
  for (size_t i = 0; i < changes.size(); ++i) {
    database_->expiry().Add(ExpiryRules(*changed_tables[i]));
    if (changes[i].redefines) {
      NoteRedefined(changed_tables[i]->counters.get());
      // Under another primary key nobody had to tell which values rows have.
      changed_tables[i]->counters->largest_given_value = UINT64_MAX;
    }
    if (!changes[i].next_auto_increment.has_value()) continue;
    MoveAutoIncrement(changed_tables[i]->counters.get(), *changes[i].next_auto_increment);
  }
  for (const TableChange& table_change : changes) EndBuild(table_change.build.get());
  std::unique_lock lock(map_mutex_);
  for (std::shared_ptr<TableDefinition>& changed : changed_tables) {
    tables_.find(changed->name)->second = std::move(changed);
  }
  ApplyDefinitions(std::move(definitions));
  ApplyForeignKeys(plan, std::move(guarded));
  return Status();
}

}  // namespace cairn
