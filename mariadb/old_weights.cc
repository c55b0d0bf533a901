#include "mariadb/old_weights.h"

#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "mariadb/table_name.h"
#include "partition_info.h"

namespace cairn {
namespace {

// Of an index alone: the primary key behind its own parts is an index as well.
std::optional<OldWeights> FindInIndex(const TableLayout& layout, const TableIndex& index) {
  using IndexWeights = Dictionary::IndexWeights;
  const Dictionary& dictionary = RunningEngine()->dictionary();
  std::optional<OldWeights> found;
  for (const KeyPartLayout& part : index.layout().parts) {
    const Collation* const collation = layout.columns[part.column].collation;
    if (collation == nullptr) continue;
    const IndexWeights weights = dictionary.WeightsOf(*collation, index.definition.id.index_number);
    if (weights == IndexWeights::kCurrent) continue;
    if (!found.has_value()) {
      found = OldWeights{index.layout().name, std::string(collation->traits().name)};
    }
    found->in_rows |= weights == IndexWeights::kOldInValues && !part.is_prefix &&
                      index.layout().kind == IndexKind::kPrimary;
  }
  return found;
}

// By PARTITION BY KEY and COLUMNS.
std::optional<OldWeights> FindInPartitioning(const Table& table, const TABLE& opened) {
  if (opened.part_info == nullptr) return std::nullopt;
  for (Field* const* field = opened.part_info->full_part_field_array; *field != nullptr; ++field) {
    const Collation* const collation = table.layout().columns[(*field)->field_index].collation;
    if (collation == nullptr) continue;
    if (RunningEngine()->dictionary().WeightsOf(*collation,
                                                table.primary().definition.id.index_number) !=
        Dictionary::IndexWeights::kCurrent) {
      return OldWeights{std::string(), std::string(collation->traits().name)};
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

std::optional<OldWeights> FindOldWeights(const Table& table, const TABLE* opened) {
  auto found = FindInIndex(table.layout(), table.primary());
  for (const TableIndex& index : table.indexes()) {
    if (found.has_value()) break;
    found = FindInIndex(table.layout(), index);
  }
  if (!found.has_value() && opened != nullptr) found = FindInPartitioning(table, *opened);
  return found;
}

}  // namespace cairn
