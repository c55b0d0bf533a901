#include "engine/store/compaction_throttle.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "rocksdb/iostats_context.h"
#include "rocksdb/perf_level.h"

namespace cairn {
namespace {

constexpr uint64_t kLeastRestUs = 1'000;   // Less is saved up,
constexpr uint64_t kMostUsedUs = 500'000;  // and not more than this is rested for at a time.
constexpr uint64_t kSliceUs = 10'000;      // So late a rest notices that it is to end.

// What UsedUs() gave when this thread last rested, or did not have to.
thread_local uint64_t settled_us = 0;

// Microseconds that this thread has spent on reading and writing since its time is measured.
uint64_t UsedUs() {
  const rocksdb::IOStatsContext& io = *rocksdb::get_iostats_context();
  return (io.read_nanos + io.write_nanos + io.range_sync_nanos + io.fsync_nanos +
          io.prepare_write_nanos) /
         1'000;
}

bool IsMeasured() {
  return rocksdb::GetPerfLevel() >= rocksdb::PerfLevel::kEnableTimeExceptForMutex;
}

}  // namespace

void CompactionThrottle::SetBacklog(uint32_t family, double backlog) {
  std::lock_guard lock(mutex_);
  backlogs_[family] = backlog;
  const auto largest =
      std::max_element(backlogs_.begin(), backlogs_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  backlog_.store(largest->second, std::memory_order_relaxed);
}

double CompactionThrottle::Rest() const {
  if (!on_.load(std::memory_order_relaxed) || failing_.load(std::memory_order_relaxed) ||
      hastes_.load(std::memory_order_relaxed) != 0) {
    return 0;
  }
  return kMostRest * std::max(0.0, 1 - backlog_.load(std::memory_order_relaxed) / kMostBacklog);
}

void CompactionThrottle::RestFor(uint64_t used_us) {
  using std::chrono::microseconds;
  using std::chrono::steady_clock;
  const auto begun = steady_clock::now();
  double left_us = static_cast<double>(used_us);
  for (double rest = Rest(); rest > 0 && left_us > 0; rest = Rest()) {
    const uint64_t slice_us = std::min(static_cast<uint64_t>(left_us * rest) + 1, kSliceUs);
    std::this_thread::sleep_for(microseconds(slice_us));
    left_us -= static_cast<double>(slice_us) / rest;
  }
  const auto rested = std::chrono::duration_cast<microseconds>(steady_clock::now() - begun);
  rested_us_.fetch_add(static_cast<uint64_t>(rested.count()), std::memory_order_relaxed);
}

void CompactionThrottle::Request(int64_t, rocksdb::Env::IOPriority priority, rocksdb::Statistics*) {
  const double rest = Rest();
  if (priority != rocksdb::Env::IO_LOW || rest <= 0) {
    if (IsMeasured()) settled_us = UsedUs();
    return;
  }
  if (!IsMeasured()) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableTimeExceptForMutex);
    settled_us = UsedUs();
    return;
  }
  const uint64_t used_us = UsedUs();
  settled_us = std::min(settled_us, used_us);  // Somebody may have reset the figures.
  const uint64_t since_us = used_us - settled_us;
  if (static_cast<double>(since_us) * rest < kLeastRestUs) return;
  settled_us = used_us;
  RestFor(std::min(since_us, kMostUsedUs));
}

// Only bounds the pieces: a file's buffer is smaller, unless somebody has set it.
int64_t CompactionThrottle::GetSingleBurstBytes() const { return 1 << 20; }

}  // namespace cairn
