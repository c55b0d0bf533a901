// Builds of indexes while others write to their table: how they begin and end in the dictionary.
#include <utility>

#include "engine/catalog/dictionary.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/write_batch.h"

namespace cairn {

Result<std::shared_ptr<IndexBuildState>> Dictionary::BeginBuild(
    std::string_view table_name, const std::vector<NewIndex>& indexes,
    std::vector<IndexLayout> layouts) {
  CAIRN_ASSERT(indexes.size() == layouts.size());
  CAIRN_RETURN_IF_ERROR(CheckNotQuarantined(table_name));
  const auto table = Find(table_name);
  if (table == nullptr || table->temporary) {
    return Status(StatusCode::kNotFound, std::string(table_name));
  }
  if (table->build != nullptr) {
    return Status(StatusCode::kBusy, "indexes are being added to table " + table->name);
  }
  std::vector<NewIndex> with_deltas = indexes;
  with_deltas.insert(with_deltas.end(), indexes.begin(), indexes.end());
  CAIRN_ASSIGN_OR_RETURN(const std::vector<IndexDefinition> begun, BeginIndexes(with_deltas));
  std::vector<BuildingIndex> building;
  for (size_t i = 0; i < indexes.size(); ++i) {
    building.push_back({begun[i], begun[indexes.size() + i], std::move(layouts[i])});
  }
  auto build = std::make_shared<IndexBuildState>(table->name, std::move(building));
  // The guards of the table may have changed since it was found.
  const std::lock_guard change(change_mutex_);
  const std::unique_lock lock(map_mutex_);
  const auto found = tables_.find(table_name);
  auto changed = std::make_shared<TableDefinition>(*found->second);
  changed->build = build;
  found->second = std::move(changed);
  if (found->second->counters->foreign_key_guards.load() != 0) foreign_keys_.RaiseGeneration();
  return build;
}

void Dictionary::AbandonBuild(IndexBuildState* build) {
  if (build->phase() != IndexBuildState::Phase::kRunning) return;
  const std::lock_guard change(change_mutex_);
  build->Abandon(&database_->dropped_indexes());
  const std::unique_lock lock(map_mutex_);
  const auto found = tables_.find(build->table_name());
  if (found == tables_.end() || found->second->build.get() != build) return;
  auto changed = std::make_shared<TableDefinition>(*found->second);
  changed->build = nullptr;
  found->second = std::move(changed);
  if (found->second->counters->foreign_key_guards.load() != 0) foreign_keys_.RaiseGeneration();
}

// A delta has had no record, which the stock plug-in wants for every mark.
Status Dictionary::PutDeltaDrops(const IndexBuildState& build, rocksdb::WriteBatch* batch) const {
  if (build.phase() != IndexBuildState::Phase::kRunning) {
    return Status(StatusCode::kInternal,
                  "table " + build.table_name() + ": a build of indexes has ended before");
  }
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  TableDefinition deltas;  // Only its indexes count.
  for (const BuildingIndex& index : build.indexes()) {
    deltas.indexes.push_back(index.delta);
    const IndexId id = index.delta.id;
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch->Put(system, IndexKey(DictionaryRecordType::kIndex, id),
                               EncodeIndexInfo(IndexInfo{.kind = IndexKind::kSecondary}))));
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        batch->Delete(system, IndexKey(DictionaryRecordType::kIndexCreateOngoing, id))));
  }
  return PutDropMarks(deltas, batch);
}

void Dictionary::EndBuild(IndexBuildState* build) const {
  if (build == nullptr) return;
  build->Publish();
  for (const BuildingIndex& index : build->indexes()) {
    database_->dropped_indexes().Add(index.delta.id);
  }
}

}  // namespace cairn
