// information_schema.ROCKSDB_INDEX_FILE_MAP: one row for each index and data file that has entries
// of it.
#include <string>

#include "engine/sst/file_statistics.h"
#include "mariadb/information_schema/file_rows.h"

namespace cairn {
namespace {

constexpr uint kDistinctWidth = 800;

ST_FIELD_INFO columns[] = {
    Show::Column("COLUMN_FAMILY", Show::SLong(), NOT_NULL),
    Show::Column("INDEX_NUMBER", Show::SLong(), NOT_NULL),
    Show::Column("SST_NAME", Show::Varchar(kNameWidth), NOT_NULL),
    Show::Column("NUM_ROWS", Show::SLonglong(), NOT_NULL),
    Show::Column("DATA_SIZE", Show::SLonglong(), NOT_NULL),
    Show::Column("ENTRY_DELETES", Show::SLonglong(), NOT_NULL),
    Show::Column("ENTRY_SINGLEDELETES", Show::SLonglong(), NOT_NULL),
    Show::Column("ENTRY_MERGES", Show::SLonglong(), NOT_NULL),
    Show::Column("ENTRY_OTHERS", Show::SLonglong(), NOT_NULL),
    Show::Column("DISTINCT_KEYS_PREFIX", Show::Varchar(kDistinctWidth), NOT_NULL),
    Show::CEnd()};

std::string JoinCounts(const std::vector<int64_t>& counts) {
  std::string text;
  for (const int64_t count : counts) {
    if (!text.empty()) text.push_back(',');
    text += std::to_string(count);
  }
  return text;
}

bool SendFile(const DataFile& file, SchemaTableWriter* writer) {
  const auto statistics = ReadFileStatistics(*file.properties);
  if (!statistics.ok()) return ReportSchemaTableError(statistics.status().WithContext(file.name));
  if (!statistics->has_value()) return true;
  for (const IndexStatistics& index : **statistics) {
    writer->Number(file.column_family).Number(index.id.index_number).Text(file.name);
    writer->Number(index.row_count).Number(index.data_bytes).Number(index.delete_count);
    writer->Number(index.single_delete_count).Number(index.merge_count).Number(index.other_count);
    if (!writer->Text(JoinCounts(index.distinct_prefix_counts)).Send()) return false;
  }
  return true;
}

}  // namespace

int InitIndexFileMap(void* plugin) {
  return DeclareSchemaTable<FillFromFiles<SendFile>>(plugin, columns);
}

}  // namespace cairn
