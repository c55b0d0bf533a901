// How long something took, many times over: percentiles at most 7 % above the truth, the maximum
// exactly.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cairn {

// Thread-safe; adding takes a few atomic additions.
class LatencyHistogram {
 public:
  void Add(uint64_t microseconds);

  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  uint64_t maximum() const { return maximum_.load(std::memory_order_relaxed); }
  // A time that `percent` of the times do not exceed; 0 when nothing was added.
  double Percentile(double percent) const;

 private:
  // Buckets double every kBucketsPerDoubling; below 2^kExactBits each number has its own.
  static constexpr size_t kExactBits = 4;
  static constexpr size_t kBucketsPerDoubling = size_t{1} << kExactBits;
  static constexpr size_t kBuckets = (64 - kExactBits + 1) * kBucketsPerDoubling;

  static size_t BucketOf(uint64_t microseconds);
  static double UpperEnd(size_t bucket);

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> maximum_{0};
};

}  // namespace cairn
