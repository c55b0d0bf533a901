// information_schema.ROCKSDB_CF_OPTIONS: the options that each column family has now.
#include <algorithm>
#include <vector>

#include "engine/monitor/inspection.h"
#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {Show::Column("CF_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("OPTION_TYPE", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("VALUE", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::CEnd()};

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  const Database& database = engine->database();
  std::vector<const ColumnFamily*> families = database.families().All();
  std::sort(families.begin(), families.end(),
            [](const ColumnFamily* a, const ColumnFamily* b) { return a->name < b->name; });
  for (const ColumnFamily* family : families) {
    for (const auto& [name, value] : DescribeFamilyOptions(database, *family)) {
      if (!writer->Text(family->name).Text(name).Text(value).Send()) return false;
    }
  }
  return true;
}

}  // namespace

int InitFamilyOptions(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
