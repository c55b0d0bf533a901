// Bytes that the engine's own parts hold, counted by them as they take and release memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cairn {

enum class MemoryPart : uint8_t {
  kWriteBatches,  // What open transactions will write.
  kRowLocks,      // Held by open transactions.
  kBulkLoad,      // Buffers of bulk loads.
  kForeignKeys,   // Of open tables, with what is kept of the tables on their other sides.
};
inline constexpr size_t kMemoryParts = 4;

// Thread-safe.
class MemoryAccounts {
 public:
  void Add(MemoryPart part, int64_t bytes) {
    bytes_[static_cast<size_t>(part)].fetch_add(bytes, std::memory_order_relaxed);
  }
  uint64_t Bytes(MemoryPart part) const {
    const int64_t bytes = bytes_[static_cast<size_t>(part)].load(std::memory_order_relaxed);
    return bytes < 0 ? 0 : static_cast<uint64_t>(bytes);
  }

 private:
  std::array<std::atomic<int64_t>, kMemoryParts> bytes_{};
};

// What one object holds of a part; it is given back with the charge. Used by one thread at a time.
class MemoryCharge {
 public:
  // The accounts outlive the charge.
  MemoryCharge(MemoryAccounts* accounts, MemoryPart part) : accounts_(accounts), part_(part) {}
  ~MemoryCharge() { Set(0); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // May be called for every row: a step smaller than kStep is not told, so that threads do not meet
  // at the common counter. Zero always is.
  void Set(uint64_t bytes) {
    const int64_t step = static_cast<int64_t>(bytes) - told_;
    if (step == 0 || (bytes != 0 && step < kStep && step > -kStep)) return;
    accounts_->Add(part_, step);
    told_ = static_cast<int64_t>(bytes);
  }

  static constexpr int64_t kStep = 16 << 10;

 private:
  MemoryAccounts* const accounts_;
  const MemoryPart part_;
  int64_t told_ = 0;
};

// The same of an object whose size does not change, however small it is.
class MemoryHeld {
 public:
  // The accounts outlive it.
  MemoryHeld(MemoryAccounts* accounts, MemoryPart part, uint64_t bytes)
      : accounts_(accounts), part_(part), bytes_(static_cast<int64_t>(bytes)) {
    accounts_->Add(part_, bytes_);
  }
  ~MemoryHeld() { accounts_->Add(part_, -bytes_); }
  MemoryHeld(const MemoryHeld&) = delete;
  MemoryHeld& operator=(const MemoryHeld&) = delete;

 private:
  MemoryAccounts* const accounts_;
  const MemoryPart part_;
  const int64_t bytes_;
};

}  // namespace cairn
