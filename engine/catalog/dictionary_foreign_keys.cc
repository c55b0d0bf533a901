// What changes of tables make of foreign keys and their guards, in the batch of the change.
#include <algorithm>
#include <set>
#include <utility>

#include "engine/catalog/dictionary.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

Status InvalidForeignKey(const std::string& child, const std::string& what) {
  return Status(StatusCode::kInvalidArgument, "foreign keys of table " + child + ": " + what);
}

// What was read back differs where a name is too long, columns are missing and so on.
Status CheckNewForeignKey(const std::string& child, const ForeignKeyRecord& record) {
  if (record.child != child) return InvalidForeignKey(child, "one is " + record.child + "'s");
  const auto decoded = DecodeForeignKey(EncodeForeignKey(record));
  if (!decoded.ok()) return InvalidForeignKey(child, decoded.status().ToString());
  return *decoded == record ? Status() : InvalidForeignKey(child, "one does not fit its record");
}

Status CheckNewForeignKeys(const std::string& child, const std::vector<ForeignKeyRecord>& records) {
  if (TableOfEntry(child) != child) return InvalidForeignKey(child, "it is a partition");
  size_t active = 0;
  size_t replaced = 0;
  for (const ForeignKeyRecord& record : records) {
    CAIRN_RETURN_IF_ERROR(CheckNewForeignKey(child, record));
    if (record.state == ForeignKeyState::kPutAside) {
      return InvalidForeignKey(child, "a new table was not put aside");
    }
    active += record.state == ForeignKeyState::kActive;
    replaced += record.state == ForeignKeyState::kReplaces;
  }
  if (!IsServerMade(child)) {
    return active == records.size() ? Status() : InvalidForeignKey(child, "it is no copy");
  }
  if (active == 0 && replaced == 1) return Status();
  return InvalidForeignKey(child, "a copy has intents, and replaces one table");
}

// What a copy is to lose, the table has that it replaces.
Status CheckDroppedForeignKeys(const std::vector<ForeignKeyRecord>& records,
                               const ForeignKeyRecords& existing) {
  std::string replaced;
  for (const ForeignKeyRecord& record : records) {
    if (record.state == ForeignKeyState::kReplaces) replaced = record.parent;
  }
  for (const ForeignKeyRecord& record : records) {
    if (record.state != ForeignKeyState::kToDrop) continue;
    const auto other = existing.find(record.other);
    if (other == existing.end() || other->second.state != ForeignKeyState::kActive ||
        other->second.child != replaced) {
      return Status(StatusCode::kNotFound,
                    "table " + replaced + " has no foreign key " + std::to_string(record.other));
    }
  }
  return Status();
}

// Whether SetGuards would change nothing.
bool HasGuards(uint32_t guards, const TableDefinition& table) {
  return std::all_of(table.indexes.begin(), table.indexes.end(), [&](const IndexDefinition& index) {
    const bool is_row = index.info.kind != IndexKind::kSecondary;
    return (index.info.features & kForeignKeyGuards) == (is_row ? guards : uint32_t{0});
  });
}

}  // namespace

ForeignKeyPlan Dictionary::PlanForeignKeys(const std::set<std::string>& tables) const {
  return ForeignKeyPlan(*foreign_keys_.index_, tables, foreign_keys_.names(),
                        [this](std::string_view name) {
                          const std::shared_lock lock(map_mutex_);
                          return tables_.contains(name) || quarantined_.contains(name);
                        });
}

Status Dictionary::AddForeignKeys(const std::string& child,
                                  const std::vector<ForeignKeyRecord>& records,
                                  ForeignKeyPlan* plan) {
  if (records.empty()) return Status();
  CAIRN_RETURN_IF_ERROR(CheckNewForeignKeys(child, records));
  if (format() != DirectoryFormat::kCairn) {
    return Status(StatusCode::kNotSupported,
                  "a foreign key in a directory that is kept in the stock format");
  }
  // It may be of the same name, and the next start would quarantine the tables of this one too.
  if (!damaged_foreign_keys_.empty()) {
    return Status(StatusCode::kQuarantined,
                  "a record of a foreign key is damaged: none can be added until the tables that "
                  "are quarantined for it are dropped");
  }
  CAIRN_RETURN_IF_ERROR(CheckDroppedForeignKeys(records, plan->before()));
  CAIRN_ASSIGN_OR_RETURN(uint32_t number,
                         AllocateIndexNumbers(static_cast<uint32_t>(records.size()), Sync::kYes));
  for (const ForeignKeyRecord& record : records) plan->Add(number++, record);
  return Status();
}

Result<ForeignKeyPlan> Dictionary::PlanForeignKeyChanges(const std::vector<TableChange>& changes) {
  std::set<std::string> tables;
  for (const TableChange& change : changes) {
    tables.emplace(change.table_name);
    AddReplaced(change.added_foreign_keys, &tables);
  }
  ForeignKeyPlan plan = PlanForeignKeys(tables);
  for (const TableChange& change : changes) {
    plan.Change(change.table_name);
    for (const uint32_t number : change.dropped_foreign_keys) {
      CAIRN_RETURN_IF_ERROR(plan.Remove(number, change.table_name));
    }
    if (!change.renamed_columns.empty()) {
      plan.RenameColumns(change.table_name, change.renamed_columns);
    }
  }
  for (const TableChange& change : changes) {
    CAIRN_RETURN_IF_ERROR(AddForeignKeys(change.table_name, change.added_foreign_keys, &plan));
  }
  CAIRN_RETURN_IF_ERROR(plan.Finish());
  return plan;
}

bool Dictionary::SetGuards(uint32_t guards, TableDefinition* table) {
  bool changed = false;
  for (IndexDefinition& index : table->indexes) {
    const bool is_row = index.info.kind != IndexKind::kSecondary;
    const uint32_t features =
        (index.info.features & ~kForeignKeyGuards) | (is_row ? guards : uint32_t{0});
    changed |= features != index.info.features;
    index.info.features = features;
  }
  return changed;
}

Result<std::vector<std::shared_ptr<TableDefinition>>> Dictionary::PutForeignKeys(
    const ForeignKeyPlan& plan, rocksdb::WriteBatch* batch) const {
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  std::vector<std::shared_ptr<TableDefinition>> guarded;
  for (const auto& [number, record] : plan.before()) {
    if (plan.after().contains(number)) continue;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Delete(system, ForeignKeyKey(number))));
  }
  for (const auto& [number, record] : plan.after()) {
    const auto before = plan.before().find(number);
    if (before != plan.before().end() && before->second == record) continue;
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch->Put(system, ForeignKeyKey(number), EncodeForeignKey(record))));
  }
  if (plan.is_idle()) return guarded;
  for (const std::string& name : plan.Concerned()) {
    if (plan.touched().contains(name)) continue;
    const auto table = Find(name);
    if (table == nullptr || table->temporary) continue;
    if (HasGuards(plan.Guards(name), *table)) continue;
    auto changed = std::make_shared<TableDefinition>(*table);
    SetGuards(plan.Guards(name), changed.get());
    CAIRN_RETURN_IF_ERROR(PutTable(*changed, batch));
    guarded.push_back(std::move(changed));
  }
  return guarded;
}

void Dictionary::ApplyForeignKeys(const ForeignKeyPlan& plan,
                                  std::vector<std::shared_ptr<TableDefinition>> guarded) {
  if (plan.is_idle()) return;
  for (std::shared_ptr<TableDefinition>& table : guarded) {
    const auto found = tables_.find(table->name);
    found->second = std::move(table);
  }
  for (const std::string& name : plan.Concerned()) {
    const auto found = tables_.find(name);
    if (found == tables_.end()) continue;
    found->second->counters->foreign_key_guards.store(plan.Guards(name));
  }
  if (plan.changes_records()) foreign_keys_.Publish(plan.before(), plan.after());
  if (plan.concerns_foreign_keys()) foreign_keys_.RaiseGeneration();
}

std::shared_ptr<const TableDefinition> Dictionary::FindForForeignKeys(std::string_view name) const {
  const std::shared_lock lock(map_mutex_);
  if (const auto found = tables_.find(name); found != tables_.end()) return found->second;
  for (const std::string& table : foreign_keys_.PutAsideFrom(name)) {
    const auto found = tables_.find(table);
    if (found != tables_.end()) return found->second;
  }
  return nullptr;
}

// Of those whose tables cannot be told the last such table takes them along.
Result<std::vector<Dictionary::DamagedForeignKey>> Dictionary::PutDamagedForeignKeyDrops(
    const QuarantinedTable& table, rocksdb::WriteBatch* batch) const {
  const std::vector<QuarantinedTable> all = QuarantinedTables();
  const bool is_last = std::none_of(all.begin(), all.end(), [&table](const auto& other) {
    return other.for_foreign_keys && other.name != table.name;
  });
  std::vector<DamagedForeignKey> remaining;
  for (const DamagedForeignKey& damaged : damaged_foreign_keys_) {
    const bool goes = damaged.child.empty() ? is_last : damaged.child == table.name;
    if (!goes) {
      remaining.push_back(damaged);
      continue;
    }
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch->Delete(database_->system_family().handle, damaged.key)));
  }
  return remaining;
}

}  // namespace cairn
