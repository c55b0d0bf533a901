// Adds to RocksDB's tickers, several at a time.
//
// RocksDB finds out anew for each figure on which processor it is, as each has figures of its own.
// A look-up by key has a dozen of them to count, which takes as long as to find the row in its
// block.
//
// ticker.cc depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <atomic>
#include <cstdint>

#include "rocksdb/statistics.h"

namespace cairn::lsm {

// For a moment: the thread may go to another processor, and counts all the same.
class Ticker {
 public:
  // Null: nothing is counted.
  explicit Ticker(rocksdb::Statistics* statistics);

  void Add(rocksdb::Tickers ticker, uint64_t count) {
    if (count == 0) return;
    if (figures_ != nullptr) {
      figures_[ticker].fetch_add(count, std::memory_order_relaxed);
    } else if (statistics_ != nullptr) {
      statistics_->recordTick(ticker, count);
    }
  }

 private:
  std::atomic_uint_fast64_t* figures_ = nullptr;  // Of this processor, by ticker.
  rocksdb::Statistics* statistics_ = nullptr;     // To be asked, as it is one of another kind.
};

}  // namespace cairn::lsm
