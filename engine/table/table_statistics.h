// Estimates of sizes and row counts, for the optimizer and for SHOW TABLE STATUS.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/row_count.h"
#include "engine/sst/file_sums.h"
#include "engine/store/database.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/table.h"

namespace cairn {

struct IndexSize {
  uint64_t row_count = 0;
  uint64_t file_bytes = 0;  // In table files, compressed.
  uint64_t memtable_bytes = 0;
  // What row_count was made of.
  uint64_t file_puts = 0;
  uint64_t file_deletions = 0;    // Each cancels one of the puts.
  uint64_t memtable_entries = 0;  // About as many; puts and deletions.
};

// What the statistics in the files of an index say of it; nothing when some file has none.
Result<std::optional<IndexSums>> SumOverFiles(Database* database, const TableIndex& index);

// The size of a whole index from the properties of its files and from the memtables. Overwritten
// entries that were not compacted yet, and deletions in memtables, count as rows.
enum class MemtableRows : uint8_t { kIgnore, kCount };
Result<IndexSize> EstimateIndexSize(Database* database, const TableIndex& index,
                                    MemtableRows memtable_rows = MemtableRows::kCount);

// What is stored says of a table's number of rows. `sizes` are what EstimateIndexSize gave of its
// indexes, in their order. Few rows are counted, unless they lie among very many deletions.
inline constexpr uint64_t kCountedTableRows = 1000;
Result<StoredRows> LookAtRows(Database* database, const Table& table,
                              const std::vector<IndexSize>& sizes);

// The size of an index when its family's files were `version` (FilesVersion); 0: not known.
// Memtables are not in it.
struct KnownFileSize {
  uint64_t version = 0;
  IndexSize size;
};

// How many entries have keys in [first, end). Those that look like few are counted, up to
// `exact_entries`; more are estimated from the share of bytes, which is off by a block at each end
// and where some entries compress better than others. `row_count` is that of the table. `iterator`,
// if there is one, shows the index; it is moved. `known`, if it is given, is the caller's for this
// index, and spares measuring the whole of it each time.
inline constexpr uint64_t kExactRangeEntries = 100;
Result<uint64_t> EstimateRangeRows(Database* database, const TableIndex& index, uint64_t row_count,
                                   std::string_view first, std::string_view end,
                                   uint64_t exact_entries = kExactRangeEntries,
                                   OrderedIterator* iterator = nullptr,
                                   KnownFileSize* known = nullptr);

}  // namespace cairn
