#include "engine/table/table_statistics.h"

#include <algorithm>
#include <memory>
#include <string>

#include "engine/store/index_range.h"
#include "engine/store/rocksdb_status.h"
#include "engine/table/ordered_iterator.h"
#include "rocksdb/table_properties.h"

namespace cairn {
namespace {

// A range of keys in the order of the family's comparator, as RocksDB wants it.
struct KeyRange {
  KeyRange(const ColumnFamily& family, std::string_view first, std::string_view end) {
    if (family.reverse) std::swap(first, end);
    start = rocksdb::Slice(first.data(), first.size());
    limit = rocksdb::Slice(end.data(), end.size());
  }
  rocksdb::Slice start;
  rocksdb::Slice limit;
};

Result<uint64_t> FileBytes(Database* database, const ColumnFamily& family, const KeyRange& range) {
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = false;
  options.include_files = true;
  const rocksdb::Range ranges[] = {{range.start, range.limit}};
  uint64_t bytes = 0;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(
      database->rocksdb()->GetApproximateSizes(options, family.handle, ranges, 1, &bytes)));
  return bytes;
}

bool CanGiveCardinality(const IndexStatistics& counted, size_t part_count) {
  const std::vector<int64_t>& distinct = counted.distinct_prefix_counts;
  return counted.row_count >= kCountedRows && distinct.size() >= part_count &&
         std::all_of(distinct.begin(), distinct.begin() + static_cast<ptrdiff_t>(part_count),
                     [](int64_t count) { return count > 0; });
}

}  // namespace

Result<IndexSize> EstimateIndexSize(Database* database, const TableIndex& index,
                                    MemtableRows count_memtables) {
  const ColumnFamily& family = index.family();
  const IndexRange whole(family, index.entry.id.index_number);
  const KeyRange range(family, whole.first(), whole.end());

  IndexSize size;
  uint64_t memtable_rows = 0;
  if (count_memtables == MemtableRows::kCount) {
    database->rocksdb()->GetApproximateMemTableStats(family.handle, {range.start, range.limit},
                                                     &memtable_rows, &size.memtable_bytes);
  }
  CAIRN_ASSIGN_OR_RETURN(size.file_bytes, FileBytes(database, family, range));
  uint64_t file_rows = 0;
  const auto counted = database->file_statistics().Find(index.entry.id);
  if (counted.has_value()) {
    // A deletion cancels an entry; those that wait for a compaction hide as many.
    file_rows = static_cast<uint64_t>(std::max<int64_t>(
        0, counted->row_count - counted->delete_count - counted->single_delete_count));
  } else if (size.file_bytes > 0) {
    rocksdb::TablePropertiesCollection properties;
    const rocksdb::Range ranges[] = {{range.start, range.limit}};
    CAIRN_RETURN_IF_ERROR(FromRocksDb(
        database->rocksdb()->GetPropertiesOfTablesInRange(family.handle, ranges, 1, &properties)));
    double entries = 0;
    double bytes = 0;
    for (const auto& [file, file_properties] : properties) {
      // A deletion cancels an entry besides not being one.
      const double deletions = static_cast<double>(file_properties->num_deletions);
      entries += std::max(0.0, static_cast<double>(file_properties->num_entries) - 2 * deletions);
      bytes += static_cast<double>(file_properties->data_size + file_properties->index_size +
                                   file_properties->filter_size);
    }
    if (bytes > 0) {
      const double share = std::min(1.0, static_cast<double>(size.file_bytes) / bytes);
      file_rows = static_cast<uint64_t>(entries * share);
    }
  }
  size.row_count = memtable_rows + file_rows;
  return size;
}

Result<uint64_t> EstimateRangeRows(Database* database, const TableIndex& index,
                                   const IndexSize& whole, std::string_view first,
                                   std::string_view end) {
  if (first >= end) return uint64_t{0};
  const ColumnFamily& family = index.family();
  const KeyRange range(family, first, end);

  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.iterate_lower_bound = &range.start;
  options.iterate_upper_bound = &range.limit;
  // Many tombstones must not make an estimate slow.
  options.max_skippable_internal_keys = 10 * kExactRangeEntries;
  std::unique_ptr<rocksdb::Iterator> iterator(
      database->rocksdb()->NewIterator(options, family.handle));
  uint64_t counted = 0;
  for (iterator->SeekToFirst(); iterator->Valid() && counted < kExactRangeEntries;
       iterator->Next()) {
    ++counted;
  }
  if (!iterator->Valid() && iterator->status().ok()) return counted;
  if (!iterator->status().ok() && !iterator->status().IsIncomplete()) {
    return FromRocksDb(iterator->status());
  }

  uint64_t memtable_rows = 0;
  uint64_t memtable_bytes = 0;
  database->rocksdb()->GetApproximateMemTableStats(family.handle, {range.start, range.limit},
                                                   &memtable_rows, &memtable_bytes);
  CAIRN_ASSIGN_OR_RETURN(const uint64_t file_bytes, FileBytes(database, family, range));
  uint64_t rows = memtable_rows;
  if (whole.file_bytes > 0) {
    const double share =
        std::min(1.0, static_cast<double>(file_bytes) / static_cast<double>(whole.file_bytes));
    rows += static_cast<uint64_t>(share * static_cast<double>(whole.row_count));
  }
  return std::clamp(rows, counted, std::max(whole.row_count, counted));
}

Result<std::vector<double>> SampleRowsPerPrefix(Database* database, const TableIndex& index) {
  constexpr int kSampledEntries = 200;  // At each end.
  const size_t part_count = index.layout().parts.size();
  std::vector<double> distinct(part_count, 0);
  double sampled = 0;

  Transaction transaction(database);
  transaction.Start(TransactionSettings());
  OrderedIterator iterator(index.entry, &transaction, Transaction::View::kLatest);
  std::string previous;
  std::vector<uint32_t> part_ends;
  const auto count_entry = [&]() -> Status {
    CAIRN_RETURN_IF_ERROR(index.codec->SplitKey(iterator.key(), &part_ends));
    for (size_t i = 0; i < part_count && i < part_ends.size(); ++i) {
      if (iterator.key().substr(0, part_ends[i]) !=
          std::string_view(previous).substr(0, part_ends[i])) {
        ++distinct[i];
      }
    }
    ++sampled;
    previous.assign(iterator.key());
    return Status();
  };
  iterator.SeekToFirst();
  for (int i = 0; i < kSampledEntries && iterator.Valid(); ++i, iterator.Next()) {
    CAIRN_RETURN_IF_ERROR(count_entry());
  }
  if (iterator.Valid()) {
    previous.clear();
    iterator.SeekToLast();
    for (int i = 0; i < kSampledEntries && iterator.Valid(); ++i, iterator.Previous()) {
      CAIRN_RETURN_IF_ERROR(count_entry());
    }
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  std::vector<double> rows_per_prefix(part_count, 1);
  // A sample that is the whole index is exact. Else the ends of an index are not like its middle, and a
  // sample cannot find values that more entries share than it has.
  const auto counted = database->file_statistics().Find(index.entry.id);
  if (counted.has_value() && sampled >= 2 * kSampledEntries &&
      CanGiveCardinality(*counted, part_count)) {
    std::copy_n(counted->distinct_prefix_counts.begin(), part_count, distinct.begin());
    sampled = static_cast<double>(counted->row_count);
  }
  for (size_t i = 0; i < part_count; ++i) {
    if (distinct[i] > 0) rows_per_prefix[i] = sampled / distinct[i];
  }
  return rows_per_prefix;
}

}  // namespace cairn
