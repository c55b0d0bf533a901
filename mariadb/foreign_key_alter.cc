#include "mariadb/foreign_key_alter.h"

#include <utility>

#include "engine/table/foreign_key_binding.h"
#include "mariadb/engine.h"
#include "mariadb/foreign_key_clauses.h"
#include "mariadb/foreign_key_texts.h"
#include "mariadb/table_description.h"
#include "mariadb/table_name.h"
// The server's headers last.
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

using Pair = ForeignKeyRecord::ColumnPair;

// Whether the statement drops the foreign key, of the table as a child.
bool IsDropped(const Alter_info& info, const std::string& name) {
  const auto fold = RunningEngine()->dictionary().foreign_keys().names().fold;
  List_iterator<Alter_drop> drops(const_cast<List<Alter_drop>&>(info.drop_list));
  while (const Alter_drop* const drop = drops++) {
    if (drop->type == Alter_drop::FOREIGN_KEY && fold(NameText(drop->name)) == fold(name))
      return true;
  }
  return false;
}

// The column of the statement that this field becomes; null: it goes.
const Create_field* FindNewColumn(const Alter_info& info, const Field& field) {
  List_iterator<Create_field> columns(const_cast<List<Create_field>&>(info.create_list));
  while (const Create_field* const column = columns++) {
    if (column->field == &field) return column;
  }
  return nullptr;
}

// What the columns are called afterwards.
std::vector<std::string> NamesAfter(const TABLE& table, const Alter_info& info,
                                    std::vector<std::string> names) {
  const auto renamed = RenamedColumns(table, info);
  for (std::string& name : names) {
    if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
  }
  return names;
}

// Of one foreign key and one of its sides in this table.
bool KeepsSide(const TABLE& table, const TABLE& altered_table, const TableDescription& altered,
               const Alter_info& info, bool drops_index, const ForeignKeyRecord& key,
               std::string Pair::*side) {
  const bool is_parent = side == &Pair::parent;
  const std::string child = DescribeTableName(key.child);
  // The index that it goes by today.
  const auto present = DescribeTable(table, altered.layout.name);
  const ForeignKeyBinding today =
      present.ok() ? FindSide(*present, ColumnsOf(key, side)) : ForeignKeyBinding();
  const char* const index_name = today.ok() && today.index < table.s->keys
                                     ? table.key_info[today.index].name.str
                                     : key.name.c_str();
  for (const Pair& pair : key.columns) {
    const std::string& name = pair.*side;
    const Field* const field = FindField(table, name);
    if (field == nullptr) continue;
    const Create_field* const column = FindNewColumn(info, *field);
    const Field* const new_field =
        column == nullptr
            ? nullptr
            : FindField(altered_table, {column->field_name.str, column->field_name.length});
    if (new_field == nullptr) {
      if (drops_index && !(is_parent && today.ok() && today.index == table.s->primary_key)) {
        my_error(ER_DROP_INDEX_FK, MYF(0), index_name);
      } else if (is_parent) {
        my_error(ER_FK_COLUMN_CANNOT_DROP_CHILD, MYF(0), name.c_str(), key.name.c_str(),
                 QuotedTable(current_thd, key.child).c_str());
      } else {
        my_error(ER_FK_COLUMN_CANNOT_DROP, MYF(0), name.c_str(), key.name.c_str());
      }
      return false;
    }
    if (!HaveEqualTypes(*field, *new_field)) {
      if (is_parent) {
        my_error(ER_FK_COLUMN_CANNOT_CHANGE_CHILD, MYF(0), name.c_str(), key.name.c_str(),
                 child.c_str());
      } else {
        my_error(ER_FK_COLUMN_CANNOT_CHANGE, MYF(0), name.c_str(), key.name.c_str());
      }
      return false;
    }
  }
  if (FindSide(altered, NamesAfter(table, info, ColumnsOf(key, side))).ok()) return true;
  my_error(ER_DROP_INDEX_FK, MYF(0), index_name);
  return false;
}

// Whether SET NULL, if the foreign key has it, can still set the columns of the child to NULL.
bool KeepsNulls(const TABLE& altered_table, const Alter_info& info, const TABLE& table,
                const ForeignKeyRecord& key) {
  if (key.on_delete != ForeignKeyAction::kSetNull && key.on_update != ForeignKeyAction::kSetNull) {
    return true;
  }
  for (const std::string& name : NamesAfter(table, info, ColumnsOf(key, &Pair::child))) {
    const Field* const field = FindField(altered_table, name);
    if (field == nullptr || field->real_maybe_null()) continue;
    my_error(ER_FK_COLUMN_NOT_NULL, MYF(0), name.c_str(), key.name.c_str());
    return false;
  }
  return true;
}

}  // namespace

std::map<std::string, std::string> RenamedColumns(const TABLE& table, const Alter_info& info) {
  std::map<std::string, std::string> renamed;
  for (Field* const* field = table.field; *field != nullptr; ++field) {
    const Create_field* const column = FindNewColumn(info, **field);
    if (column == nullptr) continue;
    const std::string before((*field)->field_name.str, (*field)->field_name.length);
    const std::string after(column->field_name.str, column->field_name.length);
    if (before != after) renamed.emplace(before, after);
  }
  return renamed;
}

std::vector<uint32_t> DroppedForeignKeys(const Alter_info& info, std::string_view name) {
  std::vector<uint32_t> dropped;
  for (const auto& key : RunningEngine()->dictionary().foreign_keys().OfChild(name)) {
    if (IsDropped(info, key->record.name)) dropped.push_back(key->number);
  }
  return dropped;
}

bool KeepsForeignKeys(const TABLE& table, const TABLE& altered_table, const Alter_info& info,
                      bool drops_index, std::string_view name) {
  const auto altered = DescribeTable(altered_table, name);
  if (!altered.ok()) return true;  // The plan of the statement says so.
  const ForeignKeys& keys = RunningEngine()->dictionary().foreign_keys();
  for (const auto& key : keys.OfChild(name)) {
    if (IsDropped(info, key->record.name)) continue;
    if (!KeepsNulls(altered_table, info, table, key->record)) return false;
    if (!KeepsSide(table, altered_table, *altered, info, drops_index, key->record, &Pair::child)) {
      return false;
    }
  }
  for (const auto& key : keys.OfParent(name)) {
    if (key->record.child == name && IsDropped(info, key->record.name)) continue;
    if (!KeepsSide(table, altered_table, *altered, info, drops_index, key->record, &Pair::parent)) {
      return false;
    }
  }
  return true;
}

}  // namespace cairn
