// Waiting for what another thread does.
#pragma once

#include <chrono>
#include <thread>

namespace cairn {

// Whether `condition` comes true within a minute.
template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace cairn
