// Statistics of an index: dictionary record type 6 and the SST property `__indexstats__`
// (docs/stock-format.md, 13.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/dictionary_record.h"

namespace cairn {

inline constexpr std::string_view kIndexStatisticsProperty = "__indexstats__";  // Persisted.

struct IndexStatistics {
  IndexId id;
  int64_t data_bytes = 0;  // Sum of key and value lengths.
  int64_t row_count = 0;   // Puts.
  int64_t disk_bytes = 0;
  int64_t delete_count = 0;
  int64_t single_delete_count = 0;
  int64_t merge_count = 0;
  int64_t other_count = 0;
  std::vector<int64_t>
      distinct_prefix_counts;  // Element i: distinct values of the first i+1 parts.
  bool operator==(const IndexStatistics&) const = default;

  // Adds or takes away the counters of `other`; distinct counts add element-wise (the longer wins).
  void Add(const IndexStatistics& other);
  void Subtract(const IndexStatistics& other);
};

// Version 2.
std::string EncodeIndexStatistics(const std::vector<IndexStatistics>& statistics);
// Versions 1 and 2. Errors: kNotSupported (version), kCorruption.
Result<std::vector<IndexStatistics>> DecodeIndexStatistics(std::string_view bytes);

}  // namespace cairn
