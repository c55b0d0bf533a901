#include "engine/monitor/stall_remedy.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "rocksdb/rate_limiter.h"

namespace cairn {
namespace {

// The work that ends a stall, and whether it goes on.
std::string Progress(std::string_view job, uint64_t running, bool paused) {
  if (paused) return "background work is paused (SET GLOBAL rocksdb_pause_background_work = 0)";
  const std::string name(job);
  if (running == 0) return "no " + name + " is running: see the error log if that stays so";
  if (running == 1) return "a " + name + " is running";
  return std::to_string(running) + " " + name + (name.back() == 'h' ? "es" : "s") + " are running";
}

std::string Advice(const WriteStall& stall) {
  const bool stopped = stall.kind == StallKind::kStopped;
  switch (stall.cause) {
    case StallCause::kMemtables:
      return "raise max_write_buffer_number, write_buffer_size or rocksdb_max_background_jobs";
    case StallCause::kLevelZeroFiles:
      return std::string("raise ") +
             (stopped ? "level0_stop_writes_trigger" : "level0_slowdown_writes_trigger") +
             " or rocksdb_max_background_jobs";
    case StallCause::kPendingCompaction:
      return std::string("raise ") +
             (stopped ? "hard_pending_compaction_bytes_limit"
                      : "soft_pending_compaction_bytes_limit") +
             " or rocksdb_max_background_jobs";
  }
  return "";
}

std::string Amount(const WriteStall& stall) {
  switch (stall.cause) {
    case StallCause::kMemtables:
      return std::to_string(stall.value) + " of " + std::to_string(stall.limit) +
             " memtables wait to be flushed";
    case StallCause::kLevelZeroFiles:
      return std::to_string(stall.value) + " of " + std::to_string(stall.limit) + " level-0 files";
    case StallCause::kPendingCompaction:
      return ShowBytes(stall.value) + " of " + ShowBytes(stall.limit) + " wait to be compacted";
  }
  return "";
}

}  // namespace

std::string ShowBytes(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
  return text.data();
}

StallSituation ReadStallSituation(const Database& database) {
  StallSituation situation;
  rocksdb::DB* const db = database.rocksdb();
  using Properties = rocksdb::DB::Properties;
  db->GetIntProperty(Properties::kNumRunningFlushes, &situation.running_flushes);
  db->GetIntProperty(Properties::kNumRunningCompactions, &situation.running_compactions);
  db->GetIntProperty(Properties::kActualDelayedWriteRate, &situation.delayed_bytes_per_s);
  return situation;
}

std::string DescribeRemedy(const WriteStall& stall, const StallSituation& situation) {
  std::string text = Amount(stall) + "; ";
  text += stall.cause == StallCause::kMemtables
              ? Progress("flush", situation.running_flushes, situation.paused)
              : Progress("compaction", situation.running_compactions, situation.paused);
  if (stall.kind == StallKind::kSlowed && situation.delayed_bytes_per_s > 0) {
    text += "; all writes together get " + ShowBytes(situation.delayed_bytes_per_s) + "/s";
  }
  return text + "; " + Advice(stall);
}

RateLimiterWait ReadRateLimiterWait(const Database& database) {
  RateLimiterWait wait;
  rocksdb::RateLimiter* const limiter = database.options().db.rate_limiter.get();
  if (limiter == nullptr) return wait;
  int64_t waiting = 0;
  if (!limiter->GetTotalPendingRequests(&waiting).ok()) waiting = 0;
  wait.waiting = static_cast<uint64_t>(waiting);
  wait.bytes_per_s = static_cast<uint64_t>(limiter->GetBytesPerSecond());
  return wait;
}

std::string DescribeRateLimit(const RateLimiterWait& wait) {
  return std::to_string(wait.waiting) + " flushes or compactions wait for " +
         ShowBytes(wait.bytes_per_s) + "/s; raise rocksdb_rate_limiter_bytes_per_sec";
}

}  // namespace cairn
