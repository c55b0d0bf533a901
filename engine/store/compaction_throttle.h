// Compactions that leave a slow disk to those who wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "rocksdb/rate_limiter.h"

namespace cairn {

// What RocksDB asks before each piece that a compaction writes. A compaction rests for a multiple
// of the time that its reading and writing took: nearly not at all where files are in memory or the
// disk is fast, and where it is slow, most of the disk is left to others. The more files of level 0
// wait to be merged, the shorter it rests. It does not rest with twice as many as RocksDB merges
// them from, while RocksDB holds writes back or cannot write, or while somebody waits for a
// compaction. Flushes never rest; nor do reads, which a compaction may do under a mutex of
// RocksDB's table cache.
//
// Thread-safe; taken for a limit of bytes it has none. It belongs to compactions' own threads,
// whose perf level it raises to have their time measured: a session's thread compacts within a
// Haste.
class CompactionThrottle final : public rocksdb::RateLimiter {
 public:
  // Of the time that reading and writing took, with an empty level 0.
  static constexpr double kMostRest = 3.0;
  // From here on nobody rests.
  static constexpr double kMostBacklog = 2.0;

  // While one lives, nobody rests.
  class Haste {
   public:
    // Null: there is no throttle.
    explicit Haste(CompactionThrottle* throttle) : throttle_(throttle) {
      if (throttle_ != nullptr) ++throttle_->hastes_;
    }
    ~Haste() {
      if (throttle_ != nullptr) --throttle_->hastes_;
    }
    Haste(const Haste&) = delete;
    Haste& operator=(const Haste&) = delete;

   private:
    CompactionThrottle* const throttle_;
  };

  CompactionThrottle() : RateLimiter(Mode::kWritesOnly) {}

  // On at first.
  void SetOn(bool on) { on_.store(on, std::memory_order_relaxed); }
  // Of a column family: the files in its level 0 by the number from which RocksDB merges them;
  // kMostBacklog while it holds writes back for the family.
  void SetBacklog(uint32_t family, double backlog);
  // Whether RocksDB cannot write, and waits for compactions before it goes on.
  void SetFailing(bool failing) { failing_.store(failing, std::memory_order_relaxed); }
  // The time that a compaction rests by the time that its reading and writing took.
  double Rest() const;
  // Microseconds that compactions have rested, all together.
  uint64_t rested_us() const { return rested_us_.load(std::memory_order_relaxed); }

  using rocksdb::RateLimiter::Request;
  void Request(int64_t bytes, rocksdb::Env::IOPriority priority,
               rocksdb::Statistics* statistics) override;
  // RocksDB's file system in memory asks like that.
  void Request(int64_t bytes, rocksdb::Env::IOPriority priority) override {
    Request(bytes, priority, nullptr);
  }
  int64_t GetSingleBurstBytes() const override;
  void SetBytesPerSecond(int64_t) override {}
  int64_t GetBytesPerSecond() const override { return 0; }
  int64_t GetTotalBytesThrough(rocksdb::Env::IOPriority) const override { return 0; }
  int64_t GetTotalRequests(rocksdb::Env::IOPriority) const override { return 0; }

 private:
  void RestFor(uint64_t used_us);

  std::atomic<bool> on_{true};
  std::atomic<int> hastes_{0};
  std::atomic<bool> failing_{false};
  std::atomic<double> backlog_{0};  // The largest.
  std::atomic<uint64_t> rested_us_{0};
  std::mutex mutex_;
  std::map<uint32_t, double> backlogs_;  // Guarded by mutex_.
};

}  // namespace cairn
