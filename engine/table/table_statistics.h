// Estimates of sizes and row counts, for the optimizer and for SHOW TABLE STATUS.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/database.h"
#include "engine/table/table.h"

namespace cairn {

struct IndexSize {
  uint64_t row_count = 0;
  uint64_t file_bytes = 0;  // In table files, compressed.
  uint64_t memtable_bytes = 0;
};

// The size of a whole index from the properties of its files and from the memtables. Overwritten and
// deleted entries that were not compacted yet make it imprecise.
enum class MemtableRows : uint8_t { kIgnore, kCount };
Result<IndexSize> EstimateIndexSize(Database* database, const TableIndex& index,
                                    MemtableRows memtable_rows = MemtableRows::kCount);

// How many entries have keys in [first, end). Exact up to kExactRangeEntries, which are counted; beyond
// that from the share of bytes. `whole` is what EstimateIndexSize gave.
inline constexpr uint64_t kExactRangeEntries = 100;
Result<uint64_t> EstimateRangeRows(Database* database, const TableIndex& index,
                                   const IndexSize& whole, std::string_view first,
                                   std::string_view end);

// How many entries share one value of the first i+1 key parts, for every own part i, measured on a sample
// of entries at both ends of the index. 1 for parts that nothing is known of.
Result<std::vector<double>> SampleRowsPerPrefix(Database* database, const TableIndex& index);

}  // namespace cairn
