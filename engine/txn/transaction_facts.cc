#include "engine/txn/transaction_facts.h"

namespace cairn {

void TransactionFacts::Started(const TransactionTraits& traits) {
  std::lock_guard lock(mutex_);
  traits_ = traits;
  id_.store(traits.id, std::memory_order_relaxed);
  SetState(TransactionState::kStarted);
  SetLockCount(0);
  SetWriteCount(0);
}

void TransactionFacts::SetTimeout(int64_t lock_wait_timeout_ms) {
  std::lock_guard lock(mutex_);
  traits_.lock_wait_timeout_ms = lock_wait_timeout_ms;
}

void TransactionFacts::SetName(std::string_view name) {
  std::lock_guard lock(mutex_);
  name_.assign(name);
}

void TransactionFacts::WaitBegins(const KeySpan& lock) {
  std::lock_guard guard(mutex_);
  waits_for_ = lock;
}

void TransactionFacts::WaitEnds() {
  std::lock_guard lock(mutex_);
  waits_for_.reset();
}

void TransactionFacts::Finished() {
  std::lock_guard lock(mutex_);
  SetState(TransactionState::kIdle);
  id_.store(0, std::memory_order_relaxed);
  SetLockCount(0);
  SetWriteCount(0);
  name_.clear();
}

TransactionDescription TransactionFacts::Describe() const {
  std::lock_guard lock(mutex_);
  TransactionDescription description;
  description.state = state_.load(std::memory_order_relaxed);
  description.traits = traits_;
  description.lock_count = lock_count_.load(std::memory_order_relaxed);
  description.write_count = write_count_.load(std::memory_order_relaxed);
  description.name = name_;
  description.waits_for = waits_for_;
  return description;
}

}  // namespace cairn
