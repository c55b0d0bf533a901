// information_schema.CAIRN_FOREIGN_KEYS: one row for each foreign key, and what it has cost.
#include "engine/catalog/foreign_keys.h"

#include "mariadb/information_schema/schema_table.h"
#include "mariadb/table_name.h"
#include "sql_acl.h"

namespace cairn {
namespace {

constexpr uint kWordWidth = 16;

ST_FIELD_INFO columns[] = {
    Show::Column("TABLE_SCHEMA", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("TABLE_NAME", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("CONSTRAINT_NAME", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("REFERENCED_TABLE_SCHEMA", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("REFERENCED_TABLE_NAME", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("FOREIGN_KEY_NUMBER", Show::ULong(), NOT_NULL),
    Show::Column("STATE", Show::Varchar(kWordWidth), NOT_NULL),
    Show::Column("UPDATE_RULE", Show::Varchar(kWordWidth), NOT_NULL),
    Show::Column("DELETE_RULE", Show::Varchar(kWordWidth), NOT_NULL),
    Show::Column("PARENT_CHECKS", Show::ULonglong(), NOT_NULL),
    Show::Column("PARENT_LOOKUPS", Show::ULonglong(), NOT_NULL),
    Show::Column("CHILD_LOOKUPS", Show::ULonglong(), NOT_NULL),
    Show::Column("ROWS_FOLLOWED", Show::ULonglong(), NOT_NULL),
    Show::Column("REFUSALS", Show::ULonglong(), NOT_NULL),
    Show::CEnd()};

const char* NameOf(ForeignKeyAction action) {
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

const char* StateOf(const Dictionary& dictionary, const ForeignKeyRecord& key) {
  if (key.state == ForeignKeyState::kToAdd) return "to be added";
  return dictionary.Find(key.parent) == nullptr ? "dangling" : "bound";
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  if (check_global_access(writer->thd(), PROCESS_ACL, /*no_errors=*/true)) return true;
  const auto read = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  for (const auto& foreign_key : engine->dictionary().foreign_keys().All()) {
    const ForeignKeyRecord& key = foreign_key->record;
    if (!key.is_constraint()) continue;
    const TableName child = DecodeTableName(key.child);
    const TableName parent = DecodeTableName(key.parent);
    const ForeignKeyCounters& counters = *foreign_key->counters;
    writer->Text(child.schema).Text(child.table).Text(key.name);
    writer->Text(parent.schema).Text(parent.table).Unsigned(foreign_key->number);
    writer->Text(StateOf(engine->dictionary(), key));
    writer->Text(NameOf(key.on_update)).Text(NameOf(key.on_delete));
    writer->Unsigned(read(counters.parent_checks)).Unsigned(read(counters.parent_lookups));
    writer->Unsigned(read(counters.child_lookups)).Unsigned(read(counters.rows_followed));
    writer->Unsigned(read(counters.refusals));
    if (!writer->Send()) return false;
  }
  return true;
}

}  // namespace

int InitForeignKeys(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
