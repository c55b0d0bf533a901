// Rows that expire, as the comment of a table declares them:
// "ttl_duration=<seconds>;ttl_col=<column>", for single partitions
// "<partition>_ttl_duration=<seconds>" and so on (docs/stock-format.md, 8).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/status.h"

struct TABLE;

namespace cairn {

// When rows of a table expire: so many seconds (0: never) behind the time in a column or, if there
// is none, behind that of their insert.
struct RowExpiry {
  uint64_t seconds = 0;
  std::optional<uint32_t> column;
  bool operator==(const RowExpiry&) const = default;
};

// Checks what the comment of a new table asks for and reports with my_error what is wrong. `name`
// is the dictionary's, partition included. Fills `*seconds`, 0 when rows do not expire. Returns 0
// or a handler error code.
int ReadTtlDuration(const TABLE& table, std::string_view name, uint64_t* seconds);

// Position of the column that holds the TTL stamps, if the comment names one. Errors:
// kMetadataMismatch when it cannot hold them, which no statement brings about.
Result<std::optional<uint32_t>> FindTtlColumn(const TABLE& table, std::string_view name);

// What the comment of `table` says of the rows at a name of the dictionary, which need not exist
// yet. Reports what is wrong with it; returns 0 or a handler error code.
int ReadExpiry(const TABLE& table, std::string_view name, RowExpiry* expiry);

}  // namespace cairn
