#include "engine/table/table.h"

#include <algorithm>
#include <utility>

#include "engine/codec/dictionary_record.h"
#include "engine/table/ordered_iterator.h"

namespace cairn {
namespace {

bool HasVirtualPart(const TableLayout& table, const IndexLayout& index) {
  return std::any_of(index.parts.begin(), index.parts.end(), [&table](const KeyPartLayout& part) {
    return table.columns[part.column].is_virtual;
  });
}

bool PrimaryKeyHasEveryColumn(const TableLayout& table, const IndexLayout& primary) {
  ColumnSet seen(table.columns.size(), false);
  for (const KeyPartLayout& part : primary.parts) seen[part.column] = true;
  return seen == ColumnSet(table.columns.size(), true);
}

// Without its history, rows of several layouts would be read as if they had one.
Status CheckHistory(const TableDefinition& definition, const IndexDefinition& primary) {
  const bool needed = (primary.info.features & kFeatureRowLayouts) != 0;
  if (needed == (primary.history != nullptr)) return Status();
  return Status(StatusCode::kMetadataMismatch,
                "table " + definition.name + ": its rows " +
                    (needed ? "have several layouts, but there is no history of them"
                            : "have one layout, but there is a history of several"));
}

// What the dictionary knows of an index goes into its layout.
IndexLayout LayoutOf(const IndexDefinition& entry, IndexLayout layout) {
  layout.index_number = entry.id.index_number;
  layout.format_version = entry.info.format_version;
  layout.has_ttl_stamp = entry.info.has_ttl_stamp;
  layout.trims_chars = (entry.info.features & kFeatureTrimmedChar) != 0;
  return layout;
}

Result<std::vector<TableBuild>> OpenBuilds(const TableDefinition& definition,
                                           const TableLayout& layout, const IndexLayout& primary) {
  std::vector<TableBuild> builds;
  if (definition.build == nullptr) return builds;
  NewIndexFigures* figures = definition.build->figures()->indexes().data();
  for (const BuildingIndex& index : definition.build->indexes()) {
    CAIRN_ASSIGN_OR_RETURN(
        std::unique_ptr<const IndexCodec> codec,
        IndexCodec::Make(layout, primary, LayoutOf(index.definition, index.layout)));
    builds.push_back(
        {index.delta.id.index_number, std::move(codec), index.definition.family, figures++});
  }
  return builds;
}

}  // namespace

Result<std::shared_ptr<const Table>> Table::Open(std::shared_ptr<const TableDefinition> definition,
                                                 TableLayout layout,
                                                 std::vector<IndexLayout> indexes) {
  if (definition->indexes.size() != indexes.size()) {
    return Status(StatusCode::kMetadataMismatch,
                  "table " + definition->name + " has " + std::to_string(indexes.size()) +
                      " indexes in its definition and " +
                      std::to_string(definition->indexes.size()) + " in the data dictionary");
  }
  std::shared_ptr<Table> table(new Table());
  for (size_t i = 0; i < indexes.size(); ++i) {
    const IndexDefinition& entry = definition->indexes[i];
    if (entry.info.kind != indexes[i].kind) {
      return Status(StatusCode::kMetadataMismatch,
                    "table " + definition->name + ", index " + indexes[i].name +
                        ": definition and data dictionary disagree on what kind of index it is");
    }
    indexes[i] = LayoutOf(entry, std::move(indexes[i]));
    if (indexes[i].kind != IndexKind::kSecondary) {
      table->primary_position_ = static_cast<uint32_t>(i);
      CAIRN_RETURN_IF_ERROR(CheckHistory(*definition, entry));
      indexes[i].history = entry.history;
      if (entry.info.has_ttl_stamp) table->ttl_seconds_ = entry.info.ttl_seconds;
    }
  }
  const IndexLayout& primary = indexes[table->primary_position_];
  for (size_t i = 0; i < indexes.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<const IndexCodec> codec,
                           IndexCodec::Make(layout, primary, indexes[i]));
    const bool search_keys_end_early = codec->SearchKeysEndEarly();
    table->indexes_.push_back(TableIndex{definition->indexes[i], std::move(codec),
                                         search_keys_end_early,
                                         HasVirtualPart(layout, indexes[i])});
  }
  CAIRN_ASSIGN_OR_RETURN(table->builds_, OpenBuilds(*definition, layout, primary));
  table->all_columns_in_primary_key_ = primary.kind == IndexKind::kPrimary &&
                                       PrimaryKeyHasEveryColumn(layout, primary) &&
                                       !table->primary().codec->has_history();
  table->has_unique_values_ =
      std::any_of(table->indexes_.begin(), table->indexes_.end(), [](const TableIndex& index) {
        const IndexLayout& index_layout = index.layout();
        return index_layout.kind == IndexKind::kSecondary ? index_layout.unique
                                                          : index.search_keys_end_early;
      });
  table->takes_part_in_foreign_keys_ =
      (table->primary().definition.info.features & kForeignKeyGuards) != 0;
  table->definition_ = std::move(definition);
  table->layout_ = std::move(layout);
  return std::shared_ptr<const Table>(std::move(table));
}

Status Table::CheckDefinition(const Transaction& transaction, uint32_t index) const {
  const uint64_t seen = transaction.SnapshotNumber();
  if (seen == 0) return Status();  // A snapshot that is taken from now on shows all that there is.
  const uint64_t defined_at = definition_->counters->defined_at.load(std::memory_order_acquire);
  if (seen >= defined_at && seen >= indexes_[index].definition.built_at) return Status();
  return Status(StatusCode::kDefinitionTooNew);
}

void Table::RegisterKeyLayouts(const std::shared_ptr<const Table>& table, Database* database) {
  for (const TableIndex& index : table->indexes_) {
    // The codec lives as long as the table, which this pointer keeps.
    database->key_layouts().Add(index.definition.id,
                                std::shared_ptr<const IndexCodec>(table, index.codec.get()));
  }
}

Result<uint64_t> Table::NextHiddenKey(Database* database) const {
  TableCounters& counters = *definition_->counters;
  if (counters.next_hidden_key.load(std::memory_order_acquire) == 0) {
    std::lock_guard lock(counters.initialise);
    if (counters.next_hidden_key.load(std::memory_order_relaxed) == 0) {
      // Asked first: what is decided meanwhile is read.
      uint64_t largest = database->prepared_indexes().LargestHiddenKey(
          primary().definition.id.index_number, database->rocksdb());
      Transaction transaction(database);
      transaction.Start(TransactionSettings());
      OrderedIterator iterator(primary().definition, &transaction, Transaction::View::kLatest);
      iterator.SeekToLast();
      if (iterator.Valid()) {
        CAIRN_ASSIGN_OR_RETURN(const uint64_t stored, primary().codec->HiddenKey(iterator.key()));
        largest = std::max(largest, stored);
      } else {
        CAIRN_RETURN_IF_ERROR(iterator.status());
      }
      counters.next_hidden_key.store(largest + 1, std::memory_order_release);
    }
  }
  return counters.next_hidden_key.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace cairn
