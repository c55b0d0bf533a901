#include "engine/txn/savepoints.h"

#include <algorithm>

#include "engine/lsm/rocksdb_status.h"

namespace cairn {

Savepoint Savepoints::Set() { return held_.emplace_back(static_cast<Savepoint>(++set_count_)); }

void Savepoints::Mark(rocksdb::WriteBatchWithIndex* batch) {
  batch->SetSavePoint();
  marks_.push_back(newest());
}

Status Savepoints::RollbackTo(Savepoint savepoint, rocksdb::WriteBatchWithIndex* batch) {
  if (!std::binary_search(held_.begin(), held_.end(), savepoint)) {
    return Status(StatusCode::kInternal, "the savepoint is not one of the transaction");
  }
  held_.erase(std::upper_bound(held_.begin(), held_.end(), savepoint), held_.end());
  if (newest_mark() < savepoint) return Status();  // Nothing was written since.
  // Each rollback of the batch makes its index anew, so there is only one.
  while (marks_.size() > 1 && marks_[marks_.size() - 2] >= savepoint) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch->PopSavePoint()));
    marks_.pop_back();
  }
  marks_.pop_back();
  return FromRocksDb(batch->RollbackToSavePoint());
}

Savepoint Savepoints::Release(Savepoint savepoint, Later later,
                              rocksdb::WriteBatchWithIndex* batch) {
  const auto first = std::lower_bound(held_.begin(), held_.end(), savepoint);
  const Savepoint before = first == held_.begin() ? Savepoint::kBegin : *(first - 1);
  if (first == held_.end() || *first != savepoint) return before;
  held_.erase(first, later == Later::kRelease ? held_.end() : first + 1);
  while (!marks_.empty() && !NewestMarkIsNeeded()) {
    // It exists, so that taking it off cannot fail.
    batch->PopSavePoint().PermitUncheckedError();
    marks_.pop_back();
  }
  return before;
}

// Whether there is a savepoint for which it stands.
bool Savepoints::NewestMarkIsNeeded() const {
  const auto behind = std::upper_bound(held_.begin(), held_.end(), marks_.back());
  if (behind == held_.begin()) return false;
  return marks_.size() == 1 || *(behind - 1) > marks_[marks_.size() - 2];
}

void Savepoints::BatchCommitted() {
  committed_mark_ = std::max(committed_mark_, newest_mark());
  marks_.clear();
}

void Savepoints::Clear() {
  held_.clear();
  marks_.clear();
  committed_mark_ = Savepoint::kBegin;
}

}  // namespace cairn
