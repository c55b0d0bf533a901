#include "engine/locks/interruptible_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace cairn {
namespace {

constexpr int64_t kLongUs = 20'000'000;

// Is asked whenever a wait looks up; tells the condition while the waiting thread is not listening.
class TellsBetweenWaits final : public WaitObserver {
 public:
  explicit TellsBetweenWaits(rocksdb::TransactionDBCondVar* condition) : condition_(condition) {}
  bool Interrupted() override {
    if (++asked_ == 2) condition_->NotifyAll();
    return false;
  }
  void WaitBegins() override {}
  void WaitEnds() override {}

 private:
  rocksdb::TransactionDBCondVar* const condition_;
  int asked_ = 0;
};

TEST(InterruptibleMutex, WhatIsToldBetweenTwoLooksIsNotLost) {
  const auto factory = MakeInterruptibleMutexFactory();
  const auto mutex = factory->AllocateMutex();
  const auto condition = factory->AllocateCondVar();
  TellsBetweenWaits observer(condition.get());
  ScopedWaitObserver scope(&observer);
  ASSERT_TRUE(mutex->Lock().ok());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(condition->WaitFor(mutex, kLongUs).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(kLongUs));
  mutex->UnLock();
}

// Is woken up once it waits, by another thread.
class IsWokenUp final : public WaitObserver {
 public:
  ~IsWokenUp() override { waker_.join(); }
  bool Interrupted() override { return interrupted_; }
  void WaitBegins() override {
    if (waker_.joinable()) return;
    waker_ = std::thread([this] {
      interrupted_ = true;
      while (!ended_) WakeUp();
    });
  }
  void WaitEnds() override { ended_ = true; }

 private:
  std::thread waker_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> ended_{false};
};

TEST(InterruptibleMutex, AnObserverThatIsWokenUpEndsItsWait) {
  const auto factory = MakeInterruptibleMutexFactory();
  const auto mutex = factory->AllocateMutex();
  const auto condition = factory->AllocateCondVar();
  IsWokenUp observer;
  ScopedWaitObserver scope(&observer);
  ASSERT_TRUE(mutex->Lock().ok());
  // The lock table waits again as long as it does not get its lock.
  rocksdb::Status waited = rocksdb::Status::OK();
  for (int i = 0; i < 1000 && waited.ok(); ++i) waited = condition->WaitFor(mutex, kLongUs);
  EXPECT_TRUE(waited.IsTimedOut());
  mutex->UnLock();
  observer.WakeUp();  // Nobody waits.
}

TEST(InterruptibleMutex, AWaitThatNobodyEndsTimesOut) {
  const auto factory = MakeInterruptibleMutexFactory();
  const auto mutex = factory->AllocateMutex();
  const auto condition = factory->AllocateCondVar();
  ASSERT_TRUE(mutex->Lock().ok());
  EXPECT_TRUE(condition->WaitFor(mutex, 1000).IsTimedOut());
  mutex->UnLock();
}

}  // namespace
}  // namespace cairn
