#include "engine/upkeep/io_watchdog.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

namespace cairn {
namespace {

constexpr size_t kProbeBytes = 4096;
// The stock plug-in's name of the file.
constexpr char kProbeName[] = "/myrocks_io_watchdog_write_file";

}  // namespace

IoWatchdog::IoWatchdog(std::vector<std::string> directories, Log* log, Probe probe,
                       std::function<void()> give_up)
    : directories_(std::move(directories)),
      log_(log),
      probe_(std::move(probe)),
      give_up_(std::move(give_up)) {}

IoWatchdog::~IoWatchdog() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    condition_.notify_all();
  }
  if (watch_thread_.joinable()) watch_thread_.join();
  if (probe_thread_.joinable()) probe_thread_.join();
}

void IoWatchdog::SetLimit(std::chrono::milliseconds limit) {
  std::lock_guard lock(mutex_);
  limit_ = limit;
  // A round that runs is given the whole of the new limit.
  round_begun_ = std::chrono::steady_clock::now();
  condition_.notify_all();
  if (limit.count() == 0 || probe_thread_.joinable()) return;
  probe_thread_ = std::thread([this] { ProbeLoop(); });
  watch_thread_ = std::thread([this] { WatchLoop(); });
}

bool IoWatchdog::WriteProbe(const std::string& directory) {
  const std::string path = directory + kProbeName;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC;
  int file = open(path.c_str(), kFlags | O_DIRECT, 0640);
  if (file < 0) file = open(path.c_str(), kFlags | O_SYNC, 0640);
  if (file < 0) return false;
  const std::unique_ptr<void, decltype(&std::free)> bytes(
      std::aligned_alloc(kProbeBytes, kProbeBytes), &std::free);
  std::fill_n(static_cast<char*>(bytes.get()), kProbeBytes, '\0');
  const bool written = pwrite(file, bytes.get(), kProbeBytes, 0) == kProbeBytes;
  close(file);
  return written;
}

void IoWatchdog::AbortProcess() { std::abort(); }

void IoWatchdog::ProbeLoop() {
  bool failing = false;
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (limit_.count() == 0) {
      condition_.wait(lock);
      continue;
    }
    round_begun_ = std::chrono::steady_clock::now();
    round_runs_ = true;
    condition_.notify_all();
    lock.unlock();
    bool written = true;
    for (const std::string& directory : directories_) written = probe_(directory) && written;
    if (!written && !failing) {
      log_->Write(Severity::kWarning, "the probe of rocksdb_io_write_timeout cannot be written");
    }
    failing = !written;
    lock.lock();
    round_runs_ = false;
    if (!stopped_ && limit_.count() > 0) condition_.wait_for(lock, limit_);
  }
}

void IoWatchdog::WatchLoop() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (limit_.count() == 0 || !round_runs_) {
      condition_.wait(lock);
      continue;
    }
    const auto deadline = round_begun_ + limit_;
    if (std::chrono::steady_clock::now() < deadline) {
      condition_.wait_until(lock, deadline);
      continue;
    }
    const auto limit_s = std::chrono::duration_cast<std::chrono::seconds>(limit_).count();
    lock.unlock();
    log_->Write(Severity::kError,
                "MyRocks has detected a combination of I/O requests which have cumulatively been "
                "blocking for more than " +
                    std::to_string(limit_s) + " seconds. Shutting the service down.");
    give_up_();
    lock.lock();
    limit_ = std::chrono::milliseconds(0);
  }
}

}  // namespace cairn
