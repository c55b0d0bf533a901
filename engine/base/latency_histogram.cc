#include "engine/base/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cairn {

// A number of n bits lies in the doubling n - kExactBits, and there in the bucket that the bits
// behind its first one choose.
size_t LatencyHistogram::BucketOf(uint64_t microseconds) {
  const auto bits = static_cast<size_t>(std::bit_width(microseconds));
  if (bits <= kExactBits) return static_cast<size_t>(microseconds);
  const size_t shift = bits - kExactBits - 1;
  return (shift + 1) * kBucketsPerDoubling + (microseconds >> shift) - kBucketsPerDoubling;
}

double LatencyHistogram::UpperEnd(size_t bucket) {
  if (bucket < 2 * kBucketsPerDoubling) return static_cast<double>(bucket);
  const size_t shift = bucket / kBucketsPerDoubling - 1;
  const size_t leading = bucket % kBucketsPerDoubling + kBucketsPerDoubling;
  return std::ldexp(static_cast<double>(leading + 1), static_cast<int>(shift)) - 1;
}

void LatencyHistogram::Add(uint64_t microseconds) {
  buckets_[BucketOf(microseconds)].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  uint64_t maximum = maximum_.load(std::memory_order_relaxed);
  while (maximum < microseconds &&
         !maximum_.compare_exchange_weak(maximum, microseconds, std::memory_order_relaxed)) {
  }
}

double LatencyHistogram::Percentile(double percent) const {
  const auto wanted =
      static_cast<uint64_t>(std::ceil(static_cast<double>(count()) * percent / 100.0));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < kBuckets && wanted > 0; ++bucket) {
    seen += buckets_[bucket].load(std::memory_order_relaxed);
    if (seen >= wanted) return std::min(UpperEnd(bucket), static_cast<double>(maximum()));
  }
  return static_cast<double>(maximum());
}

}  // namespace cairn
