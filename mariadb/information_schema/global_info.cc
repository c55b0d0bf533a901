// information_schema.ROCKSDB_GLOBAL_INFO: facts of the data dictionary that belong to no table.
#include <string>

#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {Show::Column("TYPE", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::Column("NAME", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::Column("VALUE", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::CEnd()};

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  const Dictionary& dictionary = engine->dictionary();
  writer->Text("MAX_INDEX_ID").Text("MAX_INDEX_ID");
  if (!writer->Text(std::to_string(dictionary.max_index_number())).Send()) return false;
  for (const auto& [id, flags] : dictionary.FamilyFlags()) {
    const ColumnFamily* const family = engine->database().families().Find(id);
    const std::string name = family == nullptr ? "" : family->name;
    writer->Text("CF_FLAGS").Text(std::to_string(id));
    if (!writer->Text(name + " [" + std::to_string(flags) + "]").Send()) return false;
  }
  for (const IndexId& id : dictionary.PendingDrops()) {
    writer->Text("DDL_DROP_INDEX_ONGOING")
        .Text("cf_id:" + std::to_string(id.column_family) +
              ",index_id:" + std::to_string(id.index_number));
    if (!writer->Text("").Send()) return false;
  }
  return true;
}

}  // namespace

int InitGlobalInfo(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
