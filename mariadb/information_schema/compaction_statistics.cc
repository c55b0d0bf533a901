// information_schema.ROCKSDB_COMPACTION_STATS: what RocksDB counts for each level of each column
// family.
#include <cstdlib>
#include <map>
#include <string>

#include "mariadb/information_schema/schema_table.h"

namespace cairn {
namespace {

constexpr uint kDoubleWidth = 20;

ST_FIELD_INFO columns[] = {Show::Column("CF_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("LEVEL", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::Column("TYPE", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::Column("VALUE", Show::Double(kDoubleWidth), NOT_NULL),
                           Show::CEnd()};

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  const Database& database = engine->database();
  for (const ColumnFamily* family : database.families().All()) {
    std::map<std::string, std::string> figures;
    if (!database.rocksdb()->GetMapProperty(family->handle, "rocksdb.cfstats", &figures)) continue;
    // Named "compaction.<level>.<type>", among others.
    constexpr std::string_view kPrefix = "compaction.";
    for (const auto& [key, value] : figures) {
      if (!key.starts_with(kPrefix)) continue;
      const std::string_view rest = std::string_view(key).substr(kPrefix.size());
      const size_t dot = rest.find('.');
      if (dot == std::string_view::npos) continue;
      writer->Text(family->name).Text(rest.substr(0, dot)).Text(rest.substr(dot + 1));
      if (!writer->Real(std::strtod(value.c_str(), nullptr)).Send()) return false;
    }
  }
  return true;
}

}  // namespace

int InitCompactionStatistics(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
