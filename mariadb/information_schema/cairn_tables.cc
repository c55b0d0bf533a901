// information_schema.CAIRN_TABLES: every table of the engine, its state and its format, and what keeps the
// stock plug-in from opening it.
#include <string>

#include "engine/codec/index_feature.h"
#include "mariadb/engine.h"
#include "mariadb/information_schema/tables.h"
#include "mariadb/server_headers.h"
#include "mariadb/table_name.h"
#include "sql_acl.h"
#include "sql_i_s.h"
#include "sql_show.h"

namespace cairn {
namespace {

constexpr uint kReasonChars = 512;
constexpr uint kObstaclesChars = 4096;

ST_FIELD_INFO columns[] = {
    Show::Column("TABLE_SCHEMA", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("TABLE_NAME", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("PARTITION_NAME", Show::Varchar(NAME_CHAR_LEN * 2 + 1), NULLABLE),
    Show::Column("STATE", Show::Varchar(16), NOT_NULL),
    Show::Column("REASON", Show::Varchar(kReasonChars), NULLABLE),
    Show::Column("FORMAT", Show::Varchar(16), NULLABLE),
    Show::Column("OBSTACLES", Show::Varchar(kObstaclesChars), NULLABLE),
    Show::CEnd()};

// "primary key: ...; key 2: ...", in the order of SHOW CREATE TABLE; empty when the stock plug-in can read the
// table.
std::string Obstacles(const TableDefinition& table) {
  std::string text;
  for (size_t i = 0; i < table.indexes.size(); ++i) {
    const IndexInfo& info = table.indexes[i].info;
    if (info.format_version != kCairnFormatVersion) continue;
    if (!text.empty()) text += "; ";
    text += info.kind == IndexKind::kSecondary ? "key " + std::to_string(i + 1) : "primary key";
    text += ": " + NameFeatures(info.features);
  }
  return text;
}

void AddName(RowWriter* row, const std::string& dictionary_name) {
  const TableName name = DecodeTableName(dictionary_name);
  row->Text(name.schema).Text(name.table);
  if (name.partition.empty()) {
    row->Null();
  } else {
    row->Text(name.partition);
  }
}

int Fill(THD* thd, TABLE_LIST* tables, COND*) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr || check_global_access(thd, PROCESS_ACL, /*no_errors=*/true)) return 0;
  for (const auto& table : engine->dictionary().Tables()) {
    RowWriter row(tables->table);
    AddName(&row, table->name);
    const std::string obstacles = Obstacles(*table);
    row.Text("ok").Null().Text(obstacles.empty() ? "stock" : "cairn");
    if (obstacles.empty()) {
      row.Null();
    } else {
      row.Text(obstacles);
    }
    if (row.Store(thd)) return 1;
  }
  for (const QuarantinedTable& table : engine->dictionary().QuarantinedTables()) {
    RowWriter row(tables->table);
    AddName(&row, table.name);
    // The stock plug-in does not start with such records at all.
    row.Text("quarantined").Text(table.reason).Null().Text("quarantined");
    if (row.Store(thd)) return 1;
  }
  return 0;
}

}  // namespace

int InitCairnTables(void* schema_table) {
  auto* const schema = static_cast<ST_SCHEMA_TABLE*>(schema_table);
  schema->fields_info = columns;
  schema->fill_table = Fill;
  return 0;
}

}  // namespace cairn
