// information_schema.ROCKSDB_CFSTATS: one row for each column family and figure.
#include <string>

#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {Show::Column("CF_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("STAT_TYPE", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("VALUE", Show::SLonglong(), NOT_NULL), Show::CEnd()};

struct Figure {
  const char* name;
  const char* property;
};

constexpr Figure kFigures[] = {
    {"NUM_IMMUTABLE_MEM_TABLE", "rocksdb.num-immutable-mem-table"},
    {"MEM_TABLE_FLUSH_PENDING", "rocksdb.mem-table-flush-pending"},
    {"COMPACTION_PENDING", "rocksdb.compaction-pending"},
    {"CUR_SIZE_ACTIVE_MEM_TABLE", "rocksdb.cur-size-active-mem-table"},
    {"CUR_SIZE_ALL_MEM_TABLES", "rocksdb.cur-size-all-mem-tables"},
    {"NUM_ENTRIES_ACTIVE_MEM_TABLE", "rocksdb.num-entries-active-mem-table"},
    {"NUM_ENTRIES_IMM_MEM_TABLES", "rocksdb.num-entries-imm-mem-tables"},
    {"NON_BLOCK_CACHE_SST_MEM_USAGE", "rocksdb.estimate-table-readers-mem"},
    {"NUM_LIVE_VERSIONS", "rocksdb.num-live-versions"}};

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  const Database& database = engine->database();
  for (const ColumnFamily* family : database.families().All()) {
    for (const Figure& figure : kFigures) {
      uint64_t value = 0;
      if (!database.rocksdb()->GetIntProperty(family->handle, figure.property, &value)) continue;
      if (!writer->Text(family->name).Text(figure.name).Unsigned(value).Send()) return false;
    }
  }
  return true;
}

}  // namespace

int InitFamilyStatistics(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
