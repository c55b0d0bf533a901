// Random numbers for tests: the seed is printed and taken back from the environment (CAIRN_SEED).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

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
  Random()
      : trace_(std::in_place, __FILE__, __LINE__, "CAIRN_SEED=" + std::to_string(Seed())),
        engine_(Seed()) {}
  // Takes its choices from `input`, which a fuzzer wrote; zeros follow its last byte.
  explicit Random(std::string_view input) : input_(input) {}

  uint64_t Bits() { return engine_ ? (*engine_)() : FromInput(UINT64_MAX); }
  // 0 .. limit-1
  size_t Below(size_t limit) {
    return static_cast<size_t>((engine_ ? (*engine_)() : FromInput(limit - 1)) % limit);
  }
  size_t Between(size_t first, size_t last) { return first + Below(last - first + 1); }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  // As many bytes as `largest` has.
  uint64_t FromInput(uint64_t largest) {
    uint64_t number = 0;
    for (; largest != 0; largest >>= 8) {
      number <<= 8;
      if (input_.empty()) continue;
      number |= static_cast<uint8_t>(input_.front());
      input_.remove_prefix(1);
    }
    return number;
  }

  std::optional<::testing::ScopedTrace> trace_;
  std::optional<std::mt19937_64> engine_;
  std::string_view input_;
};

}  // namespace cairn::testing
