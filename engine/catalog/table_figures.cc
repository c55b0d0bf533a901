#include "engine/catalog/table_figures.h"

#include <algorithm>

#include "engine/store/index_range.h"

namespace cairn {

TableFigureReader::TableFigureReader(Database* database) : database_(database) {
  bool counted_all = true;
  for (const ColumnFamily* family : database->families().All()) {
    if (family == &database->system_family()) continue;  // Holds no table.
    if (database->file_statistics().CountedAt(family->id).has_value()) continue;
    database->file_statistics().MarkStale(family->id);
    counted_all = false;
  }
  if (counted_all) return;  // Upkeep counts what changes since.
  const Status counted = database->maintenance().RefreshStatistics();
  if (!counted.ok()) {
    database->log().Write(Severity::kWarning, "counting files: " + counted.ToString());
  }
}

const TableFigureReader::Family& TableFigureReader::FamilyOf(const ColumnFamily& family) {
  const auto [found, added] = families_.try_emplace(family.id);
  if (added) {
    using Properties = rocksdb::DB::Properties;
    rocksdb::DB* const db = database_->rocksdb();
    db->GetIntProperty(family.handle, Properties::kLiveSstFilesSize, &found->second.disk_bytes);
    db->GetIntProperty(family.handle, Properties::kEstimatePendingCompactionBytes,
                       &found->second.pending_bytes);
  }
  return found->second;
}

TableFigures TableFigureReader::Read(const TableDefinition& table) {
  TableFigures figures;
  int64_t rows = 0;
  int64_t analysed_us = table.counters->analysed_us.load(std::memory_order_relaxed);
  for (const IndexDefinition& index : table.indexes) {
    const IndexRange range(*index.family, index.id.index_number);
    uint64_t memtable_entries = 0;
    uint64_t memtable_bytes = 0;
    database_->rocksdb()->GetApproximateMemTableStats(
        index.family->handle, {range.lower(), range.upper()}, &memtable_entries, &memtable_bytes);
    figures.memtable_bytes += memtable_bytes;
    const IndexInFiles files = database_->file_statistics().FindLast(index.id);
    const int64_t deletions = files.sums.delete_count + files.sums.single_delete_count;
    figures.disk_bytes += files.disk_bytes;
    figures.data_bytes += static_cast<uint64_t>(std::max<int64_t>(0, files.sums.data_bytes));
    figures.tombstones += static_cast<uint64_t>(std::max<int64_t>(0, deletions));
    if (index.info.kind != IndexKind::kSecondary) {
      rows += std::max<int64_t>(0, files.sums.row_count - deletions) +
              static_cast<int64_t>(memtable_entries);
    }
    const Family& family = FamilyOf(*index.family);
    if (family.disk_bytes > 0) {
      const double share = static_cast<double>(files.disk_bytes) /
                           static_cast<double>(std::max(family.disk_bytes, files.disk_bytes));
      figures.pending_compaction_bytes +=
          static_cast<uint64_t>(share * static_cast<double>(family.pending_bytes));
    }
    analysed_us = std::max(
        analysed_us, database_->file_statistics().CountedAt(index.id.column_family).value_or(0));
  }
  figures.rows = static_cast<uint64_t>(rows);
  if (analysed_us > 0) figures.analysed_us = analysed_us;
  return figures;
}

}  // namespace cairn
