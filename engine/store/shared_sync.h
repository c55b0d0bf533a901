// Lets threads that want the log on disk at the same time share one sync.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "engine/base/status.h"

namespace cairn {

// Thread-safe. Mutex: mutex_ guards all fields and the rounds; it is not held while the log is
// synced.
class SharedSync {
 public:
  // Returns once a sync that began after this call has ended, with what it came to. `sync` does the
  // work, on this thread or on that of another caller.
  Status Run(const std::function<Status()>& sync);

 private:
  struct Round {
    bool done = false;
    Status result;
  };

  std::mutex mutex_;
  std::condition_variable ended_;
  bool running_ = false;
  std::shared_ptr<Round> next_ = std::make_shared<Round>();
};

}  // namespace cairn
