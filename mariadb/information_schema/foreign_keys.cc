// information_schema.CAIRN_FOREIGN_KEYS: one row for each foreign key, and what it has cost.
#include "engine/catalog/foreign_keys.h"

#include <map>
#include <string>

#include "engine/table/table.h"
#include "mariadb/foreign_key_binding.h"
#include "mariadb/foreign_key_texts.h"
#include "mariadb/information_schema/schema_table.h"
#include "mariadb/other_table.h"
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
    Show::Column("INDEX_NAME", Show::Varchar(NAME_CHAR_LEN), NULLABLE),
    Show::Column("REFERENCED_INDEX_NAME", Show::Varchar(NAME_CHAR_LEN), NULLABLE),
    Show::Column("UPDATE_RULE", Show::Varchar(kWordWidth), NOT_NULL),
    Show::Column("DELETE_RULE", Show::Varchar(kWordWidth), NOT_NULL),
    Show::Column("PARENT_CHECKS", Show::ULonglong(), NOT_NULL),
    Show::Column("PARENT_LOOKUPS", Show::ULonglong(), NOT_NULL),
    Show::Column("CHILD_LOOKUPS", Show::ULonglong(), NOT_NULL),
    Show::Column("ROWS_FOLLOWED", Show::ULonglong(), NOT_NULL),
    Show::Column("REFUSALS", Show::ULonglong(), NOT_NULL),
    Show::Column("LOCK_WAITS", Show::ULonglong(), NOT_NULL),
    Show::CEnd()};

// Tables as the server has them now.
class OpenedTables {
 public:
  explicit OpenedTables(THD* thd) : thd_(thd) {}

  // Null: it is not there, cannot be read, or somebody changes it, who is not waited for.
  const std::shared_ptr<const Table>& Find(const std::string& name) {
    const auto [place, is_new] = tables_.try_emplace(name);
    if (is_new) place->second = Open(name);
    return place->second;
  }

 private:
  std::shared_ptr<const Table> Open(const std::string& name) {
    const TableName names = DecodeTableName(name);
    const MDL_savepoint savepoint = thd_->mdl_context.mdl_savepoint();
    MDL_request request;
    MDL_REQUEST_INIT(&request, MDL_key::TABLE, names.schema.c_str(), names.table.c_str(),
                     MDL_SHARED_HIGH_PRIO, MDL_TRANSACTION);
    Dummy_error_handler no_errors;
    thd_->push_internal_handler(&no_errors);
    std::shared_ptr<const Table> table;
    if (!thd_->mdl_context.try_acquire_lock(&request) && request.ticket != nullptr) {
      auto opened = OpenLocked(thd_, name);
      if (opened.ok()) table = std::move(opened).value();
    }
    thd_->pop_internal_handler();
    thd_->mdl_context.rollback_to_savepoint(savepoint);
    return table;
  }

  THD* const thd_;
  std::map<std::string, std::shared_ptr<const Table>> tables_;
};

// State, and the indexes that child and parent go by.
void AddBinding(const Dictionary& dictionary, const ForeignKeys::Pointer& key, OpenedTables* tables,
                SchemaTableWriter* writer) {
  const ForeignKeyRecord& record = key->record;
  if (record.state == ForeignKeyState::kToAdd) {
    writer->Text("to be added").Null().Null();
    return;
  }
  if (dictionary.FindForForeignKeys(record.parent) == nullptr) {
    writer->Text("dangling").Null().Null();
    return;
  }
  const std::shared_ptr<const Table>& child = tables->Find(record.child);
  const std::shared_ptr<const Table>& parent = tables->Find(record.parent);
  if (child == nullptr || parent == nullptr) {
    writer->Text("bound").Null().Null();
    return;
  }
  const auto bound = BindToParent(key, *child, parent);
  if (!bound.ok() || bound->other == nullptr) {
    writer->Text("dangling").Null().Null();
    return;
  }
  const auto add_name = [writer](const TableIndex& index) {
    // No key of the user's.
    if (index.layout().kind == IndexKind::kHiddenPrimary) {
      writer->Null();
    } else {
      writer->Text(index.layout().name);
    }
  };
  writer->Text("bound");
  add_name(child->index(bound->index));
  add_name(parent->index(bound->other_index));
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  if (check_global_access(writer->thd(), PROCESS_ACL, /*no_errors=*/true)) return true;
  const auto read = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  OpenedTables tables(writer->thd());
  for (const auto& foreign_key : engine->dictionary().foreign_keys().All()) {
    const ForeignKeyRecord& key = foreign_key->record;
    if (!key.is_constraint()) continue;
    const TableName child = DecodeTableName(key.child);
    const TableName parent = DecodeTableName(key.parent);
    const ForeignKeyCounters& counters = *foreign_key->counters;
    writer->Text(child.schema).Text(child.table).Text(key.name);
    writer->Text(parent.schema).Text(parent.table).Unsigned(foreign_key->number);
    AddBinding(engine->dictionary(), foreign_key, &tables, writer);
    writer->Text(TextOf(key.on_update)).Text(TextOf(key.on_delete));
    writer->Unsigned(read(counters.parent_checks)).Unsigned(read(counters.parent_lookups));
    writer->Unsigned(read(counters.child_lookups)).Unsigned(read(counters.rows_followed));
    writer->Unsigned(read(counters.refusals)).Unsigned(read(counters.lock_waits));
    if (!writer->Send()) return false;
  }
  return true;
}

}  // namespace

int InitForeignKeys(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
