// A clock that stands still until it is told to go on.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "rocksdb/env.h"
#include "rocksdb/system_clock.h"

namespace cairn {

class TestClock final : public rocksdb::SystemClockWrapper {
 public:
  explicit TestClock(uint64_t seconds)
      : SystemClockWrapper(rocksdb::SystemClock::Default()), seconds_(seconds) {}

  const char* Name() const override { return "TestClock"; }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    *seconds = static_cast<int64_t>(seconds_.load());
    return rocksdb::Status::OK();
  }

  uint64_t seconds() const { return seconds_; }
  void Advance(uint64_t seconds) { seconds_ += seconds; }

 private:
  std::atomic<uint64_t> seconds_;
};

// Another environment with the clock in the place of its own. Both outlive it.
class EnvWithClock final : public rocksdb::EnvWrapper {
 public:
  EnvWithClock(rocksdb::Env* env, std::shared_ptr<TestClock> clock) : EnvWrapper(env) {
    file_system_ = env->GetFileSystem();
    system_clock_ = std::move(clock);
  }
};

}  // namespace cairn
