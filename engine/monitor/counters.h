// The figures that RocksDB and the store count, under the names that SHOW STATUS gives them
// (counters.def).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/store/database.h"

namespace cairn {

struct Counter {
  const char* name;  // Without "Rocksdb_"; a literal.
  uint64_t value;
};

// Reads them all, one after the other: they need not agree with each other.
std::vector<Counter> ReadCounters(const Database& database);

// Sets RocksDB's tickers, histograms and internal statistics to zero. Errors: those of RocksDB.
Status ResetCounters(const Database& database);

}  // namespace cairn
