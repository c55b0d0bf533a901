#include "engine/table/table_statistics.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/lsm/files_version.h"
#include "engine/lsm/range_size.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/sst/file_sums.h"
#include "engine/store/index_range.h"
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
  return lsm::FileBytesBetween(database->rocksdb(), family.handle, range.start, range.limit);
}

// Fills in the puts and deletions of an index from the properties that every file has: its share by
// bytes.
Status CountByShare(Database* database, const ColumnFamily& family, const KeyRange& range,
                    IndexSize* size) {
  rocksdb::TablePropertiesCollection files;
  const rocksdb::Range ranges[] = {{range.start, range.limit}};
  CAIRN_RETURN_IF_ERROR(FromRocksDb(
      database->rocksdb()->GetPropertiesOfTablesInRange(family.handle, ranges, 1, &files)));
  double puts = 0;
  double deletions = 0;
  double bytes = 0;
  for (const auto& [path, properties] : files) {
    puts += static_cast<double>(properties->num_entries - properties->num_deletions);
    deletions += static_cast<double>(properties->num_deletions);
    bytes += static_cast<double>(properties->data_size + properties->index_size +
                                 properties->filter_size);
  }
  if (bytes <= 0) return Status();
  const double share = std::min(1.0, static_cast<double>(size->file_bytes) / bytes);
  size->file_puts = static_cast<uint64_t>(puts * share);
  size->file_deletions = static_cast<uint64_t>(deletions * share);
  return Status();
}

uint64_t RowsInFiles(const IndexSize& size) {
  return size.file_puts - std::min(size.file_puts, size.file_deletions);
}

struct CountedEntries {
  uint64_t count = 0;
  bool complete = false;  // There are no more.
};

// Counts entries on to `most` in all, and looks at no more than ten times as many deleted ones in a
// row as it was made for.
class EntryCounter {
 public:
  EntryCounter(Database* database, const ColumnFamily& family, const KeyRange& range, uint64_t most)
      : range_(range), made_for_(most) {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    options.iterate_lower_bound = &range_.start;
    options.iterate_upper_bound = &range_.limit;
    options.max_skippable_internal_keys = 10 * most;
    iterator_ = database->NewIterator(family, options);
    iterator_->SeekToFirst();
  }
  EntryCounter(const EntryCounter&) = delete;
  EntryCounter& operator=(const EntryCounter&) = delete;

  Result<CountedEntries> CountTo(uint64_t most) {
    for (; iterator_->Valid() && count_ < most; iterator_->Next()) ++count_;
    if (!iterator_->status().ok() && !meets_deleted()) return FromRocksDb(iterator_->status());
    return CountedEntries{.count = count_,
                          .complete = !iterator_->Valid() && iterator_->status().ok()};
  }
  uint64_t made_for() const { return made_for_; }
  // Whether it has ended at deleted entries.
  bool meets_deleted() const { return iterator_->status().IsIncomplete(); }

 private:
  const KeyRange range_;
  const uint64_t made_for_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  uint64_t count_ = 0;
};

Result<CountedEntries> CountEntries(Database* database, const ColumnFamily& family,
                                    const KeyRange& range, uint64_t most) {
  return EntryCounter(database, family, range, most).CountTo(most);
}

// The same with an iterator that there is, which stands where `counted` ends.
Result<CountedEntries> CountOn(OrderedIterator* iterator, std::string_view end, uint64_t most,
                               CountedEntries counted) {
  const auto is_inside = [&] { return iterator->Valid() && iterator->key() < end; };
  for (; counted.count < most && is_inside(); iterator->Next()) ++counted.count;
  CAIRN_RETURN_IF_ERROR(iterator->status());
  counted.complete = !is_inside();
  return counted;
}

}  // namespace

Result<std::optional<IndexSums>> SumOverFiles(Database* database, const TableIndex& index) {
  auto kept = database->file_statistics().FindSums(index.definition.id);
  if (kept.has_value()) return kept;
  // The sums are not up to date: a file came or went just now.
  const ColumnFamily& family = index.family();
  const IndexRange whole(family, index.definition.id.index_number);
  rocksdb::TablePropertiesCollection files;
  const rocksdb::Range ranges[] = {{whole.lower(), whole.upper()}};
  CAIRN_RETURN_IF_ERROR(FromRocksDb(
      database->rocksdb()->GetPropertiesOfTablesInRange(family.handle, ranges, 1, &files)));
  FileSums sums = SumFiles(database->rocksdb(), family.handle, files, database->key_layouts(),
                           &database->log());
  if (!sums.complete) return std::optional<IndexSums>();
  return std::optional(std::move(sums.indexes[index.definition.id]));
}

Result<IndexSize> EstimateIndexSize(Database* database, const TableIndex& index,
                                    MemtableRows count_memtables) {
  const ColumnFamily& family = index.family();
  const IndexRange whole(family, index.definition.id.index_number);
  const KeyRange range(family, whole.first(), whole.end());

  IndexSize size;
  if (count_memtables == MemtableRows::kCount) {
    database->rocksdb()->GetApproximateMemTableStats(family.handle, {range.start, range.limit},
                                                     &size.memtable_entries, &size.memtable_bytes);
  }
  CAIRN_ASSIGN_OR_RETURN(size.file_bytes, FileBytes(database, family, range));
  CAIRN_ASSIGN_OR_RETURN(const auto files, SumOverFiles(database, index));
  if (files.has_value()) {
    const IndexStatistics& counted = files->sums;
    size.file_puts = static_cast<uint64_t>(std::max<int64_t>(counted.row_count, 0));
    size.file_deletions = static_cast<uint64_t>(
        std::max<int64_t>(counted.delete_count + counted.single_delete_count, 0));
  } else if (size.file_bytes > 0) {
    CAIRN_RETURN_IF_ERROR(CountByShare(database, family, range, &size));
  }
  size.row_count = RowsInFiles(size) + size.memtable_entries;
  return size;
}

Result<StoredRows> LookAtRows(Database* database, const Table& table,
                              const std::vector<IndexSize>& sizes) {
  // How often a row may lie in the files, overwritten but not compacted yet.
  constexpr uint64_t kVersions = 4;
  const TableIndex& primary = table.primary();
  // An entry of a secondary index is put once and removed by one SingleDelete: its figures add up.
  // An update of a row only puts it again.
  uint32_t witness = table.primary_position();
  for (uint32_t i = 0; i < sizes.size() && witness == table.primary_position(); ++i) {
    if (table.index(i).layout().kind == IndexKind::kSecondary) witness = i;
  }
  const bool adds_up = table.ttl_seconds() == 0 &&
                       (witness != table.primary_position() || table.all_columns_in_primary_key());
  const IndexSize& size = sizes[witness];
  // RocksDB's guess, from the heights of a skip list's towers, was seen to be little more than half
  // of the truth.
  constexpr uint64_t kGuessError = 3;
  const uint64_t in_memtables = kGuessError * size.memtable_entries;

  StoredRows rows;
  rows.estimate = size.row_count;
  rows.most = size.file_puts + in_memtables + kExactRangeEntries;
  const uint64_t in_files = RowsInFiles(size);
  rows.least = (in_files - std::min(in_files, in_memtables)) / kVersions;
  if (adds_up && size.memtable_entries == 0) rows.least = rows.most = in_files;
  if (std::min(rows.least, rows.estimate) > kCountedTableRows) return rows;

  const IndexRange range(primary.family(), primary.definition.id.index_number);
  CAIRN_ASSIGN_OR_RETURN(
      const CountedEntries counted,
      CountEntries(database, primary.family(),
                   KeyRange(primary.family(), range.first(), range.end()), kCountedTableRows));
  if (counted.complete) rows.counted = counted.count;
  rows.least = std::max(rows.least, counted.count);
  rows.estimate = std::max(rows.estimate, counted.count);
  rows.most = std::max(rows.most, rows.least);
  return rows;
}

namespace {

struct Share {
  uint64_t rows = 0;
  uint64_t file_bytes = 0;
};

// As EstimateIndexSize, but for row_count, which nobody wants here.
Result<IndexSize> MeasureForShare(Database* database, const TableIndex& index,
                                  KnownFileSize* known) {
  if (known == nullptr) return EstimateIndexSize(database, index);
  const ColumnFamily& family = index.family();
  // Asked before the files are: what was measured of later ones is measured again.
  const uint64_t version = lsm::FilesVersion(family.handle);
  if (known->version != version) {
    CAIRN_ASSIGN_OR_RETURN(known->size, EstimateIndexSize(database, index, MemtableRows::kIgnore));
    known->version = version;
  }
  IndexSize size = known->size;
  const IndexRange whole(family, index.definition.id.index_number);
  const KeyRange range(family, whole.first(), whole.end());
  database->rocksdb()->GetApproximateMemTableStats(family.handle, {range.start, range.limit},
                                                   &size.memtable_entries, &size.memtable_bytes);
  return size;
}

// How many entries a range has by its share in what files and memtables hold, each by its own
// measure. Rows beyond those in the files lie in memtables, which hold changes of the others as
// well.
Result<Share> ShareOfRange(Database* database, const TableIndex& index, const KeyRange& range,
                           uint64_t row_count, KnownFileSize* known) {
  CAIRN_ASSIGN_OR_RETURN(const IndexSize whole, MeasureForShare(database, index, known));
  uint64_t file_rows = whole.file_bytes == 0 ? 0 : std::min(row_count, RowsInFiles(whole));
  if (whole.file_bytes > 0 && whole.memtable_entries == 0) file_rows = row_count;
  Share share;
  double found = 0;
  if (file_rows > 0) {
    CAIRN_ASSIGN_OR_RETURN(share.file_bytes, FileBytes(database, index.family(), range));
    found +=
        static_cast<double>(file_rows) * std::min(1.0, static_cast<double>(share.file_bytes) /
                                                           static_cast<double>(whole.file_bytes));
  }
  if (whole.memtable_entries > 0) {
    uint64_t entries = 0;
    uint64_t bytes = 0;
    database->rocksdb()->GetApproximateMemTableStats(index.family().handle,
                                                     {range.start, range.limit}, &entries, &bytes);
    found +=
        static_cast<double>(row_count - file_rows) *
        std::min(1.0, static_cast<double>(entries) / static_cast<double>(whole.memtable_entries));
  }
  share.rows = static_cast<uint64_t>(found);
  return share;
}

// Whether a share is so large that counting, which costs as much as to read the entries, would
// hardly tell more.
bool IsPrecise(const Share& share, const std::optional<uint64_t>& most, uint64_t exact_entries) {
  constexpr uint64_t kBlocksBytes = 32
                                    << 10;  // Of several blocks: by one at each end it may be off.
  constexpr uint64_t kFew = 64;
  if (exact_entries > kExactRangeEntries) return share.rows > 2 * exact_entries;
  return share.rows > kFew && (most.has_value() || share.file_bytes > kBlocksBytes);
}

}  // namespace

Result<uint64_t> EstimateRangeRows(Database* database, const TableIndex& index, uint64_t row_count,
                                   std::string_view first, std::string_view end,
                                   uint64_t exact_entries, OrderedIterator* iterator,
                                   KnownFileSize* known) {
  constexpr uint64_t kFewEntries = 16;
  if (first >= end) return uint64_t{0};
  const KeyRange range(index.family(), first, end);
  std::optional<EntryCounter> own;
  CountedEntries shown;
  // Goes on where it has stopped, which may be behind many deleted entries.
  const auto count = [&](uint64_t most) -> Result<CountedEntries> {
    if (iterator != nullptr) {
      if (shown.count == 0) iterator->SeekAtOrAfter(first);
      CAIRN_ASSIGN_OR_RETURN(shown, CountOn(iterator, end, most, shown));
      return shown;
    }
    if (!own.has_value()) own.emplace(database, index.family(), range, most);
    auto counted = own->CountTo(most);
    // What was made for few entries gives up sooner.
    if (own->meets_deleted() && own->made_for() < most) {
      own.emplace(database, index.family(), range, most);
      counted = own->CountTo(most);
    }
    return counted;
  };
  const std::optional<uint64_t> most = index.codec->MostKeysBetween(first, end);
  // Most ranges have few entries, which to count takes less than to look at the files' indexes.
  if (most.value_or(0) <= kFewEntries) {
    CAIRN_ASSIGN_OR_RETURN(const CountedEntries few, count(kFewEntries));
    if (few.complete) return few.count;
  }
  CAIRN_ASSIGN_OR_RETURN(const Share share, ShareOfRange(database, index, range, row_count, known));
  if (IsPrecise(share, most, exact_entries)) {
    return std::min({share.rows, row_count, most.value_or(UINT64_MAX)});
  }
  CAIRN_ASSIGN_OR_RETURN(const CountedEntries counted, count(exact_entries));
  if (counted.complete) return counted.count;
  return std::clamp(share.rows, counted.count, std::max(row_count, counted.count));
}

}  // namespace cairn
