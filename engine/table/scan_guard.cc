#include "engine/table/scan_guard.h"

#include <algorithm>

#include "engine/locks/interruptible_mutex.h"
#include "engine/store/index_range.h"
#include "engine/table/ordered_iterator.h"

namespace cairn {

void ScanGuard::Begin(Transaction* transaction, const IndexDefinition* index, LockMode mode) {
  transaction_ = transaction;
  index_ = index;
  mode_ = mode;
  first_.clear();
  end_.clear();
}

void ScanGuard::StartAt(std::string_view key) {
  first_.assign(key);
  end_ = first_;
  step_ = 1;
}

void ScanGuard::StartOnRow(std::string_view key) {
  StartAt(key);
  end_.push_back('\0');  // The key that follows it.
}

Status ScanGuard::Lock(std::string_view first, std::string_view end) {
  StartAt(first);
  end_ = std::max(first, end);
  return LockKeys(first_, end_);
}

Status ScanGuard::LockIndex() {
  const IndexRange range(*index_->family, index_->id.index_number);
  return Lock(range.first(), range.end());
}

bool ScanGuard::ReachesFirst() const {
  return first_ <= IndexRange(*index_->family, index_->id.index_number).first();
}

bool ScanGuard::ReachesEnd() const {
  return end_ >= IndexRange(*index_->family, index_->id.index_number).end();
}

uint32_t ScanGuard::NextStep() {
  constexpr uint32_t kGrowth = 4;
  constexpr uint32_t kMostEntries = 4096;
  const uint32_t step = step_;
  step_ = std::min(step * kGrowth, kMostEntries);
  return step;
}

Status ScanGuard::ExtendForward(const std::string* key) {
  const std::string from = end_;
  if (key != nullptr) {
    end_ = *key;
    end_.push_back('\0');  // The key that follows it.
  } else {
    end_ = IndexRange(*index_->family, index_->id.index_number).end();
  }
  return LockKeys(from, end_);
}

Status ScanGuard::ExtendBackward(const std::string* key) {
  const std::string from = first_;
  first_ = key != nullptr ? *key : IndexRange(*index_->family, index_->id.index_number).first();
  return LockKeys(first_, from);
}

Status ScanGuard::LockKeys(std::string_view first, std::string_view end) {
  if (first >= end) return Status();
  CAIRN_RETURN_IF_ERROR(transaction_->LockRange(*index_->family, first, end, mode_));
  return transaction_->MayMeetConflicts() ? CheckUnchanged(first, end) : Status();
}

// Whether the locked keys hold the entries that the snapshot shows. Rows that are still there are
// checked as they are locked.
Status ScanGuard::CheckUnchanged(std::string_view first, std::string_view end) {
  OrderedIterator seen(*index_, transaction_, Transaction::View::kSnapshot);
  OrderedIterator now(*index_, transaction_, Transaction::View::kLatest);
  const auto in_range = [end](const OrderedIterator& iterator) {
    return iterator.Valid() && iterator.key() < end;
  };
  seen.SeekAtOrAfter(first);
  now.SeekAtOrAfter(first);
  while (in_range(seen) && in_range(now) && seen.key() == now.key()) {
    if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
    seen.Next();
    now.Next();
  }
  CAIRN_RETURN_IF_ERROR(seen.status());
  CAIRN_RETURN_IF_ERROR(now.status());
  return in_range(seen) || in_range(now) ? transaction_->SnapshotConflict() : Status();
}

}  // namespace cairn
