// Pieces of work that one statement has done by several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/base/status.h"

namespace cairn {

// Belongs to the statement's thread, which waits. The threads that work have a lower priority than
// those of clients.
class SideBySide {
 public:
  // Calls work(0) to work(count - 1), each once, lower ones first, as many at a time as there are
  // processors. Returns what the lowest says that fails, whichever fails first; kInterrupted when
  // the statement is killed. All calls have returned then.
  Status Run(size_t count, const std::function<Status(size_t)>& work);

  // Within work(i): whether it is to return soon, with any error, as nobody cares any more. Looks
  // whether the statement was killed if this is its thread.
  bool IsToEnd(size_t i);

 private:
  std::atomic<size_t> end_{SIZE_MAX};  // Work from there on is to end.
};

}  // namespace cairn
