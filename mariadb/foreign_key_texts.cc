#include "mariadb/foreign_key_texts.h"

#include <algorithm>

#include "mariadb/table_name.h"
// The server's headers last.
#include "mariadb/server_headers.h"
#include "sql_show.h"

namespace cairn {
namespace {

enum_fk_option OptionOf(ForeignKeyAction action) {
  switch (action) {
    case ForeignKeyAction::kRestrict:
      return FK_OPTION_RESTRICT;
    case ForeignKeyAction::kNoAction:
      return FK_OPTION_NO_ACTION;
    case ForeignKeyAction::kCascade:
      return FK_OPTION_CASCADE;
    case ForeignKeyAction::kSetNull:
      return FK_OPTION_SET_NULL;
  }
  return FK_OPTION_RESTRICT;
}

std::string ListColumns(THD* thd, const ForeignKeyRecord& key,
                        std::string ForeignKeyRecord::ColumnPair::*side) {
  std::string list;
  for (const ForeignKeyRecord::ColumnPair& pair : key.columns) {
    list += (list.empty() ? "" : ", ") + QuotedName(thd, pair.*side);
  }
  return "(" + list + ")";
}

std::string Fold(std::string_view name) {
  std::string folded(name.size() * system_charset_info->casedn_multiply() + 1, '\0');
  folded.resize(
      system_charset_info->casedn(name.data(), name.size(), folded.data(), folded.size()));
  return folded;
}

std::string TableText(std::string_view dictionary_name) {
  return DecodeTableName(dictionary_name).table;
}

LEX_CSTRING* Copy(THD* thd, std::string_view text) {
  return thd->make_clex_string(text.data(), text.size());
}

bool TakesNull(const TableLayout* table, const std::string& name) {
  if (table == nullptr) return false;
  const auto fold = ServerNames().fold;
  return std::any_of(table->columns.begin(), table->columns.end(), [&](const ColumnLayout& column) {
    return column.nullable() && fold(column.name) == fold(name);
  });
}

}  // namespace

const char* TextOf(ForeignKeyAction action) {
  switch (action) {
    case ForeignKeyAction::kRestrict:
      return "RESTRICT";
    case ForeignKeyAction::kNoAction:
      return "NO ACTION";
    case ForeignKeyAction::kCascade:
      return "CASCADE";
    case ForeignKeyAction::kSetNull:
      return "SET NULL";
  }
  return "";
}

ForeignKeyNames ServerNames() { return {.fold = Fold, .table_text = TableText}; }

std::string QuotedName(THD* thd, std::string_view name) {
  String quoted;
  append_identifier(thd, &quoted, name.data(), name.size());
  return {quoted.ptr(), quoted.length()};
}

std::string QuotedTable(THD* thd, std::string_view dictionary_name) {
  const TableName name = DecodeTableName(dictionary_name);
  return QuotedName(thd, name.schema) + "." + QuotedName(thd, name.table);
}

std::string DescribeForeignKey(THD* thd, const ForeignKeyRecord& key) {
  const TableName child = DecodeTableName(key.child);
  const TableName parent = DecodeTableName(key.parent);
  std::string text = "CONSTRAINT " + QuotedName(thd, key.name) + " FOREIGN KEY " +
                     ListColumns(thd, key, &ForeignKeyRecord::ColumnPair::child) + " REFERENCES ";
  if (parent.schema != child.schema) text += QuotedName(thd, parent.schema) + ".";
  text += QuotedName(thd, parent.table) + " " +
          ListColumns(thd, key, &ForeignKeyRecord::ColumnPair::parent);
  if (key.on_delete != ForeignKeyAction::kRestrict) {
    text += std::string(" ON DELETE ") + TextOf(key.on_delete);
  }
  if (key.on_update != ForeignKeyAction::kRestrict) {
    text += std::string(" ON UPDATE ") + TextOf(key.on_update);
  }
  return text;
}

std::string DescribeForeignKeyOfTable(THD* thd, const ForeignKeyRecord& key) {
  return QuotedTable(thd, key.child) + ", " + DescribeForeignKey(thd, key);
}

std::string OrphanQuery(THD* thd, const ForeignKeyRecord& key) {
  const auto column = [thd](const char* table, const std::string& name) {
    return table + ("." + QuotedName(thd, name));
  };
  std::string equal;
  std::string not_null;
  for (const ForeignKeyRecord::ColumnPair& pair : key.columns) {
    equal +=
        (equal.empty() ? "" : " AND ") + column("p", pair.parent) + " = " + column("c", pair.child);
    not_null += " AND " + column("c", pair.child) + " IS NOT NULL";
  }
  return "SELECT c.* FROM " + QuotedTable(thd, key.child) + " c LEFT JOIN " +
         QuotedTable(thd, key.parent) + " p ON " + equal + " WHERE " +
         column("p", key.columns.front().parent) + " IS NULL" + not_null;
}

st_foreign_key_info* MakeForeignKeyInfo(THD* thd, const ForeignKeyRecord& key,
                                        const ForeignKeyLayouts& tables,
                                        std::string_view parent_index) {
  void* const memory = thd->alloc(sizeof(FOREIGN_KEY_INFO));
  if (memory == nullptr) return nullptr;
  auto* const info = new (memory) FOREIGN_KEY_INFO();
  const TableName child = DecodeTableName(key.child);
  const TableName parent = DecodeTableName(key.parent);
  info->foreign_id = Copy(thd, key.name);
  info->foreign_db = Copy(thd, child.schema);
  info->foreign_table = Copy(thd, child.table);
  info->referenced_db = Copy(thd, parent.schema);
  info->referenced_table = Copy(thd, parent.table);
  info->update_method = OptionOf(key.on_update);
  info->delete_method = OptionOf(key.on_delete);
  info->referenced_key_name = parent_index.empty() ? nullptr : Copy(thd, parent_index);
  for (const ForeignKeyRecord::ColumnPair& pair : key.columns) {
    info->foreign_fields.push_back(Copy(thd, pair.child), thd->mem_root);
    info->referenced_fields.push_back(Copy(thd, pair.parent), thd->mem_root);
  }
  const auto count = static_cast<unsigned>(key.columns.size());
  for (unsigned i = 0; i < count && !thd->is_fatal_error; ++i) {
    if (TakesNull(tables.child, key.columns[i].child)) info->set_nullable(thd, false, i, count);
    if (TakesNull(tables.parent, key.columns[i].parent)) info->set_nullable(thd, true, i, count);
  }
  return thd->is_fatal_error ? nullptr : info;
}

}  // namespace cairn
