// What is known of a transaction while it runs: written by the thread that runs it, read by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "engine/locks/range_lock_table.h"

namespace cairn {

enum class TransactionState : uint8_t {
  kIdle,  // Not started: there is none.
  kStarted,
  kAwaitingPrepare,
  kPrepared,
  kAwaitingCommit,
  kAwaitingRollback,
};

// What does not change while a transaction runs, but for the time-out.
struct TransactionTraits {
  uint64_t id = 0;
  int64_t lock_wait_timeout_ms = 0;
  bool deadlock_detect = false;
};

// A copy, for people.
struct TransactionDescription {
  TransactionState state = TransactionState::kIdle;
  TransactionTraits traits;
  uint64_t lock_count = 0;           // Locks that it holds.
  uint64_t write_count = 0;          // Entries that it would write.
  std::string name;                  // Of a prepared transaction, as RocksDB knows it.
  std::optional<KeySpan> waits_for;  // The lock that it waits for.
};

// Thread-safe. Mutex: mutex_ guards traits_, name_ and what is waited for; it is held for moments,
// nothing is called under it.
class TransactionFacts {
 public:
  // By the transaction's own thread.
  void Started(const TransactionTraits& traits);
  void SetTimeout(int64_t lock_wait_timeout_ms);
  void SetState(TransactionState state) { state_.store(state, std::memory_order_relaxed); }
  void SetName(std::string_view name);
  void SetLockCount(uint64_t count) { lock_count_.store(count, std::memory_order_relaxed); }
  void SetWriteCount(uint64_t count) { write_count_.store(count, std::memory_order_relaxed); }
  void WaitBegins(const KeySpan& lock);
  void WaitEnds();
  void Finished();

  // By any thread.
  TransactionDescription Describe() const;
  uint64_t id() const { return id_.load(std::memory_order_relaxed); }  // 0: not started.

 private:
  std::atomic<TransactionState> state_{TransactionState::kIdle};
  std::atomic<uint64_t> id_{0};
  std::atomic<uint64_t> lock_count_{0};
  std::atomic<uint64_t> write_count_{0};
  mutable std::mutex mutex_;
  TransactionTraits traits_;
  std::string name_;
  std::optional<KeySpan> waits_for_;
};

}  // namespace cairn
