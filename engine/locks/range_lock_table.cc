#include "engine/locks/range_lock_table.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "engine/base/assert.h"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

bool Overlap(const KeySpan& one, const KeySpan& other) {
  return one.family == other.family && one.first < other.end && other.first < one.end;
}

bool Exclude(LockMode one, LockMode other) {
  return one == LockMode::kExclusive || other == LockMode::kExclusive;
}

}  // namespace

KeySpan RangeOfKey(uint32_t family, std::string_view key) {
  KeySpan range{family, std::string(key), std::string(key)};
  range.end.push_back('\0');  // The key that follows it.
  return range;
}

bool IsOneKey(const KeySpan& range) {
  return range.end.size() == range.first.size() + 1 && range.end.back() == '\0' &&
         range.end.starts_with(range.first);
}

// A call of Lock() that waits; it lies on the stack of its thread.
struct RangeLockTable::Owner::Waiter {
  Owner* owner;
  const KeySpan* range;
  LockMode mode;
  bool queues;  // Behind those that came before.
  std::vector<Owner*> blockers;
  std::shared_ptr<rocksdb::TransactionDBCondVar> changed;
};

class RangeLockTable::Guard {
 public:
  explicit Guard(const RangeLockTable& table) : mutex_(*table.mutex_) { Check(mutex_.Lock()); }
  ~Guard() { mutex_.UnLock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  static void Check(const rocksdb::Status& locked) { CAIRN_ASSERT(locked.ok()); }
  rocksdb::TransactionDBMutex& mutex_;
};

std::vector<uint64_t> RangeLockTable::Owner::WaitsFor() const {
  std::vector<uint64_t> ids;
  if (waiter_ == nullptr) return ids;
  for (const Owner* blocker : waiter_->blockers) ids.push_back(blocker->id_);
  return ids;
}

RangeLockTable::RangeLockTable(std::shared_ptr<rocksdb::TransactionDBMutexFactory> factory)
    : factory_(std::move(factory)), mutex_(factory_->AllocateMutex()) {}

RangeLockTable::~RangeLockTable() = default;

// The first segment that ends behind the key.
RangeLockTable::Segments::iterator RangeLockTable::FirstOverlap(Segments* segments,
                                                                std::string_view first) {
  auto next = segments->upper_bound(first);
  if (next == segments->begin()) return next;
  const auto previous = std::prev(next);
  return std::string_view(previous->second.end) > first ? previous : next;
}

// No segment reaches over the key any more.
void RangeLockTable::SplitAt(Segments* segments, const std::string& key) {
  const auto segment = FirstOverlap(segments, key);
  if (segment == segments->end() || segment->first >= key) return;
  segments->emplace(key, segment->second);
  segment->second.end = key;
}

// Segments that touch and have the same holders become one.
void RangeLockTable::JoinWithin(Segments* segments, const KeySpan& range) {
  const auto same = [](const Holder& one, const Holder& other) {
    return one.owner == other.owner && one.mode == other.mode;
  };
  auto segment = segments->lower_bound(range.first);
  if (segment != segments->begin()) --segment;
  while (segment != segments->end() && segment->first < range.end) {
    const auto next = std::next(segment);
    if (next == segments->end()) return;
    const auto& holders = segment->second.holders;
    const auto& others = next->second.holders;
    if (segment->second.end != next->first ||
        !std::is_permutation(holders.begin(), holders.end(), others.begin(), others.end(), same)) {
      segment = next;
      continue;
    }
    segment->second.end = std::move(next->second.end);
    segments->erase(next);
  }
}

bool RangeLockTable::IsHeld(Segments* segments, const Owner& owner, const KeySpan& range,
                            LockMode mode) const {
  std::string_view held_to = range.first;
  for (auto segment = FirstOverlap(segments, range.first); segment != segments->end(); ++segment) {
    if (segment->first > held_to) return false;
    const auto& holders = segment->second.holders;
    if (std::none_of(holders.begin(), holders.end(), [&](const Holder& holder) {
          return holder.owner == &owner && holder.mode >= mode;
        })) {
      return false;
    }
    held_to = segment->second.end;
    if (held_to >= range.end) return true;
  }
  return false;
}

// Those whose locks are in the way, and, for one that queues, whose wishes are. `waiter`: that of
// the owner, if it waits already.
std::vector<RangeLockTable::Owner*> RangeLockTable::Blockers(const Owner& owner,
                                                             const KeySpan& range, LockMode mode,
                                                             const Waiter* waiter) {
  std::vector<Owner*> blockers;
  const auto add = [&](Owner* other) {
    if (std::find(blockers.begin(), blockers.end(), other) == blockers.end()) {
      blockers.push_back(other);
    }
  };
  Segments& segments = families_[range.family];
  for (auto segment = FirstOverlap(&segments, range.first);
       segment != segments.end() && segment->first < range.end; ++segment) {
    for (const Holder& holder : segment->second.holders) {
      if (holder.owner != &owner && Exclude(holder.mode, mode)) add(holder.owner);
    }
  }
  const bool queues = waiter != nullptr ? waiter->queues : owner.locks_.empty();
  if (!queues) return blockers;
  for (const Waiter* other : waiters_) {
    if (other == waiter) break;
    if (Overlap(*other->range, range) && Exclude(other->mode, mode)) add(other->owner);
  }
  return blockers;
}

void RangeLockTable::Grant(Owner* owner, const KeySpan& range, LockMode mode) {
  Segments& segments = families_[range.family];
  SplitAt(&segments, range.first);
  SplitAt(&segments, range.end);
  std::string_view granted_to = range.first;
  auto segment = segments.lower_bound(range.first);
  while (granted_to < range.end) {
    if (segment == segments.end() || segment->first > granted_to) {  // Nobody has these keys.
      const bool last = segment == segments.end() || segment->first > range.end;
      Segment fresh{last ? range.end : segment->first, {Holder{owner, mode}}};
      segment = segments.emplace_hint(segment, std::string(granted_to), std::move(fresh));
    } else {
      std::vector<Holder>& holders = segment->second.holders;
      const auto own = std::find_if(holders.begin(), holders.end(),
                                    [&](const Holder& holder) { return holder.owner == owner; });
      if (own == holders.end()) {
        holders.push_back({owner, mode});
      } else {
        own->mode = std::max(own->mode, mode);
      }
    }
    granted_to = segment->second.end;
    ++segment;
  }
  const auto [lock, is_new] = owner->locks_.try_emplace(range, mode);
  lock->second = std::max(lock->second, mode);
  if (is_new && !IsOneKey(range)) ++owner->wide_locks_;
  // Others wait for this owner now, who did not before.
  for (Waiter* waiter : waiters_) {
    if (waiter->owner == owner || !Overlap(*waiter->range, range) || !Exclude(waiter->mode, mode)) {
      continue;
    }
    if (std::find(waiter->blockers.begin(), waiter->blockers.end(), owner) !=
        waiter->blockers.end()) {
      continue;
    }
    waiter->blockers.push_back(owner);
    waiter->changed->NotifyAll();
  }
}

Status RangeLockTable::Lock(Owner* owner, const KeySpan& range, LockMode mode,
                            const LockWaitSettings& wait) {
  CAIRN_ASSERT(range.first < range.end);
  const Guard guard(*this);
  if (IsHeld(&families_[range.family], *owner, range, mode)) {
    if (owner->locks_.contains(range)) ++owner->uses_[range];
    return Status();
  }
  const bool again = owner->locks_.contains(range);  // As an exclusive one now.
  if (!again && owner->locks_.size() >= wait.most_locks) return Status(StatusCode::kLockLimit);
  Waiter waiter{owner, &range, mode, owner->locks_.empty(), {}, nullptr};
  waiter.blockers = Blockers(*owner, range, mode, nullptr);
  if (!waiter.blockers.empty()) {
    if (wait.timeout_ms == 0) return Status(StatusCode::kLockTimeout);
    waiter.changed = factory_->AllocateCondVar();
    waiters_.push_back(&waiter);
    owner->waiter_ = &waiter;
    const Status waited = Wait(&waiter, wait);
    // First the lock, then the end of the wait: those who queue behind it go on waiting without
    // being woken up.
    if (waited.ok()) Grant(owner, range, mode);
    Forget(&waiter);
    CAIRN_RETURN_IF_ERROR(waited);
  } else {
    Grant(owner, range, mode);
  }
  if (again) ++owner->uses_[range];
  return Status();
}

void RangeLockTable::Restore(Owner* owner, const KeySpan& range, LockMode mode) {
  const Guard guard(*this);
  Grant(owner, range, mode);
}

// Ok: nobody is in the way any more.
Status RangeLockTable::Wait(Waiter* waiter, const LockWaitSettings& wait) {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(wait.timeout_ms);
  while (true) {
    if (wait.detect_deadlocks && ClosesCircle(*waiter, wait.detect_depth)) {
      return Status(StatusCode::kDeadlock);
    }
    int64_t left_us = -1;
    if (wait.timeout_ms > 0) {
      left_us = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()).count();
      if (left_us <= 0) return Status(StatusCode::kLockTimeout);
    }
    const rocksdb::Status told = waiter->changed->WaitFor(mutex_, left_us);
    waiter->blockers = Blockers(*waiter->owner, *waiter->range, waiter->mode, waiter);
    if (waiter->blockers.empty()) return Status();
    if (!told.ok()) return Status(StatusCode::kLockTimeout);
  }
}

void RangeLockTable::Forget(Waiter* waiter) {
  waiters_.remove(waiter);
  waiter->owner->waiter_ = nullptr;
  NoLongerWaitFor(waiter->owner, *waiter->range);
}

// Whether the owner's locks, apart from what it waits for, exclude the waiter's.
bool RangeLockTable::StandsInTheWay(const Owner& owner, const Waiter& waiter) {
  Segments& segments = families_[waiter.range->family];
  for (auto segment = FirstOverlap(&segments, waiter.range->first);
       segment != segments.end() && segment->first < waiter.range->end; ++segment) {
    for (const Holder& holder : segment->second.holders) {
      if (holder.owner == &owner && Exclude(holder.mode, waiter.mode)) return true;
    }
  }
  return false;
}

// Those who wait for it within the range do so no longer, unless its locks are in their way. It may
// be gone soon.
void RangeLockTable::NoLongerWaitFor(const Owner* owner, const KeySpan& range) {
  for (Waiter* waiter : waiters_) {
    if (!Overlap(*waiter->range, range) || StandsInTheWay(*owner, *waiter)) continue;
    const bool waited = std::erase(waiter->blockers, owner) != 0;
    if (waited && waiter->blockers.empty()) waiter->changed->NotifyAll();
  }
}

// Follows who waits for whom, from the waiter on, until that is the waiter itself.
bool RangeLockTable::ClosesCircle(const Waiter& waiter, int64_t depth) {
  struct Step {
    const Waiter* waiter;
    size_t from;  // Position of the step that led here.
    int64_t depth;
  };
  std::vector<Step> steps{{&waiter, 0, 0}};
  std::set<const Owner*> seen;
  for (size_t at = 0; at < steps.size(); ++at) {
    if (steps[at].depth > depth) {
      Remember({&waiter}, /*limit_exceeded=*/true);
      return true;
    }
    for (const Owner* blocker : steps[at].waiter->blockers) {
      if (blocker == waiter.owner) {
        std::vector<const Waiter*> circle{&waiter};
        for (size_t step = at; step != 0; step = steps[step].from) {
          circle.push_back(steps[step].waiter);
        }
        std::reverse(circle.begin(), circle.end());
        Remember(circle, /*limit_exceeded=*/false);
        return true;
      }
      if (blocker->waiter_ == nullptr || !seen.insert(blocker).second) continue;
      steps.push_back({blocker->waiter_, at, steps[at].depth + 1});
    }
  }
  return false;
}

void RangeLockTable::Remember(const std::vector<const Waiter*>& circle, bool limit_exceeded) {
  std::vector<rocksdb::DeadlockInfo> path;
  path.reserve(circle.size());
  for (const Waiter* waiter : circle) {
    path.push_back({waiter->owner->id_, waiter->range->family, waiter->mode == LockMode::kExclusive,
                    waiter->range->first});
  }
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  deadlocks_.emplace_front(std::move(path), now);
  deadlocks_.front().limit_exceeded = limit_exceeded;
  if (deadlocks_.size() > remembered_deadlocks_) deadlocks_.pop_back();
}

void RangeLockTable::Release(Owner* owner, const KeySpan& range) {
  Segments& segments = families_[range.family];
  SplitAt(&segments, range.first);
  SplitAt(&segments, range.end);
  auto segment = segments.lower_bound(range.first);
  while (segment != segments.end() && segment->first < range.end) {
    std::erase_if(segment->second.holders,
                  [&](const Holder& holder) { return holder.owner == owner; });
    segment = segment->second.holders.empty() ? segments.erase(segment) : std::next(segment);
  }
  JoinWithin(&segments, range);
}

void RangeLockTable::UnlockKey(Owner* owner, const KeySpan& range) {
  const Guard guard(*this);
  if (owner->wide_locks_ != 0) return;
  const auto lock = owner->locks_.find(range);
  if (lock == owner->locks_.end()) return;
  const auto again = owner->uses_.find(range);
  if (again != owner->uses_.end()) {
    if (--again->second == 0) owner->uses_.erase(again);
    return;
  }
  owner->locks_.erase(lock);
  Release(owner, range);
  NoLongerWaitFor(owner, range);
}

void RangeLockTable::UnlockAll(Owner* owner) {
  if (owner->locks_.empty()) return;
  const Guard guard(*this);
  for (const auto& [range, mode] : owner->locks_) Release(owner, range);
  owner->locks_.clear();
  owner->uses_.clear();
  owner->wide_locks_ = 0;
  for (Waiter* waiter : waiters_) {
    const bool waited = std::erase(waiter->blockers, owner) != 0;
    if (waited && waiter->blockers.empty()) waiter->changed->NotifyAll();
  }
}

void RangeLockTable::Keep(const std::string& name, std::unique_ptr<Owner> owner) {
  const Guard guard(*this);
  kept_.insert_or_assign(name, std::move(owner));
}

void RangeLockTable::ReleaseKept(const std::string& name) {
  std::unique_ptr<Owner> owner;
  {
    const Guard guard(*this);
    const auto kept = kept_.find(name);
    if (kept == kept_.end()) return;
    owner = std::move(kept->second);
    kept_.erase(kept);
  }
  UnlockAll(owner.get());
}

std::vector<LockDescription> RangeLockTable::Locks() const {
  const Guard guard(*this);
  std::vector<LockDescription> locks;
  for (const auto& [family, segments] : families_) {
    for (const auto& [first, segment] : segments) {
      LockDescription& lock = locks.emplace_back();
      lock.range = {family, first, segment.end};
      for (const Holder& holder : segment.holders) {
        lock.mode = std::max(lock.mode, holder.mode);
        lock.owners.push_back(holder.owner->id_);
      }
    }
  }
  return locks;
}

std::vector<rocksdb::DeadlockPath> RangeLockTable::Deadlocks() const {
  const Guard guard(*this);
  return {deadlocks_.begin(), deadlocks_.end()};
}

void RangeLockTable::SetRememberedDeadlocks(uint32_t count) {
  const Guard guard(*this);
  remembered_deadlocks_ = count;
  if (deadlocks_.size() > count) deadlocks_.resize(count, rocksdb::DeadlockPath());
}

}  // namespace cairn
