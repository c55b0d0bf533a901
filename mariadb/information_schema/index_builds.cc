// information_schema.CAIRN_INDEX_BUILDS: one row for each index that is being built in a table or
// partition that has rows, and how far it is.
#include "engine/metrics/index_builds.h"

#include <algorithm>

#include "mariadb/information_schema/schema_table.h"
#include "sql_acl.h"

namespace cairn {
namespace {

constexpr uint kStageWidth = 32;

ST_FIELD_INFO columns[] = {
    Show::Column("TABLE_SCHEMA", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("TABLE_NAME", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("PARTITION_NAME", Show::Varchar(NAME_CHAR_LEN * 2 + 1), NULLABLE),
    Show::Column("INDEX_NAME", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
    Show::Column("STAGE", Show::Varchar(kStageWidth), NOT_NULL),
    Show::Column("ROWS_READ", Show::ULonglong(), NOT_NULL),
    Show::Column("ROWS_ESTIMATED", Show::ULonglong(), NOT_NULL),
    Show::Column("DELTA_WRITTEN", Show::ULonglong(), NOT_NULL),
    Show::Column("DELTA_MERGED", Show::ULonglong(), NOT_NULL),
    Show::Column("DELTA_LEFT", Show::ULonglong(), NOT_NULL),
    Show::Column("SUSPECTS", Show::ULonglong(), NOT_NULL),
    Show::Column("SECONDS", Show::Decimal(kSecondsDigits), NOT_NULL),
    Show::Column("TEMPORARY_BYTES", Show::ULonglong(), NOT_NULL),
    Show::CEnd()};

const char* NameOf(IndexBuildFigures::Stage stage) {
  switch (stage) {
    case IndexBuildFigures::Stage::kScan:
      return "reading rows";
    case IndexBuildFigures::Stage::kSort:
      return "writing files";
    case IndexBuildFigures::Stage::kMerge:
      return "merging changes";
    case IndexBuildFigures::Stage::kWait:
      return "waiting for the table";
    case IndexBuildFigures::Stage::kLastMerge:
      return "finishing";
  }
  return "";
}

bool SendIndex(const IndexBuildFigures& build, const NewIndexFigures& index,
               SchemaTableWriter* writer) {
  const uint64_t rows_read = build.rows_read;
  writer->TableName(build.table_name()).Text(index.name).Text(NameOf(build.stage));
  writer->Unsigned(rows_read).Unsigned(std::max<uint64_t>(rows_read, build.rows_estimated));
  writer->Unsigned(index.delta_written).Unsigned(index.delta_merged).Unsigned(index.DeltaLeft());
  writer->Unsigned(index.suspects).Real(build.Seconds()).Unsigned(index.temporary_bytes);
  return writer->Send();
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  if (check_global_access(writer->thd(), PROCESS_ACL, /*no_errors=*/true)) return true;
  for (const auto& build : engine->database().index_builds().Running()) {
    for (const NewIndexFigures& index : build->indexes()) {
      if (!SendIndex(*build, index, writer)) return false;
    }
  }
  return true;
}

}  // namespace

int InitIndexBuilds(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
