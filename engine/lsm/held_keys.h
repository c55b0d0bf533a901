// The locks that a transaction holds on keys, as RocksDB's transactions note them.
//
// RocksDB's own note is a map of maps, with several allocations for each key. Most transactions
// hold a few keys, and a savepoint fewer: those lie in an array here, which is searched from one
// end to the other. Where there are more, an index finds their places in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {

// Used by one thread at a time. What each method does is RocksDB's contract (lock_tracker.h there).
class HeldKeys final : public rocksdb::LockTracker {
 public:
  // Up to so many are searched one after the other.
  static constexpr size_t kFew = 8;

  struct Held {
    std::string key;
    rocksdb::SequenceNumber sequence = 0;  // Nobody else has changed the key from here on.
    rocksdb::ColumnFamilyId family = 0;
    uint32_t reads = 0;
    uint32_t writes = 0;
    bool exclusive = false;
  };

  HeldKeys() = default;
  HeldKeys(const HeldKeys&) = delete;
  HeldKeys& operator=(const HeldKeys&) = delete;

  // In no order. Valid until the next change.
  const std::vector<Held>& all() const { return held_; }

  bool IsPointLockSupported() const override { return true; }
  bool IsRangeLockSupported() const override { return false; }
  void Track(const rocksdb::PointLockRequest& request) override;
  rocksdb::UntrackStatus Untrack(const rocksdb::PointLockRequest& request) override;
  void Track(const rocksdb::RangeLockRequest& /*request*/) override {}
  rocksdb::UntrackStatus Untrack(const rocksdb::RangeLockRequest& /*request*/) override {
    return rocksdb::UntrackStatus::NOT_TRACKED;
  }
  // `other` is a HeldKeys, here and below.
  void Merge(const LockTracker& other) override;
  void Subtract(const LockTracker& other) override;
  void Clear() override;
  LockTracker* GetTrackedLocksSinceSavePoint(const LockTracker& savepoint) const override;
  rocksdb::PointLockStatus GetPointLockStatus(rocksdb::ColumnFamilyId family,
                                              const std::string& key) const override;
  uint64_t GetNumPointLocks() const override { return held_.size(); }
  // Valid until the next change.
  ColumnFamilyIterator* GetColumnFamilyIterator() const override;
  KeyIterator* GetKeyIterator(rocksdb::ColumnFamilyId family) const override;

 private:
  struct Wanted {
    rocksdb::ColumnFamilyId family;
    std::string_view key;
  };
  // Of places in the array, by what lies there. The hash is not noexcept, so that the index keeps
  // it: else it would be computed again for whatever a search passes.
  struct Hash {
    using is_transparent = void;
    const std::vector<Held>* held;
    size_t operator()(const Wanted& wanted) const {
      return std::hash<std::string_view>()(wanted.key) + wanted.family;
    }
    size_t operator()(uint32_t at) const {
      return (*this)(Wanted{(*held)[at].family, (*held)[at].key});
    }
  };
  struct IsSame {
    using is_transparent = void;
    const std::vector<Held>* held;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(const Wanted& wanted, uint32_t at) const {
      return (*held)[at].family == wanted.family && (*held)[at].key == wanted.key;
    }
    bool operator()(uint32_t at, const Wanted& wanted) const { return (*this)(wanted, at); }
  };
  using Index = std::unordered_set<uint32_t, Hash, IsSame>;

  bool is_indexed() const { return !index_.empty(); }
  const Held* Find(const Wanted& wanted) const;
  Held* Find(const Wanted& wanted);
  void Add(Held held);
  void Remove(const Held& held);
  Index NoIndex() const { return Index(0, Hash{&held_}, IsSame{&held_}); }

  std::vector<Held> held_;
  Index index_ = NoIndex();  // Empty, or of all places: of more than kFew, and until Clear().
};

// Makes them for the transactions of a lock manager.
class HeldKeysFactory final : public rocksdb::LockTrackerFactory {
 public:
  rocksdb::LockTracker* Create() const override { return new HeldKeys; }
};

}  // namespace cairn::lsm
