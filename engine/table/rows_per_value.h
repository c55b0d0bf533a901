// How many rows share a value of an index: what the optimizer expects of a join's look-ups.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/database.h"
#include "engine/table/table.h"

namespace cairn {

// How many entries share one value of the first i+1 key parts, for every own part i: 1 for parts
// that nothing is known of. `row_count` is that of the table.
//
// A small index is walked. Of others the files have counted their values (sst/file_sums.h) and
// those in memtables are counted now (table/memtable_values.h). Where files have counted nothing,
// entries at both ends of the index are looked at, and values that are few are stepped through.
Result<std::vector<double>> RowsPerValue(Database* database, const TableIndex& index,
                                         uint64_t row_count);

}  // namespace cairn
