// Renaming: one entry, or all partitions of a table at once.
//
// The server renames a partitioned table partition by partition, and its recovery knows only
// tables. All partitions therefore go in one batch.
#include <algorithm>
#include <utility>

#include "engine/catalog/dictionary.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

// Adds the names that begin so.
template <typename Entries>
void AddNames(const Entries& entries, const std::string& beginning,
              std::vector<std::string>* names) {
  for (auto entry = entries.lower_bound(beginning);
       entry != entries.end() && entry->first.starts_with(beginning); ++entry) {
    names->push_back(entry->first);
  }
}

}  // namespace

std::vector<std::string> Dictionary::EntriesOf(std::string_view table) const {
  std::shared_lock lock(map_mutex_);
  std::vector<std::string> names;
  if (tables_.contains(table)) names.emplace_back(table);
  AddNames(tables_, std::string(table) + "#P#", &names);
  return names;
}

std::vector<std::string> Dictionary::EntriesOfDatabase(std::string_view database) const {
  std::shared_lock lock(map_mutex_);
  const std::string first = std::string(database) + ".";
  std::vector<std::string> names;
  AddNames(tables_, first, &names);
  AddNames(quarantined_, first, &names);
  return names;
}

bool Dictionary::SharesVersion(std::string_view path,
                               const std::vector<std::string>& leaving) const {
  std::shared_lock lock(map_mutex_);
  // Names of one path are neighbours, but for the dot that the path has as a slash.
  std::string table(path.substr(2));
  std::replace(table.begin(), table.end(), '/', '.');
  for (auto entry = tables_.lower_bound(table);
       entry != tables_.end() && entry->first.starts_with(table); ++entry) {
    if (TableOfEntry(entry->first) != table) continue;
    if (std::find(leaving.begin(), leaving.end(), entry->first) == leaving.end()) return true;
  }
  return false;
}

Result<ForeignKeyPlan> Dictionary::PlanForeignKeyRenames(const std::vector<Renaming>& renamings) {
  std::set<std::string> tables;
  for (const auto& [from, to] : renamings) tables.insert({from, to});
  ForeignKeyPlan plan = PlanForeignKeys(tables);
  for (const auto& [from, to] : renamings) {
    uint32_t number = 0;
    if (const uint32_t count = plan.NumbersToRename(from, to); count != 0) {
      CAIRN_ASSIGN_OR_RETURN(number, AllocateIndexNumbers(count, Sync::kYes));
    }
    plan.Rename(from, to, number);
  }
  CAIRN_RETURN_IF_ERROR(plan.Finish());
  return plan;
}

Status Dictionary::Rename(const std::vector<Renaming>& renamings,
                          const DefinitionCopy* definition) {
  rocksdb::WriteBatch batch;
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  std::vector<std::string> leaving;
  leaving.reserve(renamings.size());
  for (const Renaming& renaming : renamings) leaving.push_back(renaming.from);
  for (const Renaming& renaming : renamings) {
    CAIRN_RETURN_IF_ERROR(CheckNotQuarantined(renaming.from));
    CAIRN_RETURN_IF_ERROR(CheckNotQuarantined(renaming.to));
    const std::shared_ptr<const TableDefinition> table = Find(renaming.from);
    if (table == nullptr || table->temporary) {
      return Status(StatusCode::kNotFound, renaming.from);
    }
    if (Find(renaming.to) != nullptr) return Status(StatusCode::kAlreadyExists, renaming.to);
  }
  CAIRN_ASSIGN_OR_RETURN(const ForeignKeyPlan plan, PlanForeignKeyRenames(renamings));
  for (const Renaming& renaming : renamings) {
    TableDefinition renamed = *Find(renaming.from);
    renamed.name = renaming.to;
    SetGuards(plan.Guards(renaming.to), &renamed);
    CAIRN_RETURN_IF_ERROR(PutTable(renamed, &batch));
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, TableKey(renaming.from))));
    const std::string from_path = TableVersionPath(renaming.from);
    const std::string to_path = TableVersionPath(renaming.to);
    if (from_path == to_path) continue;
    if (!SharesVersion(to_path, {})) {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t version, LoadTableVersion(from_path));
      CAIRN_RETURN_IF_ERROR(
          FromRocksDb(batch.Put(system, TableVersionKey(to_path), EncodeTableVersion(version))));
    }
    if (!SharesVersion(from_path, leaving)) {
      CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Delete(system, TableVersionKey(from_path))));
    }
  }
  DefinitionChanges definitions;
  CAIRN_RETURN_IF_ERROR(PutDefinitionsOfRenamed(renamings, definition, &definitions, &batch));
  CAIRN_ASSIGN_OR_RETURN(auto guarded, PutForeignKeys(plan, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  {
    std::unique_lock lock(map_mutex_);
    for (const Renaming& renaming : renamings) {
      const auto found = tables_.find(renaming.from);
      auto renamed = std::make_shared<TableDefinition>(*found->second);
      renamed->name = renaming.to;
      SetGuards(plan.Guards(renaming.to), renamed.get());
      tables_.erase(found);
      tables_.emplace(renaming.to, std::move(renamed));
    }
    ApplyDefinitions(std::move(definitions));
    ApplyForeignKeys(plan, std::move(guarded));
  }
  for (const Renaming& renaming : renamings) {
    NoteRedefined(Find(renaming.to)->counters.get());
    if (TableOfEntry(renaming.from) != TableOfEntry(renaming.to)) NotePartitionLeft(renaming.from);
  }
  return Status();
}

Status Dictionary::RenameTable(std::string_view from, std::string_view to,
                               const DefinitionCopy* definition) {
  std::lock_guard change(change_mutex_);
  return Rename({{std::string(from), std::string(to)}}, definition);
}

Status Dictionary::RenamePartitions(std::string_view from, std::string_view to) {
  std::lock_guard change(change_mutex_);
  if (!EntriesOf(to).empty()) return Status(StatusCode::kAlreadyExists, std::string(to));
  std::vector<Renaming> renamings;
  for (const std::string& entry : EntriesOf(from)) {
    if (entry == from) continue;
    renamings.push_back({entry, std::string(to) + entry.substr(from.size())});
  }
  if (renamings.empty()) return Status(StatusCode::kNotFound, std::string(from));
  return Rename(renamings, /*definition=*/nullptr);
}

}  // namespace cairn
