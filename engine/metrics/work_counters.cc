#include "engine/metrics/work_counters.h"

namespace cairn {
namespace {

std::atomic<size_t> threads{0};
// The number of the calling thread, in the order in which threads counted first.
thread_local const size_t thread_number = threads.fetch_add(1, std::memory_order_relaxed);

}  // namespace

uint64_t WorkCounters::Total(Work work) const {
  uint64_t total = 0;
  for (const Shard& shard : shards_) {
    total += shard.counts[static_cast<size_t>(work)].load(std::memory_order_relaxed);
  }
  return total;
}

std::array<std::atomic<uint64_t>, kWorkKinds>& WorkCounters::CurrentShard() {
  return shards_[thread_number % kShards].counts;
}

}  // namespace cairn
