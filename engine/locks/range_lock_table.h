// Locks on ranges of keys, so that nobody puts a row where a transaction has looked
// (cairn_range_locks).
//
// A lock covers all keys of a column family from one key up to another, whether or not entries
// stand there; a single key is a range of its own. Shared locks overlap as they like, an exclusive
// one overlaps none of another owner.
//
// RocksDB has a range lock manager as well. It is not used because two shared ranges exclude each
// other there unless they are the same, because a deadlock over two column families ends by
// time-out, because a single key cannot be unlocked, and because a check that fails within it
// aborts the process.
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/locks/lock_mode.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/transaction_db_mutex.h"

namespace cairn {

// The keys of a column family at or behind `first` and before `end`, in the order of their bytes.
struct KeySpan {
  uint32_t family = 0;
  std::string first;
  std::string end;

  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the zero that the compiler adds for a pointer.
  friend auto operator<=>(const KeySpan&, const KeySpan&) = default;
};

// The range that holds one key and nothing else.
KeySpan RangeOfKey(uint32_t family, std::string_view key);
bool IsOneKey(const KeySpan& range);

struct LockWaitSettings {
  int64_t timeout_ms = 0;  // 0: refuse at once; negative: no end.
  bool detect_deadlocks = true;
  int64_t detect_depth =
      50;  // Waits that are followed, one after the other; behind more a deadlock is assumed.
  uint64_t most_locks = UINT64_MAX;  // That the owner may have.
};

// A lock and who holds it; a copy.
struct LockDescription {
  KeySpan range;
  LockMode mode = LockMode::kShared;
  std::vector<uint64_t> owners;
};

// Thread-safe. Mutex: mutex_ guards everything, is held for moments, and is what waiting threads
// sleep on: its conditions are those of the factory (locks/interruptible_mutex.h).
class RangeLockTable {
 public:
  // Somebody who holds locks: a transaction. Used by one thread at a time. Not destroyed while it
  // holds any.
  class Owner {
   public:
    // `id`: the number of the transaction, which others see.
    explicit Owner(uint64_t id) : id_(id) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    uint64_t id() const { return id_; }
    void set_id(uint64_t id) { id_ = id; }
    // What it has locked by itself; what lies within another lock of its own is not among them.
    const std::map<KeySpan, LockMode>& locks() const { return locks_; }
    // Those that the last Lock() of this thread waits for: from within its wait.
    std::vector<uint64_t> WaitsFor() const;

   private:
    friend class RangeLockTable;
    struct Waiter;
    uint64_t id_;
    std::map<KeySpan, LockMode> locks_;
    std::map<KeySpan, uint64_t> uses_;  // Of single keys that were locked again.
    uint64_t wide_locks_ = 0;           // Of more than one key.
    Waiter* waiter_ = nullptr;
  };

  explicit RangeLockTable(std::shared_ptr<rocksdb::TransactionDBMutexFactory> factory);
  ~RangeLockTable();
  RangeLockTable(const RangeLockTable&) = delete;
  RangeLockTable& operator=(const RangeLockTable&) = delete;

  // Locks a range, or what of it the owner has not locked yet; an exclusive lock takes the place of
  // a shared one. Whoever holds no lock yet queues behind those that wait already. Errors:
  // kLockTimeout (also when the wait was interrupted), kDeadlock, kLockLimit; nothing was locked
  // then.
  Status Lock(Owner* owner, const KeySpan& range, LockMode mode, const LockWaitSettings& wait);
  // Locks without a look at others: for locks that were held together before a crash, some of which
  // may have been released meanwhile.
  void Restore(Owner* owner, const KeySpan& range, LockMode mode);
  // Undoes one Lock() of a single key; the last one releases it. Nothing happens if the owner has
  // locked wider ranges.
  void UnlockKey(Owner* owner, const KeySpan& range);
  void UnlockAll(Owner* owner);

  // Keeps what an owner has locked under a name, until ReleaseKept(): for prepared transactions
  // that nobody runs.
  void Keep(const std::string& name, std::unique_ptr<Owner> owner);
  void ReleaseKept(const std::string& name);

  std::vector<LockDescription> Locks() const;
  // The latest deadlocks, the newest first: as RocksDB describes its own. The last waiter of each
  // was refused.
  std::vector<rocksdb::DeadlockPath> Deadlocks() const;
  void SetRememberedDeadlocks(uint32_t count);

 private:
  using Waiter = Owner::Waiter;
  struct Holder {
    Owner* owner;
    LockMode mode;
  };
  // Of keys that the same owners have locked.
  struct Segment {
    std::string end;
    std::vector<Holder> holders;
  };
  // By the first key; they do not overlap.
  using Segments = std::map<std::string, Segment, std::less<>>;
  class Guard;

  static Segments::iterator FirstOverlap(Segments* segments, std::string_view first);
  static void SplitAt(Segments* segments, const std::string& key);
  static void JoinWithin(Segments* segments, const KeySpan& range);
  bool IsHeld(Segments* segments, const Owner& owner, const KeySpan& range, LockMode mode) const;
  std::vector<Owner*> Blockers(const Owner& owner, const KeySpan& range, LockMode mode,
                               const Waiter* waiter);
  void Grant(Owner* owner, const KeySpan& range, LockMode mode);
  Status Wait(Waiter* waiter, const LockWaitSettings& wait);
  void Forget(Waiter* waiter);
  bool StandsInTheWay(const Owner& owner, const Waiter& waiter);
  void NoLongerWaitFor(const Owner* owner, const KeySpan& range);
  bool ClosesCircle(const Waiter& waiter, int64_t depth);
  void Remember(const std::vector<const Waiter*>& circle, bool limit_exceeded);
  void Release(Owner* owner, const KeySpan& range);

  const std::shared_ptr<rocksdb::TransactionDBMutexFactory> factory_;
  const std::shared_ptr<rocksdb::TransactionDBMutex> mutex_;
  std::map<uint32_t, Segments> families_;
  std::list<Waiter*> waiters_;  // In the order in which they came.
  std::map<std::string, std::unique_ptr<Owner>> kept_;
  std::list<rocksdb::DeadlockPath> deadlocks_;
  uint32_t remembered_deadlocks_ = 5;
};

}  // namespace cairn
