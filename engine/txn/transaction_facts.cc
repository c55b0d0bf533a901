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

void TransactionFacts::WaitBegins(uint32_t family, std::string_view key) {
  std::lock_guard lock(mutex_);
  waiting_family_ = family;
  waiting_key_.assign(key);
}

void TransactionFacts::WaitEnds() {
  std::lock_guard lock(mutex_);
  waiting_key_.clear();
  waiting_family_ = 0;
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
  description.waiting_key = waiting_key_;
  description.waiting_family = waiting_family_;
  return description;
}

}  // namespace cairn
