// Whether RocksDB's log could not be written and RocksDB has not recovered from that yet.
//
// RocksDB goes on by itself once there is space again. But whoever syncs the log meanwhile gets an
// error of another kind from it, which RocksDB then takes for one that only a restart ends. So the
// log is left alone until then.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "engine/base/status.h"
#include "rocksdb/listener.h"

namespace cairn {

// Thread-safe. Mutex: mutex_ guards failure_.
class LogFailure {
 public:
  // Ok, or what happened to the log.
  Status Check() const;

  void Set(Status failure);
  void Clear() { Set(Status()); }

  // Whether anything that RocksDB writes by itself has failed, the log or a file, and it has not
  // recovered from that.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void SetAny(bool any) { any_.store(any, std::memory_order_relaxed); }

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  Status failure_;
};

// Keeps `failure` up to date.
std::shared_ptr<rocksdb::EventListener> MakeLogFailureListener(std::shared_ptr<LogFailure> failure);

}  // namespace cairn
