#include "engine/catalog/row_count.h"

#include <algorithm>
#include <cstdlib>

namespace cairn {

void RowCount::Add(int64_t rows) {
  std::lock_guard lock(mutex_);
  rows_ += rows;
  pending_ += std::abs(rows);
}

void RowCount::Keep(int64_t rows, uint64_t moves) {
  std::lock_guard lock(mutex_);
  rows_ += rows;
  pending_ -= static_cast<int64_t>(moves);
}

void RowCount::Undo(int64_t rows, uint64_t moves) {
  std::lock_guard lock(mutex_);
  rows_ -= rows;
  pending_ -= static_cast<int64_t>(moves);
}

uint64_t RowCount::Settle(const StoredRows& stored) {
  const auto estimate = static_cast<int64_t>(stored.counted.value_or(stored.estimate));
  const auto least = static_cast<int64_t>(stored.counted.value_or(stored.least));
  const auto most = static_cast<int64_t>(stored.counted.value_or(stored.most));
  std::lock_guard lock(mutex_);
  if (!known_ || rows_ < least - pending_ || rows_ > most + pending_) rows_ = estimate;
  known_ = true;
  return static_cast<uint64_t>(std::max<int64_t>(rows_, 0));
}

void RowCount::Forget() {
  std::lock_guard lock(mutex_);
  known_ = false;
}

std::optional<uint64_t> RowCount::value() const {
  std::lock_guard lock(mutex_);
  if (!known_) return std::nullopt;
  return static_cast<uint64_t>(std::max<int64_t>(rows_, 0));
}

}  // namespace cairn
