#include "engine/table/foreign_key_binding.h"

#include <algorithm>

#include "engine/codec/foreign_key_search.h"

namespace cairn {
namespace {

using Problem = ForeignKeyBinding::Problem;

ForeignKeyBinding Unbound(Problem problem, size_t column) {
  ForeignKeyBinding binding;
  binding.problem = problem;
  binding.problem_column = static_cast<uint32_t>(column);
  return binding;
}

bool IsCharacters(ColumnType type) {
  return type == ColumnType::kChar || type == ColumnType::kVarchar;
}

}  // namespace

ForeignKeyBinding BindForeignKeyColumns(const TableLayout& table,
                                        const std::vector<const IndexLayout*>& indexes,
                                        uint32_t primary, const std::vector<std::string>& names) {
  ForeignKeyBinding binding;
  for (const std::string& name : names) {
    const auto found =
        std::find_if(table.columns.begin(), table.columns.end(),
                     [&name](const ColumnLayout& column) { return column.name == name; });
    const size_t position = binding.columns.size();
    if (found == table.columns.end()) return Unbound(Problem::kNoColumn, position);
    if (found->is_virtual) return Unbound(Problem::kVirtualColumn, position);
    if (found->type == ColumnType::kBlob) return Unbound(Problem::kBlobColumn, position);
    binding.columns.push_back(static_cast<uint32_t>(found - table.columns.begin()));
  }
  const auto index = std::find_if(indexes.begin(), indexes.end(), [&](const IndexLayout* layout) {
    return IndexStartsWith(*indexes[primary], *layout, binding.columns);
  });
  if (index == indexes.end()) {
    binding.problem = Problem::kNoIndex;
  } else {
    binding.index = static_cast<uint32_t>(index - indexes.begin());
  }
  return binding;
}

ForeignKeyBinding BindForeignKeyColumns(const Table& table, const std::vector<std::string>& names) {
  std::vector<const IndexLayout*> layouts;
  layouts.reserve(table.indexes().size());
  for (const TableIndex& index : table.indexes()) layouts.push_back(&index.layout());
  return BindForeignKeyColumns(table.layout(), layouts, table.primary_position(), names);
}

bool ForeignKeyTypesFit(const ForeignKeyColumnType& child, const ForeignKeyColumnType& parent) {
  const ColumnLayout& a = child.column;
  const ColumnLayout& b = parent.column;
  if (child.detail != parent.detail) return false;
  if (IsCharacters(a.type) && IsCharacters(b.type)) {
    return a.collation->traits().id == b.collation->traits().id;
  }
  return a.type == b.type && a.type != ColumnType::kBlob && a.image_bytes == b.image_bytes;
}

}  // namespace cairn
