#include "mariadb/foreign_key_clauses.h"

#include <algorithm>
#include <utility>

#include "engine/table/foreign_key_binding.h"
#include "mariadb/cairn_format.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/foreign_key_texts.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/other_table.h"
#include "mariadb/table_description.h"
#include "mariadb/table_name.h"
// The server's headers last.
#include "mariadb/server_headers.h"
#include "table_cache.h"

namespace cairn {
namespace {

using Pair = ForeignKeyRecord::ColumnPair;

std::string_view View(const LEX_CSTRING& text) { return {text.str, text.length}; }

ForeignKeyAction ActionOf(enum_fk_option option) {
  switch (option) {
    case FK_OPTION_NO_ACTION:
      return ForeignKeyAction::kNoAction;
    case FK_OPTION_CASCADE:
      return ForeignKeyAction::kCascade;
    case FK_OPTION_SET_NULL:
      return ForeignKeyAction::kSetNull;
    default:
      return ForeignKeyAction::kRestrict;
  }
}

const char* StatementWord(THD* thd) {
  return thd_sql_command(thd) == SQLCOM_CREATE_TABLE ? "Create" : "Alter";
}

// Has SHOW ENGINE ROCKSDB STATUS show it.
void NoteRefused(THD* thd, const std::string& what) {
  RunningEngine()->foreign_key_errors().Note(thd,
                                             "A foreign key cannot be made (1005, 1215)\n" + what);
}

// Says why a foreign key cannot be; `named` is how it calls itself.
int Refuse(THD* thd, std::string_view table, const std::string& named, const std::string& why) {
  // InnoDB's words, which tools look for.
  const bool is_column = why.starts_with("Column ") && why.ends_with(" was not found.");
  NoteRefused(thd, "Table " + QuotedTable(thd, table) + ", foreign key " + named + "\n" + why);
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_CANNOT_ADD_FOREIGN,
                      "%s  table %s%s foreign key %s constraint failed. %s", StatementWord(thd),
                      QuotedTable(thd, table).c_str(), is_column ? "" : " with", named.c_str(),
                      why.c_str());
  return HA_ERR_CANNOT_ADD_FOREIGN;
}

int RefuseName(THD* thd, const ForeignKeyRecord& key) {
  NoteRefused(thd, DescribeForeignKeyOfTable(thd, key) + "\nThe name is in use.");
  if (thd_sql_command(thd) != SQLCOM_CREATE_TABLE) {
    my_error(ER_DUP_CONSTRAINT_NAME, MYF(0), "FOREIGN KEY", key.name.c_str());
    return HA_ERR_FOUND_DUPP_KEY;
  }
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_FOUND_DUPP_KEY,
                      "CREATE or ALTER TABLE %s failed: duplicate name, %s",
                      QuotedTable(thd, key.child).c_str(), DescribeForeignKey(thd, key).c_str());
  return HA_ERR_FOUND_DUPP_KEY;
}

// "`name`", or the columns of one without: "(a, b)".
std::string NameOf(THD* thd, const ForeignKeyRecord& key) {
  if (!key.name_is_generated) return QuotedName(thd, key.name);
  std::string columns;
  for (const Pair& pair : key.columns) columns += (columns.empty() ? "" : ", ") + pair.child;
  return "(" + columns + ")";
}

std::string WhyNoTime(std::string_view column) {
  return "Column '" + std::string(column) + "' says when a row is valid (SYSTEM VERSIONING).";
}

// Why `parent`, described, cannot be the parent of `child`; empty: it can.
std::string WhyNotParent(const ForeignKeyRecord& key, const TABLE& child,
                         const TableDescription& child_description, const TABLE& parent,
                         const TableDescription& parent_description) {
  const ForeignKeyBinding wanted = FindSide(parent_description, ColumnsOf(key, &Pair::parent));
  if (wanted.problem == ForeignKeyBinding::Problem::kNoColumn) {
    return "Column " + key.columns[wanted.problem_column].parent + " was not found.";
  }
  if (!wanted.ok()) {
    return "There is no index in the referenced table where the referenced columns appear as the "
           "first columns.";
  }
  for (const uint32_t column : wanted.columns) {
    if (parent.field[column]->vers_sys_field()) {
      return WhyNoTime(View(parent.field[column]->field_name));
    }
  }
  const ForeignKeyBinding own = FindSide(child_description, ColumnsOf(key, &Pair::child));
  if (own.problem == ForeignKeyBinding::Problem::kVirtualColumn) {
    return "Column '" + key.columns[own.problem_column].child + "' is a virtual column.";
  }
  if (own.problem == ForeignKeyBinding::Problem::kBlobColumn) {
    return "There is only prefix index in the table where its columns appear as the first columns.";
  }
  if (!own.ok()) {
    return "There is no index in the table where its columns appear as the first columns.";
  }
  for (size_t i = 0; i < key.columns.size(); ++i) {
    const uint32_t column = own.columns[i];
    const uint32_t parent_column = wanted.columns[i];
    const bool fit = HaveEqualTypes(*child.field[column], *parent.field[parent_column]) &&
                     ForeignKeyTypesFit({child_description.layout.columns[column], {}},
                                        {parent_description.layout.columns[parent_column], {}});
    if (fit) continue;
    return "Field type or character set for column '" + key.columns[i].child +
           "' does not match referenced column '" + key.columns[i].parent + "'.";
  }
  return std::string();
}

constexpr const char* kExpires = "Rows of the referenced table expire.";

// Whether what CASCADE and SET NULL do to the rows of the child can be done. Of stored columns that
// are made of those that would change the server has taken care.
int CheckActions(THD* thd, const TABLE& form, const ForeignKeyRecord& key) {
  if (key.on_delete != ForeignKeyAction::kSetNull && key.on_update != ForeignKeyAction::kSetNull) {
    return 0;
  }
  for (const Pair& pair : key.columns) {
    const Field* const field = FindField(form, pair.child);
    if (field == nullptr || field->real_maybe_null()) continue;
    return Refuse(thd, key.child, NameOf(thd, key),
                  "You have defined a SET NULL condition but column '" + pair.child +
                      "' is defined as NOT NULL.");
  }
  return 0;
}

// What InnoDB takes and does not do, and what it refuses.
int CheckOptions(THD* thd, const TABLE& form, const Foreign_key& clause,
                 const ForeignKeyRecord& key) {
  const std::string name = NameOf(thd, key);
  if (clause.delete_opt == FK_OPTION_SET_DEFAULT || clause.update_opt == FK_OPTION_SET_DEFAULT) {
    return Refuse(thd, key.child, name, "SET DEFAULT is not supported.");
  }
  if (!AllowsCairnFormat()) {
    return Refuse(
        thd, key.child, name,
        "The directory is kept for the stock plug-in (cairn_format=stock), which knows no "
        "foreign keys.");
  }
  for (const Pair& pair : key.columns) {
    const Field* const field = FindField(form, pair.child);
    if (field != nullptr && field->vers_sys_field()) {
      return Refuse(thd, key.child, name, WhyNoTime(pair.child));
    }
  }
  const bool matches_otherwise = clause.match_opt == Foreign_key::FK_MATCH_FULL ||
                                 clause.match_opt == Foreign_key::FK_MATCH_PARTIAL;
  if (matches_otherwise && key.columns.size() > 1) {
    return Refuse(thd, key.child, name, "MATCH FULL and MATCH PARTIAL are not supported.");
  }
  return CheckActions(thd, form, key);
}

// A clause as a record; `keys` are those before it. The columns are there, as the server has seen.
// Returns as ReadForeignKeys.
int ReadClause(THD* thd, const TABLE& form, const Foreign_key& clause, std::string_view name,
               std::vector<ForeignKeyRecord>* keys) {
  ForeignKeyRecord key;
  key.on_delete = ActionOf(clause.delete_opt);
  key.on_update = ActionOf(clause.update_opt);
  key.child = name;
  const std::string_view given =
      clause.constraint_name.str != nullptr ? View(clause.constraint_name) : View(clause.name);
  key.name_is_generated = given.empty();
  key.name = given;
  const std::string database = clause.ref_db.str != nullptr ? std::string(View(clause.ref_db))
                                                            : DecodeTableName(name).schema;
  key.parent = DictionaryNameOf(database, View(clause.ref_table));
  List_iterator<Key_part_spec> child_columns(const_cast<List<Key_part_spec>&>(clause.columns));
  List_iterator<Key_part_spec> columns(const_cast<List<Key_part_spec>&>(clause.ref_columns));
  while (const Key_part_spec* const child = child_columns++) {
    const Key_part_spec* const parent = columns++;
    // REFERENCES without columns means those of the same names.
    const Field* const field = FindField(form, View(child->field_name));
    key.columns.push_back(
        {std::string(View(field == nullptr ? child->field_name : field->field_name)),
         std::string(View((parent == nullptr ? child : parent)->field_name))});
  }
  keys->push_back(std::move(key));
  return CheckOptions(thd, form, clause, keys->back());
}

// The names `<table>_ibfk_<n>` of those without one.
void GenerateNames(std::string_view name, std::vector<ForeignKeyRecord>* keys) {
  const ForeignKeys& known = RunningEngine()->dictionary().foreign_keys();
  const auto fold = known.names().fold;
  const std::string start = GeneratedNameStart(DecodeTableName(name).table);
  uint64_t number = known.LargestGeneratedNumber(name);
  for (ForeignKeyRecord& key : *keys) {
    if (!key.name_is_generated) continue;
    const auto is_taken = [&](const ForeignKeyRecord& other) {
      return &other != &key && fold(other.name) == fold(key.name);
    };
    do {
      key.name = start + std::to_string(++number);
    } while (std::any_of(keys->begin(), keys->end(), is_taken));
  }
}

// Whether no two constraints of the statement, or of the database, have one name.
int CheckNames(THD* thd, std::string_view name, const std::vector<ForeignKeyRecord>& keys) {
  const ForeignKeys& known = RunningEngine()->dictionary().foreign_keys();
  const std::string_view database = SplitDictionaryName(name).database;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto is_same = [&](const ForeignKeyRecord& other) {
      return known.names().fold(other.name) == known.names().fold(keys[i].name);
    };
    if (std::any_of(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(i), is_same) ||
        known.FindByName(database, keys[i].name) != nullptr) {
      return RefuseName(thd, keys[i]);
    }
  }
  return 0;
}

// Spells the columns of the parent as it does.
void SpellColumns(const TABLE& parent, ForeignKeyRecord* key) {
  for (Pair& pair : key->columns) {
    const Field* const field = FindField(parent, pair.parent);
    if (field != nullptr) pair.parent = View(field->field_name);
  }
}

// Whether ON UPDATE CASCADE would give a child the parent's NULL where it takes none, which strict
// mode refuses; empty: it does not.
std::string WhyNoNulls(THD* thd, const ForeignKeyRecord& key, const TABLE& child,
                       const TABLE& parent) {
  // So InnoDB has it: not with a word about ON DELETE.
  if (key.on_update != ForeignKeyAction::kCascade || key.on_delete != ForeignKeyAction::kRestrict ||
      !thd->is_strict_mode()) {
    return std::string();
  }
  for (const Pair& pair : key.columns) {
    const Field* const of_child = FindField(child, pair.child);
    const Field* const of_parent = FindField(parent, pair.parent);
    if (of_child == nullptr || of_parent == nullptr) continue;
    if (of_child->real_maybe_null() || !of_parent->real_maybe_null()) continue;
    return "Column '" + pair.child + "' is defined as NOT NULL, and referenced column '" +
           pair.parent + "' is not.";
  }
  return std::string();
}

// Whether the parent is there and fits, with nobody writing to it any more.
int CheckParent(THD* thd, const TABLE& form, const TableDescription& description,
                ForeignKeyRecord* clause) {
  ForeignKeyRecord& key = *clause;
  if (key.parent == key.child) {
    SpellColumns(form, &key);
    std::string why = WhyNotParent(key, form, description, form, description);
    if (why.empty()) why = WhyNoNulls(thd, key, form, form);
    return why.empty() ? 0 : Refuse(thd, key.child, NameOf(thd, key), why);
  }
  if (!LockDefinition(thd, key.parent, DefinitionLock::kFence)) return HA_WRONG_CREATE_OPTION;
  const Status loaded = FinishLoadsOf(thd, key.parent);
  if (!loaded.ok()) return ReportBulkLoadError(loaded);
  const auto definition = RunningEngine()->dictionary().Find(key.parent);
  OtherTable parent;
  if (definition == nullptr || definition->temporary || !parent.Open(thd, key.parent)) {
    // The server reads no definition for a session that is being killed.
    if (thd->killed) return HandlerError(Status(StatusCode::kInterrupted));
    if (definition == nullptr && thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS)) return 0;
    const bool is_there = definition != nullptr && !definition->temporary;
    return Refuse(thd, key.child, NameOf(thd, key),
                  "Referenced table " + QuotedTable(thd, key.parent) +
                      (is_there ? " cannot be opened." : " not found in the data dictionary."));
  }
  SpellColumns(*parent.table(), &key);
  const auto parent_description = DescribeTable(*parent.table(), key.parent);
  if (!parent_description.ok()) return HandlerError(parent_description.status());
  const std::string never = WhyNeverParent(definition->indexes.front().info.ttl_seconds);
  if (!never.empty()) return Refuse(thd, key.child, NameOf(thd, key), never);
  if (HasPreparedChanges(*definition)) {
    my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
    return HA_WRONG_CREATE_OPTION;
  }
  std::string why = WhyNotParent(key, form, description, *parent.table(), *parent_description);
  if (why.empty()) why = WhyNoNulls(thd, key, form, *parent.table());
  return why.empty() ? 0 : Refuse(thd, key.child, NameOf(thd, key), why);
}

}  // namespace

std::string DictionaryNameOf(std::string_view database, std::string_view table) {
  std::string database_text(database);
  std::string table_text(table);
  if (lower_case_table_names != 0) {
    // The server has done so with the names of tables of the statement, but not with this one.
    LowerFileName(&database_text);
    LowerFileName(&table_text);
  }
  char path[FN_REFLEN + 1];
  build_table_filename(path, sizeof path - 1, database_text.c_str(), table_text.c_str(), "", 0);
  const auto name = DictionaryName(path);
  return name.ok() ? *name : std::string();
}

std::vector<std::string> ColumnsOf(const ForeignKeyRecord& key,
                                   std::string ForeignKeyRecord::ColumnPair::*side) {
  std::vector<std::string> columns;
  for (const Pair& pair : key.columns) columns.push_back(pair.*side);
  return columns;
}

// What the layouts do not tell of two columns.
bool HaveEqualTypes(const Field& child, const Field& parent) {
  const bool are_strings = child.type_handler()->is_general_purpose_string_type() &&
                           parent.type_handler()->is_general_purpose_string_type();
  if (are_strings && child.result_type() == STRING_RESULT && child.real_type() != MYSQL_TYPE_ENUM &&
      child.real_type() != MYSQL_TYPE_SET) {
    return child.charset() == parent.charset();
  }
  return child.real_type() == parent.real_type() && child.pack_length() == parent.pack_length() &&
         child.type_handler() == parent.type_handler() && child.decimals() == parent.decimals() &&
         child.is_unsigned() == parent.is_unsigned() &&
         (child.real_type() != MYSQL_TYPE_NEWDECIMAL || child.field_length == parent.field_length);
}

const Field* FindField(const TABLE& table, std::string_view name) {
  for (Field* const* field = table.field; *field != nullptr; ++field) {
    const LEX_CSTRING& field_name = (*field)->field_name;
    if (field_name.length == name.size() &&
        my_strnncoll(system_charset_info, reinterpret_cast<const uchar*>(field_name.str),
                     field_name.length, reinterpret_cast<const uchar*>(name.data()),
                     name.size()) == 0) {
      return *field;
    }
  }
  return nullptr;
}

std::string WhyNeverParent(uint64_t ttl_seconds) { return ttl_seconds != 0 ? kExpires : ""; }

ForeignKeyBinding FindSide(const TableDescription& table, const std::vector<std::string>& names) {
  std::vector<const IndexLayout*> indexes;
  uint32_t primary = 0;
  for (const IndexLayout& index : table.indexes) {
    if (index.kind != IndexKind::kSecondary) primary = static_cast<uint32_t>(indexes.size());
    indexes.push_back(&index);
  }
  return BindForeignKeyColumns(table.layout, indexes, primary, names);
}

int ReadForeignKeys(THD* thd, const TABLE& form, const TableDescription& description,
                    const Alter_info& alter_info, TableLifetime lifetime, std::string_view name,
                    std::vector<ForeignKeyRecord>* keys) {
  List_iterator<Key> clauses(const_cast<List<Key>&>(alter_info.key_list));
  while (const Key* const clause = clauses++) {
    if (clause->type != Key::FOREIGN_KEY || clause->old) continue;
    if (lifetime == TableLifetime::kTemporary) {
      NoteRefused(thd, "Temporary tables can't have foreign key constraints.");
      push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_CANNOT_ADD_FOREIGN,
                          "%s  table %s.%s with foreign key constraint failed. Temporary tables "
                          "can't have foreign key constraints.",
                          StatementWord(thd), QuotedName(thd, View(form.s->db)).c_str(),
                          QuotedName(thd, View(form.s->table_name)).c_str());
      return HA_ERR_CANNOT_ADD_FOREIGN;
    }
    const auto& foreign_key = static_cast<const Foreign_key&>(*clause);
    if (const int error = ReadClause(thd, form, foreign_key, name, keys)) return error;
  }
  if (keys->empty()) return 0;
  GenerateNames(name, keys);
  if (const int error = CheckNames(thd, name, *keys)) return error;
  for (ForeignKeyRecord& key : *keys) {
    if (const int error = CheckParent(thd, form, description, &key)) return error;
  }
  return 0;
}

int CheckWaitingChildren(THD* thd, const TABLE& form, const TableDescription& description,
                         uint64_t ttl_seconds, std::string_view name) {
  for (const auto& key : RunningEngine()->dictionary().foreign_keys().OfParent(name)) {
    if (key->record.child == name) continue;
    if (!LockDefinition(thd, key->record.child, DefinitionLock::kFence))
      return HA_WRONG_CREATE_OPTION;
    OtherTable child;
    if (!child.Open(thd, key->record.child)) continue;  // It is damaged, and says so itself.
    const auto child_description = DescribeTable(*child.table(), key->record.child);
    if (!child_description.ok()) return HandlerError(child_description.status());
    std::string why = WhyNeverParent(ttl_seconds);
    if (why.empty()) {
      why = WhyNotParent(key->record, *child.table(), *child_description, form, description);
    }
    if (why.empty()) continue;
    NoteRefused(thd, DescribeForeignKeyOfTable(thd, key->record) + "\nTable " +
                         QuotedTable(thd, name) + " would be its parent. " + why);
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_CANNOT_ADD_FOREIGN,
                        "Table %s is referenced by %s. %s", QuotedTable(thd, name).c_str(),
                        DescribeForeignKeyOfTable(thd, key->record).c_str(), why.c_str());
    return HA_ERR_CANNOT_ADD_FOREIGN;
  }
  return 0;
}

int CheckNewParent(THD* thd, std::string_view from, std::string_view to) {
  if (IsServerMade(from) || IsServerMade(to)) return 0;
  const Dictionary& dictionary = RunningEngine()->dictionary();
  const auto definition = dictionary.Find(from);
  if (definition == nullptr || dictionary.foreign_keys().OfParent(to).empty()) return 0;
  if (HasPreparedChanges(*definition)) return HandlerError(Status(StatusCode::kLockTimeout));
  int error = HA_ERR_CANNOT_ADD_FOREIGN;
  {
    OtherTable table;
    if (!table.Open(thd, from)) return error;
    const auto description = DescribeTable(*table.table(), from);
    error = description.ok()
                ? CheckWaitingChildren(thd, *table.table(), *description,
                                       definition->indexes.front().info.ttl_seconds, to)
                : HandlerError(description.status());
  }
  // The server has forgotten the definition already, as the name is about to be free.
  const TableName name = DecodeTableName(from);
  tdc_remove_table(thd, name.schema.c_str(), name.table.c_str());
  return error;
}

}  // namespace cairn
