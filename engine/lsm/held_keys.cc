#include "engine/lsm/held_keys.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/base/assert.h"

namespace cairn::lsm {
namespace {

using rocksdb::ColumnFamilyId;
using rocksdb::UntrackStatus;

// An array of more stays behind no transaction.
constexpr size_t kMostKept = 64;

class FamilyIterator final : public rocksdb::LockTracker::ColumnFamilyIterator {
 public:
  explicit FamilyIterator(const std::vector<HeldKeys::Held>& all) {
    for (const HeldKeys::Held& held : all) {
      if (std::find(families_.begin(), families_.end(), held.family) == families_.end()) {
        families_.push_back(held.family);
      }
    }
  }
  bool HasNext() const override { return next_ < families_.size(); }
  ColumnFamilyId Next() override { return families_[next_++]; }

 private:
  std::vector<ColumnFamilyId> families_;
  size_t next_ = 0;
};

class KeysOfFamily final : public rocksdb::LockTracker::KeyIterator {
 public:
  KeysOfFamily(const std::vector<HeldKeys::Held>& all, ColumnFamilyId family)
      : all_(all), family_(family) {
    PassOthers();
  }
  bool HasNext() const override { return next_ < all_.size(); }
  const std::string& Next() override {
    const std::string& key = all_[next_++].key;
    PassOthers();
    return key;
  }

 private:
  void PassOthers() {
    while (next_ < all_.size() && all_[next_].family != family_) ++next_;
  }

  const std::vector<HeldKeys::Held>& all_;
  const ColumnFamilyId family_;
  size_t next_ = 0;
};

const HeldKeys& AsHeldKeys(const rocksdb::LockTracker& tracker) {
  return static_cast<const HeldKeys&>(tracker);
}

}  // namespace

const HeldKeys::Held* HeldKeys::Find(const Wanted& wanted) const {
  if (is_indexed()) {
    const auto found = index_.find(wanted);
    return found == index_.end() ? nullptr : &held_[*found];
  }
  for (const Held& held : held_) {
    if (held.family == wanted.family && held.key == wanted.key) return &held;
  }
  return nullptr;
}

HeldKeys::Held* HeldKeys::Find(const Wanted& wanted) {
  return const_cast<Held*>(std::as_const(*this).Find(wanted));
}

void HeldKeys::Add(Held held) {
  held_.push_back(std::move(held));
  if (is_indexed()) {
    index_.insert(static_cast<uint32_t>(held_.size() - 1));
  } else if (held_.size() > kFew) {
    for (uint32_t at = 0; at < held_.size(); ++at) index_.insert(at);
  }
}

// The last one takes its place.
void HeldKeys::Remove(const Held& held) {
  const auto at = static_cast<uint32_t>(&held - held_.data());
  const auto last = static_cast<uint32_t>(held_.size() - 1);
  const bool indexed = is_indexed();
  if (indexed) {
    index_.erase(at);
    index_.erase(last);
  }
  if (at != last) held_[at] = std::move(held_[last]);
  held_.pop_back();
  if (indexed && at != last) index_.insert(at);
}

void HeldKeys::Track(const rocksdb::PointLockRequest& request) {
  Held* held = Find({request.column_family_id, request.key});
  if (held == nullptr) {
    Add({request.key, request.seq, request.column_family_id});
    held = &held_.back();
  } else {
    // The longer nobody has changed it, the more is known.
    held->sequence = std::min(held->sequence, request.seq);
  }
  ++(request.read_only ? held->reads : held->writes);
  held->exclusive = held->exclusive || request.exclusive;
}

UntrackStatus HeldKeys::Untrack(const rocksdb::PointLockRequest& request) {
  Held* const held = Find({request.column_family_id, request.key});
  if (held == nullptr) return UntrackStatus::NOT_TRACKED;
  uint32_t& count = request.read_only ? held->reads : held->writes;
  const bool noted = count > 0;
  if (noted) --count;
  if (held->reads == 0 && held->writes == 0) {
    Remove(*held);
    return UntrackStatus::REMOVED;
  }
  return noted ? UntrackStatus::UNTRACKED : UntrackStatus::NOT_TRACKED;
}

void HeldKeys::Merge(const LockTracker& other) {
  for (const Held& added : AsHeldKeys(other).held_) {
    Held* const held = Find({added.family, added.key});
    if (held == nullptr) {
      Add(added);
      continue;
    }
    held->reads += added.reads;
    held->writes += added.writes;
    held->exclusive = held->exclusive || added.exclusive;
  }
}

void HeldKeys::Subtract(const LockTracker& other) {
  for (const Held& taken : AsHeldKeys(other).held_) {
    Held* const held = Find({taken.family, taken.key});
    CAIRN_ASSERT(held != nullptr && held->reads >= taken.reads && held->writes >= taken.writes);
    held->reads -= taken.reads;
    held->writes -= taken.writes;
    if (held->reads == 0 && held->writes == 0) Remove(*held);
  }
}

void HeldKeys::Clear() {
  if (is_indexed()) index_ = NoIndex();
  held_.clear();
  if (held_.capacity() > kMostKept) held_.shrink_to_fit();
}

rocksdb::LockTracker* HeldKeys::GetTrackedLocksSinceSavePoint(const LockTracker& savepoint) const {
  auto* const since = new HeldKeys;
  for (const Held& noted : AsHeldKeys(savepoint).held_) {
    const Held* const held = Find({noted.family, noted.key});
    CAIRN_ASSERT(held != nullptr);
    // All that was done with it was done behind the savepoint.
    if (held->reads == noted.reads && held->writes == noted.writes) since->Add(noted);
  }
  return since;
}

rocksdb::PointLockStatus HeldKeys::GetPointLockStatus(ColumnFamilyId family,
                                                      const std::string& key) const {
  rocksdb::PointLockStatus status;
  if (const Held* const held = Find({family, key}); held != nullptr) {
    status.locked = true;
    status.exclusive = held->exclusive;
    status.seq = held->sequence;
  }
  return status;
}

rocksdb::LockTracker::ColumnFamilyIterator* HeldKeys::GetColumnFamilyIterator() const {
  return new FamilyIterator(held_);
}

rocksdb::LockTracker::KeyIterator* HeldKeys::GetKeyIterator(ColumnFamilyId family) const {
  return new KeysOfFamily(held_, family);
}

}  // namespace cairn::lsm
