// information_schema.CAIRN_LSM: one row for each level of each column family that has or had files.
#include "engine/monitor/level_figures.h"
#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {
    Show::Column("COLUMN_FAMILY", Show::Varchar(kNameWidth), NOT_NULL),
    Show::Column("LEVEL", Show::SLong(), NOT_NULL),
    Show::Column("FILES", Show::ULonglong(), NOT_NULL),
    Show::Column("BYTES", Show::ULonglong(), NOT_NULL),
    Show::Column("ENTRIES", Show::ULonglong(), NOT_NULL),
    Show::Column("TOMBSTONES", Show::ULonglong(), NOT_NULL),
    Show::Column("SCORE", Show::Decimal(kRatioDigits), NOT_NULL),
    Show::Column("FILES_IN_COMPACTION", Show::ULonglong(), NOT_NULL),
    Show::Column("BYTES_IN_COMPACTION", Show::ULonglong(), NOT_NULL),
    Show::Column("COMPACTIONS", Show::ULonglong(), NOT_NULL),
    Show::Column("COMPACTION_SECONDS", Show::Decimal(kSecondsDigits), NOT_NULL),
    Show::Column("BYTES_READ", Show::ULonglong(), NOT_NULL),
    Show::Column("BYTES_WRITTEN", Show::ULonglong(), NOT_NULL),
    Show::Column("BYTES_MOVED", Show::ULonglong(), NOT_NULL),
    Show::Column("KEYS_READ", Show::ULonglong(), NOT_NULL),
    Show::Column("KEYS_DROPPED", Show::ULonglong(), NOT_NULL),
    Show::Column("WRITE_AMPLIFICATION", Show::Decimal(kRatioDigits), NOT_NULL),
    Show::Column("FAMILY_WRITE_AMPLIFICATION", Show::Decimal(kRatioDigits), NOT_NULL),
    Show::Column("FILE_READS", Show::ULonglong(), NOT_NULL),
    Show::Column("FILE_READ_MICROSECONDS", Show::Decimal(kRatioDigits), NULLABLE),
    Show::CEnd()};

bool SendLevel(const ColumnFamily& family, const FamilyLevels& all, const LevelFigures& level,
               SchemaTableWriter* writer) {
  writer->Text(family.name).Number(level.level);
  writer->Unsigned(level.files).Unsigned(level.bytes);
  writer->Unsigned(level.entries).Unsigned(level.tombstones);
  writer->Real(level.score);
  writer->Unsigned(level.files_in_compaction).Unsigned(level.bytes_in_compaction);
  writer->Unsigned(level.compactions).Real(level.compaction_seconds);
  writer->Unsigned(level.bytes_read).Unsigned(level.bytes_written).Unsigned(level.bytes_moved);
  writer->Unsigned(level.keys_read).Unsigned(level.keys_dropped);
  writer->Real(level.write_amplification).Real(all.write_amplification);
  writer->Unsigned(level.file_reads);
  if (level.file_read_us.has_value()) {
    writer->Real(*level.file_read_us);
  } else {
    writer->Null();
  }
  return writer->Send();
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  const Database& database = engine->database();
  for (const ColumnFamily* family : database.families().All()) {
    const FamilyLevels all = ListLevels(database, *family);
    for (const LevelFigures& level : all.levels) {
      if (!SendLevel(*family, all, level, writer)) return false;
    }
  }
  return true;
}

}  // namespace

int InitLsm(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
