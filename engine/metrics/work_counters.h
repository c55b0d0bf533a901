// What the engine and the adapter count themselves, beside RocksDB: rows, reads, refused locks
// (counters.def).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cairn {

// Kinds of work, each named after its status counter.
enum class Work : uint8_t {
#define WORK(name, kind) kind,
#include "engine/metrics/counters.def"
};

inline constexpr size_t kWorkKinds = 0
#define WORK(name, kind) +1
#include "engine/metrics/counters.def"
    ;

// Thread-safe. Threads count in shards of their own as far as these go, so that they seldom touch
// the same cache line.
class WorkCounters {
 public:
  WorkCounters() = default;
  WorkCounters(const WorkCounters&) = delete;
  WorkCounters& operator=(const WorkCounters&) = delete;

  void Count(Work work, uint64_t times = 1) {
    CurrentShard()[static_cast<size_t>(work)].fetch_add(times, std::memory_order_relaxed);
  }
  // How often it was counted since the start.
  uint64_t Total(Work work) const;

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    std::array<std::atomic<uint64_t>, kWorkKinds> counts{};
  };
  std::array<std::atomic<uint64_t>, kWorkKinds>& CurrentShard();

  std::array<Shard, kShards> shards_;
};

}  // namespace cairn
