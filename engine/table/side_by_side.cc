#include "engine/table/side_by_side.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/locks/interruptible_mutex.h"

namespace cairn {
namespace {

// How often the statement looks whether it was killed while others work for it.
constexpr std::chrono::milliseconds kLookInterval(20);

// A third of the weight of a client's thread where processors are short.
constexpr int kNiceness = 5;

// On Linux the niceness is the calling thread's own, and it may always grow.
void GiveWayToClients() { setpriority(PRIO_PROCESS, 0, kNiceness); }

}  // namespace

bool SideBySide::IsToEnd(size_t i) {
  if (WaitInterrupted()) end_ = 0;
  return i >= end_;
}

Status SideBySide::Run(size_t count, const std::function<Status(size_t)>& work) {
  end_ = count;
  std::vector<Status> outcomes(count);
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::condition_variable ended;
  size_t working = 0;  // Other threads; guarded by `mutex`.
  const auto take_work = [&] {
    for (size_t i = next++; i < end_; i = next++) {
      outcomes[i] = work(i);
      if (outcomes[i].ok()) continue;
      size_t end = end_;
      while (i < end && !end_.compare_exchange_weak(end, i)) {
      }
    }
  };
  const size_t thread_count =
      std::min<size_t>(count, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < thread_count; ++i) {
    const std::lock_guard lock(mutex);
    try {
      threads.emplace_back([&] {
        GiveWayToClients();
        take_work();
        const std::lock_guard finished(mutex);
        --working;
        ended.notify_one();
      });
      ++working;
    } catch (const std::system_error&) {
      break;  // There are no more: fewer do it.
    }
  }
  if (threads.empty()) take_work();
  {
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kLookInterval, [&] { return working == 0; })) {
      IsToEnd(0);
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (IsToEnd(0) && (count == 0 || outcomes[0].ok())) return Status(StatusCode::kInterrupted);
  for (Status& outcome : outcomes) {
    if (!outcome.ok()) return std::move(outcome);
  }
  return Status();
}

}  // namespace cairn
