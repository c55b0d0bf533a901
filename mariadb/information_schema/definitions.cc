// information_schema.ROCKSDB_DDL: one row for each index of each table or partition.
#include <algorithm>
#include <limits>
#include <string>

#include "mariadb/information_schema/schema_table.h"
#include "mariadb/table_name.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {Show::Column("TABLE_SCHEMA", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("TABLE_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("PARTITION_NAME", Show::Varchar(kNameWidth), NULLABLE),
                           Show::Column("INDEX_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("COLUMN_FAMILY", Show::SLong(), NOT_NULL),
                           Show::Column("INDEX_NUMBER", Show::SLong(), NOT_NULL),
                           Show::Column("INDEX_TYPE", Show::SShort(6), NOT_NULL),
                           Show::Column("KV_FORMAT_VERSION", Show::SShort(6), NOT_NULL),
                           Show::Column("TTL_DURATION", Show::SLonglong(), NOT_NULL),
                           Show::Column("INDEX_FLAGS", Show::SLonglong(), NOT_NULL),
                           Show::Column("CF", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("AUTO_INCREMENT", Show::ULonglong(), NULLABLE),
                           Show::CEnd()};

constexpr int kIndexHasTtl = 1;

bool SendIndex(Engine* engine, const TableDefinition& table, const IndexDefinition& index,
               SchemaTableWriter* writer) {
  const DictionaryNameParts name = SplitDictionaryName(table.name);
  writer->Text(name.database).Text(name.table).TextOrNull(name.partition);
  // The dictionary has no names of indexes: they are known once the table was opened.
  const auto known = engine->database().key_layouts().Find(index.id);
  writer->Text(known == nullptr ? std::string_view() : std::string_view(known->layout().name));
  writer->Number(index.id.column_family).Number(index.id.index_number);
  writer->Number(static_cast<int>(index.info.kind)).Number(index.info.format_version);
  writer->Number(static_cast<int64_t>(
      std::min<uint64_t>(index.info.ttl_seconds, std::numeric_limits<int64_t>::max())));
  writer->Number(index.info.has_ttl_stamp ? kIndexHasTtl : 0).Text(index.family->name);
  const uint64_t next_auto_increment =
      table.counters->next_auto_increment.load(std::memory_order_relaxed);
  if (next_auto_increment == 0) {
    writer->Null();
  } else {
    writer->Unsigned(next_auto_increment);
  }
  return writer->Send();
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  for (const auto& table : engine->dictionary().Tables()) {
    for (const IndexDefinition& index : table->indexes) {
      if (!SendIndex(engine, *table, index, writer)) return false;
    }
  }
  return true;
}

}  // namespace

int InitDefinitions(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
