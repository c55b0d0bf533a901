#include "engine/lsm/run_merge.h"

#include <algorithm>

#include "engine/lsm/block_layout.h"

namespace cairn::lsm {

RunMerge::RunMerge(KeyOrder order, const std::vector<rocksdb::InternalIterator*>& runs)
    : key_order_(order), runs_(runs.size()) {
  for (size_t i = 0; i < runs.size(); ++i) runs_[i].iterator.Set(runs[i]);
  order_.reserve(runs.size());
}

RunMerge::~RunMerge() {
  for (Run& run : runs_) run.iterator.DeleteIter(/*is_arena_mode=*/true);
}

inline void RunMerge::Run::NoteKey() {
  const rocksdb::Slice key = iterator.key();
  user_bytes = key.size() - kVersionBytes;
  first_bytes = user_bytes < kWordBytes ? 0 : __builtin_bswap64(LoadNumber<uint64_t>(key.data()));
}

// The first bytes decide mostly; those of small BIGINTs do not, which come behind the number of
// their index.
inline bool RunMerge::IsBefore(const Run& a, const Run& b) const {
  if (a.user_bytes >= kWordBytes && b.user_bytes >= kWordBytes && a.first_bytes != b.first_bytes) {
    return (a.first_bytes < b.first_bytes) == (key_order_ == KeyOrder::kAscending);
  }
  return IsKeyBefore(a, b);
}

bool RunMerge::IsKeyBefore(const Run& a, const Run& b) const {
  const rocksdb::Slice key_a = a.iterator.key();
  const rocksdb::Slice key_b = b.iterator.key();
  const int order =
      CompareKeys({key_a.data(), a.user_bytes}, {key_b.data(), b.user_bytes}, key_order_);
  if (order != 0) return order < 0;
  return LoadNumber<uint64_t>(key_a.data() + a.user_bytes) >
         LoadNumber<uint64_t>(key_b.data() + b.user_bytes);
}

// Puts a run that has just moved, and is not in order_, where its entry belongs.
void RunMerge::Place(Run* run) {
  if (!run->iterator.Valid()) [[unlikely]] {
    const rocksdb::Status status = run->iterator.status();
    if (!status.ok()) Fail(status);
    return;
  }
  if (run->iterator.key().size() < kVersionBytes) [[unlikely]] {
    return Fail(rocksdb::Status::Corruption("an entry's key is shorter than its version"));
  }
  run->NoteKey();
  // It mostly goes on before all others.
  if (order_.empty() || IsBefore(*run, *order_.back())) return order_.push_back(run);
  order_.insert(std::partition_point(order_.begin(), order_.end(),
                                     [&](const Run* other) { return IsBefore(*run, *other); }),
                run);
}

// With an error of any run nobody knows what comes next.
void RunMerge::Fail(const rocksdb::Status& status) {
  status_ = status;
  order_.clear();
}

void RunMerge::Seek(const rocksdb::Slice& target) {
  status_ = rocksdb::Status::OK();
  order_.clear();
  for (Run& run : runs_) {
    run.iterator.Seek(target);
    Place(&run);
    if (!status_.ok()) return;
  }
}

void RunMerge::Next() {
  Run* const run = order_.back();
  order_.pop_back();
  run->iterator.Next();
  Place(run);
}

bool RunMerge::NextAndGetResult(rocksdb::IterateResult* result) {
  Next();
  if (order_.empty()) return false;
  rocksdb::IteratorWrapper& first = order_.back()->iterator;
  result->key = first.key();
  result->bound_check_result = first.UpperBoundCheckResult();
  result->value_prepared = true;
  return true;
}

rocksdb::IterBoundCheck RunMerge::UpperBoundCheckResult() {
  return order_.empty() ? rocksdb::IterBoundCheck::kUnknown
                        : order_.back()->iterator.UpperBoundCheckResult();
}

void RunMerge::GoNowhere() {
  Fail(rocksdb::Status::NotSupported("a merge of runs goes forward from a key"));
}

}  // namespace cairn::lsm
