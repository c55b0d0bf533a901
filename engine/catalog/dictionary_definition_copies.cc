// Copies of the server's definitions of tables, kept with the entries that they describe.
//
// A definition that describes other rows than it is used for gives wrong answers: another order of
// columns, other bounds of partitions. So a copy counts only where the sum of the digests of the
// table's entries is the one that was noted with it. Index numbers are part of the digests and are
// never used twice: what another engine, or an earlier release, has made of the table shows.
#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/catalog/dictionary.h"
#include "engine/codec/layout_history.h"
#include "engine/codec/value_sample.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

// Of an entry without the table's name, so that RENAME leaves it. Persisted: the sum is.
uint64_t DigestOfEntry(std::string_view entry, const TableDefinition& definition) {
  std::string bytes;
  uint16_t layout_version = 0;
  for (const IndexDefinition& index : definition.indexes) {
    AppendBigEndian(index.id.column_family, &bytes);
    AppendBigEndian(index.id.index_number, &bytes);
    if (index.history != nullptr) layout_version = index.history->version();
  }
  AppendBigEndian(layout_version, &bytes);
  const std::string_view partition = entry.substr(TableOfEntry(entry).size());
  return HashValue(HashValue(0, partition), bytes);
}

// The rest of an entry's name behind that of its table.
std::string_view PartitionOfEntry(std::string_view entry) {
  return entry.substr(TableOfEntry(entry).size());
}

}  // namespace

std::optional<Dictionary::KnownDefinition> Dictionary::FindDefinition(
    std::string_view table) const {
  const std::shared_lock lock(map_mutex_);
  const auto found = definitions_.find(table);
  return found == definitions_.end() ? std::nullopt : std::optional(found->second);
}

uint64_t Dictionary::SumOfEntries(std::string_view table, const EntriesAfter& after) const {
  uint64_t sum = 0;
  for (const std::string& entry : EntriesOf(table)) {
    if (after.contains(entry)) continue;
    if (const auto definition = Find(entry)) sum += DigestOfEntry(entry, *definition);
  }
  for (const auto& [entry, definition] : after) {
    if (definition != nullptr && TableOfEntry(entry) == table) {
      sum += DigestOfEntry(entry, *definition);
    }
  }
  return sum;
}

Status Dictionary::PutDefinitionMark(std::string_view table, const DefinitionMark& mark,
                                     DefinitionChanges* changes, rocksdb::WriteBatch* batch) const {
  (*changes)[std::string(table)] = KnownDefinition{mark};
  return FromRocksDb(batch->Put(database_->system_family().handle, DefinitionMarkKey(table),
                                EncodeDefinitionMark(mark)));
}

Status Dictionary::PutDefinition(std::string_view table, const DefinitionCopy& copy,
                                 uint64_t entries, DefinitionChanges* changes,
                                 rocksdb::WriteBatch* batch) const {
  if (copy.definition.empty()) {
    return Status(StatusCode::kInternal,
                  "the definition of table " + std::string(table) + " is not there to be copied");
  }
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Put(
      database_->system_family().handle, DefinitionCopyKey(table), EncodeDefinitionCopy(copy))));
  return PutDefinitionMark(table, {copy.version, entries}, changes, batch);
}

Status Dictionary::DeleteDefinition(std::string_view table, DefinitionChanges* changes,
                                    rocksdb::WriteBatch* batch) const {
  if (!FindDefinition(table).has_value()) return Status();
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  (*changes)[std::string(table)] = std::nullopt;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->Delete(system, DefinitionMarkKey(table))));
  return FromRocksDb(batch->Delete(system, DefinitionCopyKey(table)));
}

void Dictionary::DiscountDefinition(std::string_view table, DefinitionChanges* changes) const {
  auto known = FindDefinition(table);
  if (!known.has_value()) return;
  known->counts = false;
  (*changes)[std::string(table)] = std::move(known);
}

Status Dictionary::MoveDefinition(std::string_view from, std::string_view to,
                                  DefinitionChanges* changes, rocksdb::WriteBatch* batch) const {
  const auto known = FindDefinition(from);
  if (!known.has_value()) return DeleteDefinition(to, changes, batch);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> copy, Read(DefinitionCopyKey(from)));
  if (!copy.has_value()) {
    CAIRN_RETURN_IF_ERROR(DeleteDefinition(from, changes, batch));
    return DeleteDefinition(to, changes, batch);
  }
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(batch->Put(database_->system_family().handle, DefinitionCopyKey(to), *copy)));
  CAIRN_RETURN_IF_ERROR(PutDefinitionMark(to, known->mark, changes, batch));
  (*changes)[std::string(to)]->counts = known->counts;
  return DeleteDefinition(from, changes, batch);
}

Status Dictionary::PutDefinitionOfNew(const TableDefinition& table,
                                      const DefinitionCopy* definition, DefinitionChanges* changes,
                                      rocksdb::WriteBatch* batch) const {
  if (table.temporary) return Status();
  const std::string_view name = TableOfEntry(table.name);
  const auto known = FindDefinition(name);
  const bool has_others = !EntriesOf(name).empty();
  if (definition == nullptr) {
    if (!has_others) return DeleteDefinition(name, changes, batch);
    DiscountDefinition(name, changes);
    return Status();
  }
  const bool is_same = has_others && known.has_value() && known->counts &&
                       known->mark.version == definition->version;
  if (is_same) {  // Another partition: the copy is there, and thousands may follow.
    DefinitionMark mark = known->mark;
    mark.entries += DigestOfEntry(table.name, table);
    return PutDefinitionMark(name, mark, changes, batch);
  }
  return PutDefinition(name, *definition, SumOfEntries(name, {{table.name, &table}}), changes,
                       batch);
}

Status Dictionary::PutDefinitionsOfDropped(const std::vector<std::string>& names,
                                           DefinitionChanges* changes,
                                           rocksdb::WriteBatch* batch) const {
  const std::set<std::string_view> leaving(names.begin(), names.end());
  std::set<std::string_view> tables;
  for (const std::string& name : names) tables.insert(TableOfEntry(name));
  for (const std::string_view table : tables) {
    const std::vector<std::string> entries = EntriesOf(table);
    const bool is_gone = std::all_of(entries.begin(), entries.end(), [&](const std::string& entry) {
      return leaving.contains(entry);
    });
    if (is_gone) {
      CAIRN_RETURN_IF_ERROR(DeleteDefinition(table, changes, batch));
    } else {
      DiscountDefinition(table, changes);
    }
  }
  return Status();
}

// The definition stays; the entries have other numbers.
Status Dictionary::PutDefinitionsOfEmptied(
    const std::vector<std::shared_ptr<TableDefinition>>& emptied, DefinitionChanges* changes,
    rocksdb::WriteBatch* batch) const {
  EntriesAfter after;
  std::set<std::string_view> tables;
  for (const auto& table : emptied) {
    if (table->temporary) continue;
    after.emplace(table->name, table.get());
    tables.insert(TableOfEntry(table->name));
  }
  for (const std::string_view table : tables) {
    const auto known = FindDefinition(table);
    if (!known.has_value() || !known->counts) continue;
    CAIRN_RETURN_IF_ERROR(PutDefinitionMark(
        table, {known->mark.version, SumOfEntries(table, after)}, changes, batch));
  }
  return Status();
}

Status Dictionary::PutDefinitionsOfChanged(
    const std::vector<TableChange>& table_changes,
    const std::vector<std::shared_ptr<TableDefinition>>& changed_tables, DefinitionChanges* changes,
    rocksdb::WriteBatch* batch) const {
  EntriesAfter after;
  for (const auto& table : changed_tables) after.emplace(table->name, table.get());
  for (const TableChange& change : table_changes) {
    const std::string_view table = TableOfEntry(change.table_name);
    if (changes->contains(table)) continue;  // By another of its partitions.
    if (change.definition == nullptr) {
      // The numbers may be what they were, and so would the sum.
      CAIRN_RETURN_IF_ERROR(DeleteDefinition(table, changes, batch));
    } else {
      CAIRN_RETURN_IF_ERROR(
          PutDefinition(table, *change.definition, SumOfEntries(table, after), changes, batch));
    }
  }
  return Status();
}

Status Dictionary::PutDefinitionsOfRenamed(const std::vector<Renaming>& renamings,
                                           const DefinitionCopy* definition,
                                           DefinitionChanges* changes,
                                           rocksdb::WriteBatch* batch) const {
  const std::string from(TableOfEntry(renamings.front().from));
  const std::string to(TableOfEntry(renamings.front().to));
  EntriesAfter after;
  std::vector<std::shared_ptr<const TableDefinition>> renamed;
  bool is_whole = from != to && EntriesOf(to).empty();
  for (const Renaming& renaming : renamings) {
    is_whole &= PartitionOfEntry(renaming.from) == PartitionOfEntry(renaming.to);
    renamed.push_back(Find(renaming.from));
    after[renaming.from] = nullptr;
    after[renaming.to] = renamed.back().get();
  }
  const std::vector<std::string> entries = EntriesOf(from);
  const bool is_gone = std::all_of(entries.begin(), entries.end(),
                                   [&](const std::string& entry) { return after.contains(entry); });
  if (is_whole && is_gone) return MoveDefinition(from, to, changes, batch);
  if (from != to && is_gone) {
    CAIRN_RETURN_IF_ERROR(DeleteDefinition(from, changes, batch));
  } else {
    DiscountDefinition(from, changes);
  }
  if (definition != nullptr) {
    return PutDefinition(to, *definition, SumOfEntries(to, after), changes, batch);
  }
  if (EntriesOf(to).empty()) return DeleteDefinition(to, changes, batch);
  DiscountDefinition(to, changes);
  return Status();
}

void Dictionary::ApplyDefinitions(DefinitionChanges changes) {
  while (!changes.empty()) {
    auto change = changes.extract(changes.begin());
    if (change.mapped().has_value()) {
      definitions_.insert_or_assign(std::move(change.key()), std::move(*change.mapped()));
    } else {
      definitions_.erase(change.key());
    }
  }
}

bool Dictionary::HasDefinitionCopy(std::string_view table, std::string_view version) const {
  const std::shared_lock lock(map_mutex_);
  const auto found = definitions_.find(table);
  return found != definitions_.end() && found->second.counts &&
         found->second.mark.version == version;
}

Status Dictionary::PutDefinitionCopy(std::string_view table, const DefinitionCopy& copy) {
  const std::lock_guard change(change_mutex_);
  if (EntriesOf(table).empty()) return Status(StatusCode::kNotFound, std::string(table));
  DefinitionChanges changes;
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(PutDefinition(table, copy, SumOfEntries(table), &changes, &batch));
  CAIRN_RETURN_IF_ERROR(Write(&batch));
  const std::unique_lock lock(map_mutex_);
  ApplyDefinitions(std::move(changes));
  return Status();
}

Result<DefinitionCopy> Dictionary::LoadDefinitionCopy(std::string_view table) const {
  const std::lock_guard change(change_mutex_);  // The two records are of one state.
  const auto known = FindDefinition(table);
  if (!known.has_value()) return Status(StatusCode::kNotFound, std::string(table));
  if (known->mark.entries != SumOfEntries(table)) {
    return Status(StatusCode::kMetadataMismatch,
                  "the table's indexes or partitions were changed since");
  }
  CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> record, Read(DefinitionCopyKey(table)));
  if (!record.has_value()) {
    return Status(StatusCode::kCorruption, "a copy of a definition is not where it should be");
  }
  CAIRN_ASSIGN_OR_RETURN(DefinitionCopy copy, DecodeDefinitionCopy(*record));
  if (copy.version != known->mark.version) {
    return Status(StatusCode::kCorruption, "a copy of a definition is of the version " +
                                               ToHex(copy.version) + ", not of " +
                                               ToHex(known->mark.version));
  }
  return copy;
}

Status Dictionary::SettleDefinitionCopies() {
  const std::lock_guard change(change_mutex_);
  std::vector<std::string> tables;
  {
    const std::shared_lock lock(map_mutex_);
    for (const auto& [table, known] : definitions_) tables.push_back(table);
  }
  const std::vector<QuarantinedTable> quarantined = QuarantinedTables();
  DefinitionChanges changes;
  rocksdb::WriteBatch batch;
  for (const std::string& table : tables) {
    const bool is_quarantined =
        std::any_of(quarantined.begin(), quarantined.end(),
                    [&](const QuarantinedTable& each) { return TableOfEntry(each.name) == table; });
    if (EntriesOf(table).empty() && !is_quarantined) {
      CAIRN_RETURN_IF_ERROR(DeleteDefinition(table, &changes, &batch));
      continue;
    }
    auto known = FindDefinition(table);
    known->counts = known->mark.entries == SumOfEntries(table);
    changes[table] = std::move(known);
  }
  if (batch.Count() != 0) CAIRN_RETURN_IF_ERROR(Write(&batch));
  const std::unique_lock lock(map_mutex_);
  ApplyDefinitions(std::move(changes));
  return Status();
}

}  // namespace cairn
