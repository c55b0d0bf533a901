// Mutexes and condition variables for RocksDB's row locks whose waits end when the statement is
// killed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "rocksdb/utilities/transaction_db_mutex.h"

namespace cairn {

// Asked by a thread that waits for a row lock, several times a second, on that thread.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;
  // Whether the wait must end now.
  virtual bool Interrupted() = 0;
  // A wait begins and ends. Called under a mutex of the lock table, so that who holds the lock
  // keeps it meanwhile: must not wait for anything.
  virtual void WaitBegins() = 0;
  virtual void WaitEnds() = 0;

  // Lets a waiting thread ask at once. By any thread, as long as the observer lives.
  void WakeUp();

 private:
  friend class InterruptibleCondition;
  std::mutex waits_on_mutex_;  // Held for moments; taken after the mutex of the lock table.
  rocksdb::TransactionDBCondVar* waits_on_ = nullptr;
};

// Makes `observer` the one of the calling thread while it lives; null for none.
class ScopedWaitObserver {
 public:
  explicit ScopedWaitObserver(WaitObserver* observer);
  ~ScopedWaitObserver();
  ScopedWaitObserver(const ScopedWaitObserver&) = delete;
  ScopedWaitObserver& operator=(const ScopedWaitObserver&) = delete;

 private:
  WaitObserver* const previous_;
};

// Whether the calling thread's observer wants it to stop waiting.
bool WaitInterrupted();

// How often the calling thread has begun to wait for a row lock.
uint64_t LockWaitsOfThread();

// For TransactionDBOptions::custom_mutex_factory. An interrupted wait answers TimedOut.
std::shared_ptr<rocksdb::TransactionDBMutexFactory> MakeInterruptibleMutexFactory();

}  // namespace cairn
