// information_schema.ROCKSDB_SST_PROPS: one row for each data file.
#include "mariadb/information_schema/file_rows.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {Show::Column("SST_NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("COLUMN_FAMILY", Show::SLong(), NOT_NULL),
                           Show::Column("DATA_BLOCKS", Show::SLonglong(), NOT_NULL),
                           Show::Column("ENTRIES", Show::SLonglong(), NOT_NULL),
                           Show::Column("RAW_KEY_SIZE", Show::SLonglong(), NOT_NULL),
                           Show::Column("RAW_VALUE_SIZE", Show::SLonglong(), NOT_NULL),
                           Show::Column("DATA_BLOCK_SIZE", Show::SLonglong(), NOT_NULL),
                           Show::Column("INDEX_BLOCK_SIZE", Show::SLonglong(), NOT_NULL),
                           Show::Column("INDEX_PARTITIONS", Show::SLong(), NOT_NULL),
                           Show::Column("TOP_LEVEL_INDEX_SIZE", Show::SLonglong(), NOT_NULL),
                           Show::Column("FILTER_BLOCK_SIZE", Show::SLonglong(), NOT_NULL),
                           Show::Column("COMPRESSION_ALGO", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("CREATION_TIME", Show::SLonglong(), NOT_NULL),
                           Show::Column("FILE_CREATION_TIME", Show::SLonglong(), NOT_NULL),
                           Show::Column("OLDEST_KEY_TIME", Show::SLonglong(), NOT_NULL),
                           Show::Column("FILTER_POLICY", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("COMPRESSION_OPTIONS", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::CEnd()};

bool SendFile(const DataFile& file, SchemaTableWriter* writer) {
  const rocksdb::TableProperties& properties = *file.properties;
  writer->Text(file.name).Number(file.column_family);
  writer->Unsigned(properties.num_data_blocks).Unsigned(properties.num_entries);
  writer->Unsigned(properties.raw_key_size).Unsigned(properties.raw_value_size);
  writer->Unsigned(properties.data_size).Unsigned(properties.index_size);
  writer->Unsigned(properties.index_partitions).Unsigned(properties.top_level_index_size);
  writer->Unsigned(properties.filter_size).Text(properties.compression_name);
  writer->Unsigned(properties.creation_time).Unsigned(properties.file_creation_time);
  writer->Unsigned(properties.oldest_key_time).Text(properties.filter_policy_name);
  return writer->Text(properties.compression_options).Send();
}

}  // namespace

int InitFileProperties(void* plugin) {
  return DeclareSchemaTable<FillFromFiles<SendFile>>(plugin, columns);
}

}  // namespace cairn
