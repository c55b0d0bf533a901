#include "engine/store/io_pace.h"

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

// Of this thread, in microseconds.
struct Used {
  uint64_t before = 0;  // What its statistics said when it last rested, or would have.
  uint64_t counted =
      0;  // What of its rests they will count as reading: RocksDB asks within the time that it takes.
};
thread_local Used used;

uint64_t TotalUs() {
  const rocksdb::IOStatsContext& io = *rocksdb::get_iostats_context();
  return (io.read_nanos + io.write_nanos + io.range_sync_nanos + io.fsync_nanos +
          io.prepare_write_nanos + io.allocate_nanos) /
         1'000;
}

}  // namespace

void IoPace::SetLevelZero(uint32_t family, uint64_t files, int trigger) {
  std::lock_guard lock(mutex_);
  backlogs_[family] = static_cast<double>(files) / std::max(trigger, 1);
  const auto largest =
      std::max_element(backlogs_.begin(), backlogs_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  backlog_.store(largest->second, std::memory_order_relaxed);
}

double IoPace::Rest() const {
  if (!on_.load(std::memory_order_relaxed) || hastes_.load(std::memory_order_relaxed) != 0) {
    return 0;
  }
  return kMostRest * std::max(0.0, 1 - backlog_.load(std::memory_order_relaxed) / 2);
}

uint64_t IoPace::RestFor(uint64_t used_us) {
  using std::chrono::microseconds;
  using std::chrono::steady_clock;
  const auto begun = steady_clock::now();
  double left_us = static_cast<double>(used_us);
  for (double rest = Rest(); rest > 0 && left_us > 0; rest = Rest()) {
    const uint64_t slice_us = std::min(static_cast<uint64_t>(left_us * rest) + 1, kSliceUs);
    std::this_thread::sleep_for(microseconds(slice_us));
    left_us -= static_cast<double>(slice_us) / rest;
  }
  const auto rested_us = static_cast<uint64_t>(
      std::chrono::duration_cast<microseconds>(steady_clock::now() - begun).count());
  rested_us_.fetch_add(rested_us, std::memory_order_relaxed);
  return rested_us;
}

// RocksDB asks with IO_USER in the place of IO_LOW while it slows writes down or has stopped them.
void IoPace::Request(int64_t, rocksdb::Env::IOPriority priority, rocksdb::Statistics*,
                     OpType kind) {
  if (priority != rocksdb::Env::IO_LOW || Rest() <= 0) return;
  if (rocksdb::GetPerfLevel() < rocksdb::PerfLevel::kEnableTimeExceptForMutex) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableTimeExceptForMutex);
  }
  const uint64_t total = TotalUs();
  if (total < used.before) used = {.before = total, .counted = 0};  // Somebody has reset them.
  const uint64_t since = total - used.before;
  const uint64_t used_us = since - std::min(since, used.counted);
  if (static_cast<double>(used_us) * Rest() < kLeastRestUs) return;
  used.before = total;
  const uint64_t rested_us = RestFor(std::min(used_us, kMostUsedUs));
  used.counted = kind == OpType::kRead ? rested_us : 0;
}

// As much as a compaction reads at a time.
int64_t IoPace::GetSingleBurstBytes() const { return 1 << 20; }

}  // namespace cairn
