#include "engine/locks/interruptible_mutex.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cairn {

class InterruptibleCondition;

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How often a waiting thread looks whether it was killed.
constexpr milliseconds kInterruptCheckInterval(50);

thread_local WaitObserver* current_observer = nullptr;
thread_local uint64_t lock_waits = 0;

class Mutex final : public rocksdb::TransactionDBMutex {
 public:
  rocksdb::Status Lock() override {
    mutex_.lock();
    return rocksdb::Status::OK();
  }

  rocksdb::Status TryLockFor(int64_t timeout_us) override {
    // The mutex is held for moments only; row locks themselves are waited for on a condition. Who
    // does not want to wait for those must not be refused a row that nobody has locked.
    if (timeout_us <= 0) return Lock();
    return mutex_.try_lock_for(microseconds(timeout_us)) ? rocksdb::Status::OK() : TimedOut();
  }

  void UnLock() override { mutex_.unlock(); }

 private:
  friend class cairn::InterruptibleCondition;
  static rocksdb::Status TimedOut() {
    return rocksdb::Status::TimedOut(rocksdb::Status::SubCode::kMutexTimeout);
  }
  std::timed_mutex mutex_;
};

}  // namespace

class InterruptibleCondition final : public rocksdb::TransactionDBCondVar {
 public:
  rocksdb::Status Wait(std::shared_ptr<rocksdb::TransactionDBMutex> mutex) override {
    return WaitFor(std::move(mutex), -1);
  }

  rocksdb::Status WaitFor(std::shared_ptr<rocksdb::TransactionDBMutex> mutex,
                          int64_t timeout_us) override {
    auto& timed_mutex = static_cast<Mutex&>(*mutex).mutex_;
    waiting_.fetch_add(1);
    ++lock_waits;
    WaitObserver* const observer = current_observer;
    const bool endless = timeout_us < 0;
    const Clock::time_point deadline = Clock::now() + microseconds(endless ? 0 : timeout_us);
    std::unique_lock<std::timed_mutex> lock(timed_mutex, std::adopt_lock);
    rocksdb::Status result = rocksdb::Status::TimedOut(rocksdb::Status::SubCode::kMutexTimeout);
    const uint64_t seen = notifications_.load();
    if (observer != nullptr) WaitBegins(observer);
    while (observer == nullptr || !observer->Interrupted()) {
      const Clock::time_point now = Clock::now();
      if (!endless && now >= deadline) break;
      Clock::time_point next_check = now + kInterruptCheckInterval;
      if (!endless) next_check = std::min(next_check, deadline);
      // What is told while this thread is between two waits would be lost, were it not counted.
      if (condition_.wait_until(lock, next_check) == std::cv_status::no_timeout ||
          notifications_.load() != seen) {
        result = rocksdb::Status::OK();
        break;
      }
    }
    if (observer != nullptr) WaitEnds(observer);
    waiting_.fetch_sub(1);
    lock.release();  // RocksDB unlocks it.
    return result;
  }

  void Notify() override {
    if (waiting_.load() == 0) return;
    notifications_.fetch_add(1);
    condition_.notify_one();
  }
  void NotifyAll() override {
    if (waiting_.load() == 0) return;
    notifications_.fetch_add(1);
    condition_.notify_all();
  }

 private:
  void WaitBegins(WaitObserver* observer) {
    {
      std::lock_guard lock(observer->waits_on_mutex_);
      observer->waits_on_ = this;
    }
    observer->WaitBegins();
  }
  static void WaitEnds(WaitObserver* observer) {
    {
      std::lock_guard lock(observer->waits_on_mutex_);
      observer->waits_on_ = nullptr;
    }
    observer->WaitEnds();
  }

  std::condition_variable_any condition_;
  // Threads in WaitFor(). Each counts itself while it holds the mutex under which it has found that
  // it must wait; whoever ends its reason to wait holds that mutex later, and tells it after that.
  std::atomic<uint32_t> waiting_{0};
  std::atomic<uint64_t> notifications_{0};
};

void WaitObserver::WakeUp() {
  std::lock_guard lock(waits_on_mutex_);
  // Whoever else waits there looks for its lock again, and goes on waiting.
  if (waits_on_ != nullptr) waits_on_->NotifyAll();
}

namespace {

class Factory final : public rocksdb::TransactionDBMutexFactory {
 public:
  std::shared_ptr<rocksdb::TransactionDBMutex> AllocateMutex() override {
    return std::make_shared<Mutex>();
  }
  std::shared_ptr<rocksdb::TransactionDBCondVar> AllocateCondVar() override {
    return std::make_shared<InterruptibleCondition>();
  }
};

}  // namespace

ScopedWaitObserver::ScopedWaitObserver(WaitObserver* observer) : previous_(current_observer) {
  current_observer = observer;
}

ScopedWaitObserver::~ScopedWaitObserver() { current_observer = previous_; }

bool WaitInterrupted() { return current_observer != nullptr && current_observer->Interrupted(); }

uint64_t LockWaitsOfThread() { return lock_waits; }

std::shared_ptr<rocksdb::TransactionDBMutexFactory> MakeInterruptibleMutexFactory() {
  return std::make_shared<Factory>();
}

}  // namespace cairn
