#include "engine/base/latency_histogram.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace cairn {
namespace {

TEST(LatencyHistogram, AnEmptyOneHasNoPercentiles) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.maximum(), 0u);
  EXPECT_EQ(histogram.Percentile(50), 0.0);
  EXPECT_EQ(histogram.Percentile(100), 0.0);
}

TEST(LatencyHistogram, SmallNumbersAreExact) {
  LatencyHistogram histogram;
  for (uint64_t us = 1; us <= 20; ++us) histogram.Add(us);
  EXPECT_EQ(histogram.Percentile(5), 1.0);
  EXPECT_EQ(histogram.Percentile(50), 10.0);
  EXPECT_EQ(histogram.Percentile(100), 20.0);
}

TEST(LatencyHistogram, PercentilesAreAtMostSevenPercentTooHigh) {
  LatencyHistogram histogram;
  for (uint64_t us = 1; us <= 1'000'000; us += 7) histogram.Add(us);
  for (const double percent : {1.0, 10.0, 50.0, 95.0, 99.0, 99.9}) {
    const double truth = percent * 10'000;
    EXPECT_GE(histogram.Percentile(percent), truth * 0.999) << percent;
    EXPECT_LE(histogram.Percentile(percent), truth * 1.07) << percent;
  }
  EXPECT_EQ(histogram.Percentile(100), static_cast<double>(histogram.maximum()));
}

TEST(LatencyHistogram, EveryNumberHasABucket) {
  LatencyHistogram histogram;
  for (int bit = 0; bit < 64; ++bit) {
    histogram.Add(uint64_t{1} << bit);
    histogram.Add((uint64_t{1} << bit) - 1);
  }
  histogram.Add(UINT64_MAX);
  EXPECT_EQ(histogram.count(), 129u);
  EXPECT_EQ(histogram.maximum(), UINT64_MAX);
  EXPECT_EQ(histogram.Percentile(100), static_cast<double>(UINT64_MAX));
}

TEST(LatencyHistogram, ThreadsAddWithoutLosingAny) {
  LatencyHistogram histogram;
  std::vector<std::thread> threads;
  for (uint64_t thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&histogram, thread] {
      for (int i = 0; i < 10'000; ++i) histogram.Add(thread * 1000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(histogram.count(), 40'000u);
  EXPECT_EQ(histogram.maximum(), 4000u);
}

}  // namespace
}  // namespace cairn
