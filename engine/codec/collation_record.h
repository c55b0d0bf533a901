// The dictionary's record of the weights that keys of a collation were made with
// (docs/on-disk-format.md, Weights of collations).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace cairn {

// Type 0x49.
struct CollationRecord {
  // Indexes from this number on, up to the next generation, were made with these weights.
  struct Generation {
    uint32_t first_index_number = 0;
    bool gives_values = false;  // Values come back from keys by the weights (kSimple8Bit).
    uint64_t weights = 0;       // Collation::HashWeights().
    bool operator==(const Generation&) const = default;
  };

  std::string server;    // The version of the server that looked last: at most 255 bytes.
  uint64_t weights = 0;  // What they were to that server.
  // By index number. At least one; the first begins at 0, so that each index is of one.
  std::vector<Generation> generations;

  const Generation& GenerationOf(uint32_t index_number) const;
  bool operator==(const CollationRecord&) const = default;
};

// `collation` is the server's number.
std::string CollationKey(uint32_t collation);

std::string EncodeCollationRecord(const CollationRecord& record);
// Errors: kNotSupported (a version that is not known), kCorruption (a checksum, a length, or
// generations out of order).
Result<CollationRecord> DecodeCollationRecord(std::string_view value);

}  // namespace cairn
