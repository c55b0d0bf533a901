#include "engine/locks/range_lock_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "engine/locks/interruptible_mutex.h"

namespace cairn {
namespace {

constexpr LockWaitSettings kRefuse;
constexpr LockMode kS = LockMode::kShared;
constexpr LockMode kX = LockMode::kExclusive;

KeySpan Span(std::string first, std::string end, uint32_t family = 0) {
  return {family, std::move(first), std::move(end)};
}

// Knows when the thread that an owner belongs to waits, and for whom.
class Observer final : public WaitObserver {
 public:
  explicit Observer(const RangeLockTable::Owner* owner) : owner_(owner) {}
  bool Interrupted() override { return false; }
  void WaitBegins() override {
    waits_for_ = owner_->WaitsFor();
    waits_ = true;
  }
  void WaitEnds() override {}
  // Until it waits.
  std::vector<uint64_t> AwaitWait() const {
    while (!waits_) std::this_thread::yield();
    return waits_for_;
  }

 private:
  const RangeLockTable::Owner* const owner_;
  std::vector<uint64_t> waits_for_;
  std::atomic<bool> waits_{false};
};

class RangeLocks : public ::testing::Test {
 protected:
  StatusCode Try(RangeLockTable::Owner* owner, const KeySpan& span, LockMode mode) {
    return table_.Lock(owner, span, mode, kRefuse).code();
  }
  void TearDown() override {
    for (RangeLockTable::Owner* owner : {&one_, &two_, &three_}) table_.UnlockAll(owner);
    EXPECT_TRUE(table_.Locks().empty());
  }
  // Locks in a thread of its own, which gets the lock in the end.
  std::thread LockLater(RangeLockTable::Owner* owner, Observer* observer, const KeySpan& span,
                        LockMode mode, bool detect_deadlocks = true) {
    return std::thread([=, this] {
      const ScopedWaitObserver scoped(observer);
      LockWaitSettings wait;
      wait.timeout_ms = 60'000;
      wait.detect_deadlocks = detect_deadlocks;
      EXPECT_EQ(table_.Lock(owner, span, mode, wait).code(), StatusCode::kOk);
    });
  }

  RangeLockTable table_{MakeInterruptibleMutexFactory()};
  RangeLockTable::Owner one_{1};
  RangeLockTable::Owner two_{2};
  RangeLockTable::Owner three_{3};
};

TEST_F(RangeLocks, AnExclusiveRangeKeepsOthersFromEveryKeyInIt) {
  ASSERT_EQ(Try(&one_, Span("b", "d"), kX), StatusCode::kOk);
  for (const LockMode mode : {kS, kX}) {
    EXPECT_EQ(Try(&two_, RangeOfKey(0, "b"), mode), StatusCode::kLockTimeout);
    EXPECT_EQ(Try(&two_, RangeOfKey(0, "cccc"), mode), StatusCode::kLockTimeout);
    EXPECT_EQ(Try(&two_, Span("a", "b\0"), mode), StatusCode::kOk) << "ends before it";
    EXPECT_EQ(Try(&two_, Span("a", "c"), mode), StatusCode::kLockTimeout);
    EXPECT_EQ(Try(&two_, Span("c", "z"), mode), StatusCode::kLockTimeout);
    EXPECT_EQ(Try(&two_, Span("a", "z"), mode), StatusCode::kLockTimeout);
  }
  EXPECT_EQ(Try(&two_, RangeOfKey(0, "d"), kX), StatusCode::kOk);
  EXPECT_EQ(Try(&two_, RangeOfKey(0, "azz"), kX), StatusCode::kOk);
  EXPECT_EQ(Try(&two_, Span("b", "d", /*family=*/1), kX), StatusCode::kOk);
  EXPECT_EQ(Try(&one_, RangeOfKey(0, "c"), kX), StatusCode::kOk) << "its own";
}

TEST_F(RangeLocks, SharedRangesOverlapAsTheyLike) {
  EXPECT_EQ(Try(&one_, Span("a", "m"), kS), StatusCode::kOk);
  EXPECT_EQ(Try(&two_, Span("g", "z"), kS), StatusCode::kOk);
  EXPECT_EQ(Try(&three_, RangeOfKey(0, "h"), kS), StatusCode::kOk);
  EXPECT_EQ(Try(&three_, RangeOfKey(0, "b"), kX), StatusCode::kLockTimeout);
  table_.UnlockAll(&one_);
  EXPECT_EQ(Try(&three_, RangeOfKey(0, "b"), kX), StatusCode::kOk);
  EXPECT_EQ(Try(&three_, RangeOfKey(0, "h"), kX), StatusCode::kLockTimeout) << "two has it";
  EXPECT_EQ(Try(&two_, RangeOfKey(0, "h"), kX), StatusCode::kLockTimeout) << "three has it";
  table_.UnlockAll(&three_);
  EXPECT_EQ(Try(&two_, RangeOfKey(0, "h"), kX), StatusCode::kOk);
  EXPECT_EQ(Try(&one_, RangeOfKey(0, "h"), kS), StatusCode::kLockTimeout);
  EXPECT_EQ(Try(&one_, RangeOfKey(0, "i"), kS), StatusCode::kOk);
}

TEST_F(RangeLocks, AKeyIsReleasedAsOftenAsItWasLocked) {
  const KeySpan key = RangeOfKey(0, "k");
  ASSERT_EQ(Try(&one_, key, kS), StatusCode::kOk);
  ASSERT_EQ(Try(&one_, key, kX), StatusCode::kOk);
  ASSERT_EQ(Try(&one_, key, kS), StatusCode::kOk);
  EXPECT_EQ(one_.locks().size(), 1U);
  table_.UnlockKey(&one_, key);
  table_.UnlockKey(&one_, key);
  EXPECT_EQ(Try(&two_, key, kS), StatusCode::kLockTimeout);
  table_.UnlockKey(&one_, key);
  EXPECT_EQ(Try(&two_, key, kX), StatusCode::kOk);
  table_.UnlockKey(&one_, key);
  EXPECT_EQ(Try(&three_, key, kX), StatusCode::kLockTimeout);
}

TEST_F(RangeLocks, AKeyWithinARangeStaysLocked) {
  ASSERT_EQ(Try(&one_, RangeOfKey(0, "k"), kX), StatusCode::kOk);
  ASSERT_EQ(Try(&one_, Span("a", "z"), kS), StatusCode::kOk);
  table_.UnlockKey(&one_, RangeOfKey(0, "k"));
  EXPECT_EQ(Try(&two_, RangeOfKey(0, "k"), kS), StatusCode::kLockTimeout);
}

TEST_F(RangeLocks, WhatAnOwnerKeepsStaysUntilItIsReleasedByName) {
  auto owner = std::make_unique<RangeLockTable::Owner>(9);
  ASSERT_EQ(Try(owner.get(), Span("a", "c"), kX), StatusCode::kOk);
  table_.Keep("name", std::move(owner));
  EXPECT_EQ(Try(&one_, RangeOfKey(0, "b"), kS), StatusCode::kLockTimeout);
  table_.ReleaseKept("other name");
  EXPECT_EQ(Try(&one_, RangeOfKey(0, "b"), kS), StatusCode::kLockTimeout);
  table_.ReleaseKept("name");
  EXPECT_EQ(Try(&one_, RangeOfKey(0, "b"), kS), StatusCode::kOk);
}

TEST_F(RangeLocks, AWaiterGetsTheLockWhenItIsFree) {
  ASSERT_EQ(Try(&one_, Span("a", "c"), kX), StatusCode::kOk);
  Observer observer(&two_);
  std::thread waiter = LockLater(&two_, &observer, Span("b", "d"), kX);
  EXPECT_EQ(observer.AwaitWait(), std::vector<uint64_t>{1});
  table_.UnlockAll(&one_);
  waiter.join();
  EXPECT_EQ(Try(&one_, RangeOfKey(0, "c"), kS), StatusCode::kLockTimeout);
}

TEST_F(RangeLocks, WhoHoldsNothingQueues) {
  ASSERT_EQ(Try(&one_, Span("a", "c"), kS), StatusCode::kOk);
  Observer observer(&two_);
  std::thread waiter = LockLater(&two_, &observer, Span("b", "d"), kX);
  observer.AwaitWait();
  EXPECT_EQ(Try(&three_, RangeOfKey(0, "b"), kS), StatusCode::kLockTimeout)
      << "readers that come one after another must not keep a writer waiting for ever";
  EXPECT_EQ(Try(&three_, RangeOfKey(0, "a"), kS), StatusCode::kOk);
  EXPECT_EQ(Try(&three_, RangeOfKey(0, "b"), kS), StatusCode::kOk)
      << "who holds a lock already would make deadlocks by queueing";
  table_.UnlockAll(&one_);
  table_.UnlockAll(&three_);
  waiter.join();
}

TEST_F(RangeLocks, AWaitEndsByTimeOut) {
  ASSERT_EQ(Try(&one_, Span("a", "c"), kX), StatusCode::kOk);
  LockWaitSettings wait;
  wait.timeout_ms = 1;
  EXPECT_EQ(table_.Lock(&two_, Span("b", "d"), kX, wait).code(), StatusCode::kLockTimeout);
  EXPECT_TRUE(two_.locks().empty());
  EXPECT_TRUE(two_.WaitsFor().empty());
}

TEST_F(RangeLocks, TheOneWhoClosesACircleIsRefused) {
  // Over two column families.
  ASSERT_EQ(Try(&one_, Span("a", "c", 1), kX), StatusCode::kOk);
  ASSERT_EQ(Try(&two_, Span("a", "c", 2), kX), StatusCode::kOk);
  Observer observer(&one_);
  std::thread waiter = LockLater(&one_, &observer, RangeOfKey(2, "b"), kS);
  observer.AwaitWait();
  LockWaitSettings wait;
  wait.timeout_ms = 60'000;
  EXPECT_EQ(table_.Lock(&two_, RangeOfKey(1, "b"), kX, wait).code(), StatusCode::kDeadlock);
  const auto deadlocks = table_.Deadlocks();
  ASSERT_EQ(deadlocks.size(), 1U);
  ASSERT_EQ(deadlocks[0].path.size(), 2U);
  EXPECT_EQ(deadlocks[0].path[0].m_txn_id, 1U);
  EXPECT_EQ(deadlocks[0].path[0].m_cf_id, 2U);
  EXPECT_FALSE(deadlocks[0].path[0].m_exclusive);
  EXPECT_EQ(deadlocks[0].path[1].m_txn_id, 2U);
  EXPECT_EQ(deadlocks[0].path[1].m_waiting_key, "b");
  EXPECT_TRUE(deadlocks[0].path[1].m_exclusive);
  table_.UnlockAll(&two_);
  waiter.join();
  table_.SetRememberedDeadlocks(0);
  EXPECT_TRUE(table_.Deadlocks().empty());
}

// B waits for what A has just released, and A asks for what B has: B will go on, and there is no
// circle.
TEST_F(RangeLocks, WhatWasReleasedIsNotWaitedFor) {
  ASSERT_EQ(Try(&one_, RangeOfKey(0, "5"), kX), StatusCode::kOk);
  ASSERT_EQ(Try(&one_, RangeOfKey(0, "1"), kX), StatusCode::kOk);
  ASSERT_EQ(Try(&two_, RangeOfKey(0, "6"), kX), StatusCode::kOk);
  Observer observer(&two_);
  std::thread waiter([&] {
    const ScopedWaitObserver scoped(&observer);
    LockWaitSettings wait;
    wait.timeout_ms = 60'000;
    EXPECT_EQ(table_.Lock(&two_, RangeOfKey(0, "5"), kX, wait).code(), StatusCode::kOk);
    table_.UnlockAll(&two_);
  });
  observer.AwaitWait();
  table_.UnlockKey(&one_, RangeOfKey(0, "5"));
  LockWaitSettings wait;
  wait.timeout_ms = 60'000;
  EXPECT_EQ(table_.Lock(&one_, RangeOfKey(0, "6"), kX, wait).code(), StatusCode::kOk);
  waiter.join();
}

// As many sessions as like wait for one row: a queue is no circle, however long.
TEST_F(RangeLocks, ManyWaitersAreNoDeadlock) {
  constexpr int kWaiters = 80;
  ASSERT_EQ(Try(&one_, RangeOfKey(0, "k"), kX), StatusCode::kOk);
  std::atomic<int> waiting{0};
  std::atomic<int> granted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kWaiters; ++i) {
    threads.emplace_back([&, i] {
      RangeLockTable::Owner owner(100 + i);
      LockWaitSettings wait;
      wait.timeout_ms = 60'000;
      ++waiting;
      const Status locked = table_.Lock(&owner, RangeOfKey(0, "k"), kX, wait);
      EXPECT_TRUE(locked.ok()) << locked.ToString();
      granted += locked.ok() ? 1 : 0;
      table_.UnlockAll(&owner);
    });
  }
  while (waiting < kWaiters) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // Most of them are in the queue.
  table_.UnlockAll(&one_);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, kWaiters);
  EXPECT_TRUE(table_.Deadlocks().empty());
}

TEST_F(RangeLocks, LocksThatOthersHadWithinARangeLeaveItWhole) {
  ASSERT_EQ(Try(&one_, Span("a", "z"), kS), StatusCode::kOk);
  for (const char* key : {"b", "c", "m", "mm"}) {
    ASSERT_EQ(Try(&two_, RangeOfKey(0, key), kS), StatusCode::kOk);
  }
  EXPECT_EQ(table_.Locks().size(), 9U);
  table_.UnlockAll(&two_);
  EXPECT_EQ(table_.Locks().size(), 1U);
}

TEST_F(RangeLocks, TheLimitCountsWhatIsNotHeldYet) {
  LockWaitSettings limited;
  limited.most_locks = 2;
  ASSERT_TRUE(table_.Lock(&one_, Span("a", "c"), kX, limited).ok());
  ASSERT_TRUE(table_.Lock(&one_, RangeOfKey(0, "x"), kX, limited).ok());
  EXPECT_TRUE(table_.Lock(&one_, RangeOfKey(0, "b"), kX, limited).ok());
  EXPECT_TRUE(table_.Lock(&one_, RangeOfKey(0, "x"), kX, limited).ok());
  EXPECT_EQ(table_.Lock(&one_, RangeOfKey(0, "y"), kX, limited).code(), StatusCode::kLockLimit);
}

TEST_F(RangeLocks, WithoutDetectionACircleEndsByTimeOut) {
  ASSERT_EQ(Try(&one_, RangeOfKey(0, "a"), kX), StatusCode::kOk);
  ASSERT_EQ(Try(&two_, RangeOfKey(0, "b"), kX), StatusCode::kOk);
  Observer observer(&one_);
  std::thread waiter =
      LockLater(&one_, &observer, RangeOfKey(0, "b"), kX, /*detect_deadlocks=*/false);
  observer.AwaitWait();
  LockWaitSettings brief;
  brief.detect_deadlocks = false;
  brief.timeout_ms = 1;
  EXPECT_EQ(table_.Lock(&two_, RangeOfKey(0, "a"), kX, brief).code(), StatusCode::kLockTimeout);
  table_.UnlockAll(&two_);
  waiter.join();
}

// Against a plain model: for each key, who has it and how.
TEST_F(RangeLocks, RandomLocksAreThoseOfTheModel) {
  constexpr int kKeys = 24;
  std::mt19937 random(11);
  RangeLockTable::Owner* const owners[] = {&one_, &two_, &three_};
  using Held = std::map<int, LockMode>;  // By owner.
  std::map<int, Held> model;
  const auto key = [](int number) { return std::string(1, static_cast<char>('a' + number)); };
  for (int step = 0; step < 20'000; ++step) {
    const int who = static_cast<int>(random() % 3);
    if (random() % 8 == 0) {
      table_.UnlockAll(owners[who]);
      for (auto& [number, held] : model) held.erase(who);
      continue;
    }
    const int first = static_cast<int>(random() % kKeys);
    const int end = first + 1 + static_cast<int>(random() % (kKeys - first));
    const LockMode mode = random() % 2 == 0 ? kS : kX;
    bool free = true;
    for (int number = first; number < end; ++number) {
      for (const auto& [other, other_mode] : model[number]) {
        free = free && (other == who || (mode == kS && other_mode == kS));
      }
    }
    ASSERT_EQ(Try(owners[who], Span(key(first), key(end)), mode),
              free ? StatusCode::kOk : StatusCode::kLockTimeout)
        << "step " << step;
    if (!free) continue;
    for (int number = first; number < end; ++number) {
      LockMode& held = model[number].try_emplace(who, mode).first->second;
      held = std::max(held, mode);
    }
  }
  std::map<int, std::set<uint64_t>> shown;
  for (const LockDescription& lock : table_.Locks()) {
    for (int number = lock.range.first[0] - 'a'; number < lock.range.end[0] - 'a'; ++number) {
      shown[number].insert(lock.owners.begin(), lock.owners.end());
    }
  }
  std::map<int, std::set<uint64_t>> wanted;
  for (const auto& [number, held] : model) {
    for (const auto& [who, mode] : held) wanted[number].insert(owners[who]->id());
  }
  std::erase_if(wanted, [](const auto& entry) { return entry.second.empty(); });
  EXPECT_EQ(shown, wanted);
}

// Threads that lock several ranges and check that nobody else is there.
TEST(RangeLocksOfThreads, NobodyIsWhereAnExclusiveLockIs) {
  constexpr int kKeys = 16;
  RangeLockTable table(MakeInterruptibleMutexFactory());
  std::atomic<int> writers[kKeys] = {};
  std::atomic<int> readers[kKeys] = {};
  std::atomic<int> refused{0};
  std::atomic<int> granted{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
      RangeLockTable::Owner owner(seed);
      std::vector<std::pair<int, std::atomic<int>*>> entered;
      std::map<int, bool> mine;  // By key: whether exclusive.
      for (int lock = 0; lock < 3; ++lock) {
        const int first = static_cast<int>(random() % kKeys);
        const int end = std::min(kKeys, first + 1 + static_cast<int>(random() % 4));
        const bool exclusive = random() % 3 == 0;
        LockWaitSettings wait;
        wait.timeout_ms = 60'000;
        const Status locked = table.Lock(&owner,
                                         Span(std::string(1, static_cast<char>('a' + first)),
                                              std::string(1, static_cast<char>('a' + end))),
                                         exclusive ? kX : kS, wait);
        if (!locked.ok()) {
          ASSERT_EQ(locked.code(), StatusCode::kDeadlock) << locked.ToString();
          ++refused;
          break;
        }
        ++granted;
        for (int number = first; number < end; ++number) {
          bool& mode = mine.try_emplace(number, false).first->second;
          mode = mode || exclusive;
        }
      }
      for (const auto& [number, exclusive] : mine) {
        ++(exclusive ? writers : readers)[number];
        if (exclusive) {
          EXPECT_EQ(writers[number], 1);
          EXPECT_EQ(readers[number], 0);
        } else {
          EXPECT_EQ(writers[number], 0);
        }
      }
      std::this_thread::yield();
      for (const auto& [number, exclusive] : mine) --(exclusive ? writers : readers)[number];
      table.UnlockAll(&owner);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 6; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(table.Locks().empty());
  EXPECT_GT(granted, 1000);
}

}  // namespace
}  // namespace cairn
