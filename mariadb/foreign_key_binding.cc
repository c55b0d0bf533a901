#include "mariadb/foreign_key_binding.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "engine/catalog/foreign_keys.h"
#include "engine/table/foreign_key_binding.h"
#include "mariadb/engine.h"
#include "mariadb/foreign_key_clauses.h"
#include "mariadb/old_weights.h"
#include "mariadb/other_table.h"
#include "mariadb/table_description.h"
#include "mariadb/table_name.h"
// The server's headers last.
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

using Pair = ForeignKeyRecord::ColumnPair;

// Foreign keys want to know which rows of a table with versions are valid.
Status CheckVersions(const Table& table) {
  if (table.layout().validity == nullptr || !table.layout().validity->never.empty()) {
    return Status();
  }
  return Status(StatusCode::kNotSupported,
                "table " + table.definition().name +
                    " has versions that an older server has written: its foreign keys work again "
                    "after ALTER TABLE ... FORCE");
}

// And what they look for is found by weights. Indexes of virtual columns are not looked at: the
// server itself locks the tables that actions come to, and is refused there.
Status CheckWeights(const Table& table) {
  const auto old = FindOldWeights(table);
  if (!old.has_value()) return Status();
  return Status(StatusCode::kNotSupported,
                old->Describe(DescribeTableName(table.definition().name)));
}

Status CheckForForeignKeys(const Table& table) {
  CAIRN_RETURN_IF_ERROR(CheckVersions(table));
  return CheckWeights(table);
}

// One foreign key as `table` sees it, which has `own_side` of it.
Result<BoundForeignKey> Bind(const ForeignKeys::Pointer& key, const Table& table,
                             std::string Pair::*own_side, std::shared_ptr<const Table> other,
                             std::string Pair::*other_side) {
  CAIRN_RETURN_IF_ERROR(CheckForForeignKeys(table));
  if (other != nullptr) CAIRN_RETURN_IF_ERROR(CheckForForeignKeys(*other));
  BoundForeignKey bound;
  bound.key = key;
  const ForeignKeyBinding own = BindForeignKeyColumns(table, ColumnsOf(key->record, own_side));
  if (!own.ok()) {
    return Status(StatusCode::kMetadataMismatch, "table " + table.definition().name +
                                                     " lacks a column or an index of foreign key " +
                                                     key->record.name);
  }
  bound.index = own.index;
  CAIRN_ASSIGN_OR_RETURN(bound.columns, ForeignKeyColumns::Make(table.layout(), own.columns));
  if (other == nullptr) return bound;
  const ForeignKeyBinding theirs =
      BindForeignKeyColumns(*other, ColumnsOf(key->record, other_side));
  if (!theirs.ok()) return bound;
  auto search =
      ForeignKeySearch::Make({table.layout(), own.columns}, {other->layout(), theirs.columns},
                             other->primary().layout(), other->index(theirs.index).layout());
  if (!search.ok()) return bound;
  bound.other_index = theirs.index;
  CAIRN_ASSIGN_OR_RETURN(bound.other_columns,
                         ForeignKeyColumns::Make(other->layout(), theirs.columns));
  bound.search = std::move(search).value();
  bound.other = std::move(other);
  return bound;
}

// By index; foreign keys of one stay in the order of the catalog, which is InnoDB's.
void SortByIndex(std::vector<BoundForeignKey>* keys) {
  std::stable_sort(keys->begin(), keys->end(),
                   [](const auto& a, const auto& b) { return a.index < b.index; });
}

// About as much as the foreign keys of a table take, and what was opened for them.
uint64_t EstimateBytes(const BoundForeignKeys& bound,
                       const std::map<std::string, std::shared_ptr<const Table>>& opened) {
  // How a column is compared, on both sides, and searched for.
  constexpr uint64_t kColumnBytes = 4 * sizeof(KeyPart);
  uint64_t bytes = sizeof(BoundForeignKeys);
  for (const auto* const side : {&bound.as_child, &bound.as_parent}) {
    for (const BoundForeignKey& key : *side) {
      bytes += sizeof(BoundForeignKey) + key.columns.size() * kColumnBytes;
    }
  }
  for (const auto& [name, table] : opened) {
    if (table == nullptr) continue;
    bytes += sizeof(Table) + table->layout().columns.size() * sizeof(ColumnLayout);
    bytes += table->indexes().size() * (sizeof(TableIndex) + sizeof(IndexLayout));
  }
  return bytes;
}

}  // namespace

Result<BoundForeignKey> BindToParent(const ForeignKeys::Pointer& key, const Table& child,
                                     std::shared_ptr<const Table> parent) {
  return Bind(key, child, &Pair::child, std::move(parent), &Pair::parent);
}

Result<BoundForeignKey> BindNewForeignKey(THD* thd, const ForeignKeyRecord& key,
                                          const std::shared_ptr<const Table>& child) {
  std::shared_ptr<const Table> parent = child;
  if (key.parent != key.child) {
    CAIRN_ASSIGN_OR_RETURN(parent, OpenOther(thd, key.parent));
  }
  auto numbered = std::make_shared<ForeignKey>();
  numbered->record = key;
  return Bind(numbered, *child, &Pair::child, std::move(parent), &Pair::parent);
}

Result<std::shared_ptr<const BoundForeignKeys>> BindForeignKeys(
    THD* thd, const std::shared_ptr<const Table>& table, uint64_t generation) {
  auto bound = std::make_shared<BoundForeignKeys>();
  bound->generation = generation;
  std::map<std::string, std::shared_ptr<const Table>> opened{{table->definition().name, table}};
  const auto open = [&](const std::string& other) -> Result<std::shared_ptr<const Table>> {
    if (const auto found = opened.find(other); found != opened.end()) return found->second;
    auto table = OpenOther(thd, other);
    if (table.status().code() == StatusCode::kNotFound) {
      bound->is_complete = false;
      return opened[other];
    }
    CAIRN_ASSIGN_OR_RETURN(opened[other], std::move(table));
    return opened[other];
  };
  const ForeignKeys& keys = RunningEngine()->dictionary().foreign_keys();
  const std::string& name = table->definition().name;
  for (const auto& key : keys.OfChild(name)) {
    CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<const Table> parent, open(key->record.parent));
    CAIRN_ASSIGN_OR_RETURN(BoundForeignKey child_side,
                           Bind(key, *table, &Pair::child, std::move(parent), &Pair::parent));
    bound->as_child.push_back(std::move(child_side));
  }
  for (const auto& key : keys.OfParent(name)) {
    CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<const Table> child, open(key->record.child));
    CAIRN_ASSIGN_OR_RETURN(BoundForeignKey parent_side,
                           Bind(key, *table, &Pair::parent, std::move(child), &Pair::child));
    bound->as_parent.push_back(std::move(parent_side));
  }
  opened.erase(name);  // It is open anyway.
  bound->memory =
      std::make_unique<const MemoryHeld>(&RunningEngine()->database().memory_accounts(),
                                         MemoryPart::kForeignKeys, EstimateBytes(*bound, opened));
  SortByIndex(&bound->as_child);
  SortByIndex(&bound->as_parent);
  return std::shared_ptr<const BoundForeignKeys>(std::move(bound));
}

namespace {

std::vector<std::pair<std::string, DefinitionLock>> FindReachedTables(std::string_view name,
                                                                      RowChanges changes) {
  const ForeignKeys& keys = RunningEngine()->dictionary().foreign_keys();
  std::map<std::string, DefinitionLock> reached;
  std::set<std::pair<std::string, bool>> seen;  // Tables, and whether their rows are deleted.
  std::vector<std::pair<std::string, bool>> left;
  const auto visit = [&](std::string table, bool deletes) {
    if (seen.emplace(table, deletes).second) left.emplace_back(std::move(table), deletes);
  };
  if (changes.deletes) visit(std::string(name), true);
  if (changes.updates) visit(std::string(name), false);
  while (!left.empty()) {
    const auto [parent, deletes] = std::move(left.back());
    left.pop_back();
    for (const auto& key : keys.OfParent(parent)) {
      const ForeignKeyAction action = deletes ? key->record.on_delete : key->record.on_update;
      DefinitionLock& lock =
          reached.emplace(key->record.child, DefinitionLock::kRead).first->second;
      if (!ActsOn(action)) continue;
      lock = DefinitionLock::kWrite;
      visit(key->record.child, deletes && action == ForeignKeyAction::kCascade);
    }
  }
  reached.erase(std::string(name));
  return {reached.begin(), reached.end()};
}

}  // namespace

Status ReachedTables::Lock(THD* thd, std::string_view name, RowChanges changes,
                           uint64_t generation) {
  Known& known = known_[(changes.deletes ? 1 : 0) + (changes.updates ? 2 : 0)];
  if (known.generation != generation) {
    known = {.generation = generation, .tables = FindReachedTables(name, changes)};
  }
  for (const auto& [table, lock] : known.tables) {
    if (!LockDefinition(thd, table, lock)) return RefusedLock(thd);
  }
  return Status();
}

}  // namespace cairn
