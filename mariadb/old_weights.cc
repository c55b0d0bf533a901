#include "mariadb/old_weights.h"

#include <utility>
#include <vector>

#include "mariadb/child_columns.h"
#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "mariadb/table_name.h"
#include "partition_info.h"

namespace cairn {
namespace {

using IndexWeights = Dictionary::IndexWeights;

IndexWeights WeightsOfColumn(const TableLayout& layout, uint32_t column, const TableIndex& index) {
  const Collation* const collation = layout.columns[column].collation;
  if (collation == nullptr) return IndexWeights::kCurrent;
  return RunningEngine()->dictionary().WeightsOf(*collation, index.definition.id.index_number);
}

OldWeights Old(const TableLayout& layout, uint32_t column, std::string index) {
  return {std::move(index), std::string(layout.columns[column].collation->traits().name)};
}

// Of its own parts: the primary key behind them is an index as well.
std::optional<OldWeights> FindInParts(const TableLayout& layout, const TableIndex& index) {
  std::optional<OldWeights> found;
  for (const KeyPartLayout& part : index.layout().parts) {
    const IndexWeights weights = WeightsOfColumn(layout, part.column, index);
    if (weights == IndexWeights::kCurrent) continue;
    if (!found.has_value()) found = Old(layout, part.column, index.layout().name);
    found->in_rows |= weights == IndexWeights::kOldInValues && !part.is_prefix &&
                      index.layout().kind == IndexKind::kPrimary;
  }
  return found;
}

// Values of virtual columns may follow from how strings compare, as the hash of UNIQUE over long
// ones does.
std::optional<OldWeights> FindInBases(const TableLayout& layout, const TableIndex& index,
                                      TABLE* opened) {
  std::vector<bool> bases(layout.columns.size(), false);
  for (const KeyPartLayout& part : index.layout().parts) {
    if (layout.columns[part.column].is_virtual) {
      AddBases(opened, *opened->field[part.column], &bases);
    }
  }
  for (uint32_t column = 0; column < bases.size(); ++column) {
    if (bases[column] && WeightsOfColumn(layout, column, index) != IndexWeights::kCurrent) {
      return Old(layout, column, index.layout().name);
    }
  }
  return std::nullopt;
}

// By PARTITION BY KEY and COLUMNS.
std::optional<OldWeights> FindInPartitioning(const Table& table, const TABLE& opened) {
  if (opened.part_info == nullptr) return std::nullopt;
  for (Field* const* field = opened.part_info->full_part_field_array; *field != nullptr; ++field) {
    const uint32_t column = (*field)->field_index;
    if (WeightsOfColumn(table.layout(), column, table.primary()) != IndexWeights::kCurrent) {
      return Old(table.layout(), column, std::string());
    }
  }
  return std::nullopt;
}

}  // namespace

std::string OldWeights::Describe(const std::string& table) const {
  const std::string since = index.empty() ? "rows of table " + table + " were put into partitions"
                                          : "index " + index + " of table " + table + " was made";
  const std::string what = "the weights of collation " + collation + " have changed since " + since;
  return in_rows ? what + ", which gives values by them: dump it with the server that it is from"
                 : what + ": ALTER TABLE ... FORCE makes it anew";
}

Status NoteWeightsOfColumns(const TableLayout& layout) {
  for (const ColumnLayout& column : layout.columns) {
    if (column.collation == nullptr || column.collation->traits().kind == CollationKind::kBinary) {
      continue;
    }
    CAIRN_RETURN_IF_ERROR(
        RunningEngine()->dictionary().NoteWeights(*column.collation, server_version));
  }
  return Status();
}

void NoteWeightsOfOpened(const TableLayout& layout) {
  const Status noted = NoteWeightsOfColumns(layout);
  if (noted.ok()) return;
  RunningEngine()->database().log().Write(
      Severity::kWarning, "the weights of collations of table " + DescribeTableName(layout.name) +
                              " could not be noted: " + noted.ToString());
}

std::optional<OldWeights> FindOldWeights(const Table& table, TABLE* opened) {
  auto found = FindInParts(table.layout(), table.primary());
  for (const TableIndex& index : table.indexes()) {
    if (!found.has_value()) found = FindInParts(table.layout(), index);
    if (!found.has_value() && opened != nullptr && index.has_virtual_part) {
      found = FindInBases(table.layout(), index, opened);
    }
  }
  if (!found.has_value() && opened != nullptr) found = FindInPartitioning(table, *opened);
  return found;
}

}  // namespace cairn
