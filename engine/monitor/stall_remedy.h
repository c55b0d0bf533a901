// What a stall of writes waits for and what a person can do about it, as a sentence.
#pragma once

#include <cstdint>
#include <string>

#include "engine/store/database.h"
#include "engine/store/write_stalls.h"

namespace cairn {

// What the database does about its stalls.
struct StallSituation {
  uint64_t running_flushes = 0;
  uint64_t running_compactions = 0;
  uint64_t delayed_bytes_per_s = 0;  // What slowed writes get together; 0 while none are slowed.
  bool paused = false;               // Background work, by rocksdb_pause_background_work.
};

StallSituation ReadStallSituation(const Database& database);

// "12 of 8 level-0 files; a compaction is running; ...", for a stall that goes on.
std::string DescribeRemedy(const WriteStall& stall, const StallSituation& situation);

// Flushes and compactions that wait for rocksdb_rate_limiter_bytes_per_sec.
struct RateLimiterWait {
  uint64_t waiting = 0;
  uint64_t bytes_per_s = 0;
};
RateLimiterWait ReadRateLimiterWait(const Database& database);
std::string DescribeRateLimit(const RateLimiterWait& wait);

// "8.0 MiB"
std::string ShowBytes(uint64_t bytes);

}  // namespace cairn
