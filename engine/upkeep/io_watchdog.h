// Ends the server when its disks no longer answer, where the user wants that
// (rocksdb_io_write_timeout).
//
// A server that hangs in a write looks alive to those who watch it. With a limit set, a thread
// writes a probe of one block into each directory, over and over; a probe that takes longer than
// the limit ends the process, so that another server can take its place.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/log.h"

namespace cairn {

// All functions may be called from any thread. Mutex: mutex_ guards limit_, generation_ and
// stopped_.
class IoWatchdog {
 public:
  // Writes a probe into a directory; false when that fails.
  using Probe = std::function<bool(const std::string& directory)>;

  // `log` outlives this. `give_up` ends the process; `probe` writes; both are for tests to replace.
  IoWatchdog(std::vector<std::string> directories, Log* log, Probe probe = WriteProbe,
             std::function<void()> give_up = AbortProcess);
  ~IoWatchdog();
  IoWatchdog(const IoWatchdog&) = delete;
  IoWatchdog& operator=(const IoWatchdog&) = delete;

  // The limit from now on; 0 switches the watchdog off.
  void SetLimit(std::chrono::milliseconds limit);

  // Writes 4096 bytes past the operating system's cache where the file system can do that.
  static bool WriteProbe(const std::string& directory);
  static void AbortProcess();

 private:
  void ProbeLoop();
  void WatchLoop();

  const std::vector<std::string> directories_;
  Log* const log_;
  const Probe probe_;
  const std::function<void()> give_up_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::chrono::milliseconds limit_{0};
  std::chrono::steady_clock::time_point round_begun_;
  bool round_runs_ = false;
  bool stopped_ = false;
  // Started with the first limit.
  std::thread probe_thread_;
  std::thread watch_thread_;
};

}  // namespace cairn
