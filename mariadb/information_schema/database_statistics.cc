// information_schema.ROCKSDB_DBSTATS: figures of the database as a whole.
#include <string>

#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {Show::Column("STAT_TYPE", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("VALUE", Show::SLonglong(), NOT_NULL), Show::CEnd()};

struct Figure {
  const char* name;
  const char* property;
};

constexpr Figure kFigures[] = {{"DB_BACKGROUND_ERRORS", "rocksdb.background-errors"},
                               {"DB_NUM_SNAPSHOTS", "rocksdb.num-snapshots"},
                               {"DB_OLDEST_SNAPSHOT_TIME", "rocksdb.oldest-snapshot-time"},
                               {"DB_BLOCK_CACHE_USAGE", "rocksdb.block-cache-usage"}};

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  for (const Figure& figure : kFigures) {
    uint64_t value = 0;
    engine->database().rocksdb()->GetIntProperty(figure.property, &value);
    if (!writer->Text(figure.name).Unsigned(value).Send()) return false;
  }
  return true;
}

}  // namespace

int InitDatabaseStatistics(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
