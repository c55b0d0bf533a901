// Random numbers for tests: the seed is printed and taken back from the environment (CAIRN_SEED).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace cairn::testing {

// The seed of this run: CAIRN_SEED, or a new one.
inline uint64_t Seed() {
  static const uint64_t seed = [] {
    const char* const given = std::getenv("CAIRN_SEED");
    const uint64_t chosen =
        given != nullptr ? std::strtoull(given, nullptr, 0) : uint64_t{std::random_device()()};
    // Not only beside a failure: a crash must not take the seed with it.
    std::printf("CAIRN_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    std::fflush(stdout);
    return chosen;
  }();
  return seed;
}

class Random {
 public:
  Random() : trace_(__FILE__, __LINE__, "CAIRN_SEED=" + std::to_string(Seed())), engine_(Seed()) {}

  uint64_t Bits() { return engine_(); }
  // 0 .. limit-1
  size_t Below(size_t limit) { return static_cast<size_t>(engine_() % limit); }
  size_t Between(size_t first, size_t last) { return first + Below(last - first + 1); }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  ::testing::ScopedTrace trace_;
  std::mt19937_64 engine_;
};

}  // namespace cairn::testing
