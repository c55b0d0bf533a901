// information_schema.ROCKSDB_PERF_CONTEXT: what the statements on each open table cost, as far as
// rocksdb_perf_context_level let it be collected; and ROCKSDB_PERF_CONTEXT_GLOBAL: the same of all
// statements.
#include "mariadb/information_schema/schema_table.h"
#include "mariadb/table_name.h"

namespace cairn {
namespace {

ST_FIELD_INFO table_columns[] = {
    Show::Column("TABLE_SCHEMA", Show::Varchar(kNameWidth), NOT_NULL),
    Show::Column("TABLE_NAME", Show::Varchar(kNameWidth), NOT_NULL),
    Show::Column("PARTITION_NAME", Show::Varchar(kNameWidth), NULLABLE),
    Show::Column("STAT_TYPE", Show::Varchar(kNameWidth), NOT_NULL),
    Show::Column("VALUE", Show::SLonglong(), NOT_NULL),
    Show::CEnd()};

ST_FIELD_INFO global_columns[] = {Show::Column("STAT_TYPE", Show::Varchar(kNameWidth), NOT_NULL),
                                  Show::Column("VALUE", Show::SLonglong(), NOT_NULL), Show::CEnd()};

bool FillTables(Engine* engine, SchemaTableWriter* writer) {
  for (const auto& table : engine->open_tables().List()) {
    const DictionaryNameParts name = SplitDictionaryName(table->name);
    const PerfFigures figures = table->perf.Read();
    for (size_t i = 0; i < kPerfFigures; ++i) {
      writer->Text(name.database).Text(name.table).TextOrNull(name.partition);
      if (!writer->Text(kPerfFigureNames[i]).Unsigned(figures[i]).Send()) return false;
    }
  }
  return true;
}

bool FillGlobal(Engine* engine, SchemaTableWriter* writer) {
  const PerfFigures figures = engine->database().perf_sums().Read();
  for (size_t i = 0; i < kPerfFigures; ++i) {
    if (!writer->Text(kPerfFigureNames[i]).Unsigned(figures[i]).Send()) return false;
  }
  return true;
}

}  // namespace

int InitPerfContext(void* plugin) { return DeclareSchemaTable<FillTables>(plugin, table_columns); }

int InitPerfContextGlobal(void* plugin) {
  return DeclareSchemaTable<FillGlobal>(plugin, global_columns);
}

}  // namespace cairn
