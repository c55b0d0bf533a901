// How many values the keys of an index have in the memtables.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/value_sample.h"
#include "engine/store/database.h"
#include "engine/table/table.h"

namespace cairn {

// An index of no more entries in memtables is walked wholly. Of a larger one as many are looked at,
// spread over it in stretches; where they show few values, these are stepped through one by one,
// kSteppedValues at most. An entry takes about 0.1 us, a step 1 us.
inline constexpr uint64_t kWalkedEntries = 50'000;
inline constexpr uint64_t kSteppedValues = 4'000;

// Element i is of the first i+1 own parts.
struct MemtableValues {
  struct Prefix {
    int64_t count = 0;
    bool exact = false;
    ValueSample sample;  // Of all values when the count is exact, else of those that were seen.
  };
  uint64_t rows = 0;
  size_t sampled_parts = 0;  // The first ones: the others have as many values as there are entries.
  std::vector<Prefix> prefixes;
};

// Entries that are deleted in a memtable do not count, those of files that are deleted there are
// not known. Errors: kCorruption, when a key cannot be split.
Result<MemtableValues> CountMemtableValues(Database* database, const TableIndex& index,
                                           uint64_t walked_entries = kWalkedEntries,
                                           uint64_t stepped_values = kSteppedValues);

}  // namespace cairn
