// Several sorted runs as one, for scans that go forward.
//
// RocksDB's merging iterator keeps a heap, and looks after deletions of ranges at each step. A scan
// has few runs, and mostly stays for a while in one of them: these are kept in order, so that a
// step there costs one comparison, and a binary search where it changes between them. The first
// bytes of the keys decide most comparisons.
//
// It depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/lsm/key_order.h"
#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {

// Of the methods that move, Seek() and the two that go to the next entry are all that may be
// called, as of LevelIterator.
class RunMerge final : public rocksdb::InternalIterator {
 public:
  // Keys of all runs are in that order, their versions from the newest to the oldest. The runs lie
  // in an arena, which outlives this: they are destroyed with it, and not freed.
  RunMerge(KeyOrder order, const std::vector<rocksdb::InternalIterator*>& runs);
  ~RunMerge() override;

  bool Valid() const override { return !order_.empty(); }
  rocksdb::Slice key() const override { return order_.back()->iterator.key(); }
  rocksdb::Slice value() const override { return order_.back()->iterator.value(); }
  rocksdb::Status status() const override { return status_; }
  void Seek(const rocksdb::Slice& target) override;
  void Next() override;
  bool NextAndGetResult(rocksdb::IterateResult* result) override;
  rocksdb::IterBoundCheck UpperBoundCheckResult() override;

  void SeekToFirst() override { GoNowhere(); }
  void SeekToLast() override { GoNowhere(); }
  void SeekForPrev(const rocksdb::Slice&) override { GoNowhere(); }
  void Prev() override { GoNowhere(); }

 private:
  struct Run {
    rocksdb::IteratorWrapper iterator;
    size_t user_bytes = 0;     // Of its current key.
    uint64_t first_bytes = 0;  // Of a user key of 8 bytes or more, as a number.

    void NoteKey();
  };

  bool IsBefore(const Run& a, const Run& b) const;
  bool IsKeyBefore(const Run& a, const Run& b) const;
  void Place(Run* run);
  void Fail(const rocksdb::Status& status);
  void GoNowhere();

  const KeyOrder key_order_;
  std::vector<Run> runs_;
  std::vector<Run*> order_;  // Those that have an entry, by these, the first of them last.
  rocksdb::Status status_;
};

}  // namespace cairn::lsm
