// A thread's alarm clock: wakes when rung, when time is up, or for good at the end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cairn {

// Thread-safe. Mutex: mutex_ guards rung_.
class Alarm {
 public:
  // False when the thread has to end.
  bool Wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    condition_.wait_for(lock, at_most, [this] { return rung_ || stopped_; });
    rung_ = false;
    return !stopped_;
  }
  void Ring() {
    std::lock_guard lock(mutex_);
    rung_ = true;
    condition_.notify_all();
  }
  void Stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    condition_.notify_all();
  }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool rung_ = false;
  std::atomic<bool> stopped_{false};
};

}  // namespace cairn
