// What RocksDB did for a statement, counted and timed by the thread that runs it, and the sums of
// that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn {

inline constexpr size_t kPerfFigures = 0
#define FIGURE(...) +1
#define IO_FIGURE(...) +1
#define NO_FIGURE(...) +1
#include "engine/metrics/perf_figures.def"
    ;

// The figures' names, in order.
extern const std::array<std::string_view, kPerfFigures> kPerfFigureNames;

using PerfFigures = std::array<uint64_t, kPerfFigures>;

// Sums of many statements. Thread-safe; figures that are read need not agree with each other.
class PerfSums {
 public:
  void Add(const PerfFigures& figures);
  PerfFigures Read() const;

 private:
  std::array<std::atomic<uint64_t>, kPerfFigures> sums_{};
};

// How much is collected; the numbers are those of rocksdb_perf_context_level.
enum class PerfLevel : uint8_t {
  kOff = 1,
  kCounts = 2,
  kTimes = 3,      // But for those of mutexes.
  kCpuTimes = 4,   // These too.
  kMutexTimes = 5  // All there is.
};

// One collection at a time, begun and ended on the same thread. A level of kOff costs nothing, and
// keeps RocksDB from counting for the thread at all.
class PerfCollection {
 public:
  // Begins to collect for the calling thread, from zero; goes on when it has begun already.
  void Begin(PerfLevel level);
  bool collects() const { return collects_; }
  // Ends the collection and gives what it brought; with none, all zero.
  PerfFigures End();

 private:
  bool collects_ = false;
};

}  // namespace cairn
