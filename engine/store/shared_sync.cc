#include "engine/store/shared_sync.h"

#include <utility>

namespace cairn {

Status SharedSync::Run(const std::function<Status()>& sync) {
  std::unique_lock lock(mutex_);
  // A sync that runs already may have missed what this thread wrote.
  const std::shared_ptr<Round> round = next_;
  while (!round->done) {
    if (running_) {
      ended_.wait(lock);
      continue;
    }
    running_ = true;
    next_ = std::make_shared<Round>();
    lock.unlock();
    Status result = sync();
    lock.lock();
    round->result = std::move(result);
    round->done = true;
    running_ = false;
    ended_.notify_all();
  }
  return round->result;
}

}  // namespace cairn
