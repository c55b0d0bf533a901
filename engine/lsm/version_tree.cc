#include "engine/lsm/version_tree.h"

#include <algorithm>

#include "engine/base/assert.h"
#include "engine/lsm/version_tree_nodes.h"

namespace cairn::lsm {
namespace {

constexpr unsigned kRecordsAhead = 4;  // Of a walk, on their way to the processor's cache.
constexpr unsigned kMostLeavesCounted = 16;

}  // namespace

// Versions of a key.

// The oldest of those that are at least `version`, which the one at `link` is.
VersionTree::Link VersionTree::LastAtLeast(Link link, uint64_t version) {
  while ((link & kIsVersion) != 0) {
    const auto* const here = At<const Version>(link - kIsVersion);
    if (here->jump != here && here->jump->number >= version) {
      link = reinterpret_cast<Link>(here->jump) | kIsVersion;
      continue;
    }
    const Link older = Load(here->older);
    if (NumberOf(older) < version) break;
    link = older;
  }
  return link;
}

// The newest of those that are at most `version`; 0 if there is none.
VersionTree::Link VersionTree::FirstAtMost(Link link, uint64_t version) {
  // What is behind the last of the newer ones may be newer as well by the time that it is looked
  // at.
  while (link != 0 && NumberOf(link) > version) link = OlderThan(LastAtLeast(link, version + 1));
  return link;
}

// Searches.

VersionTree::Place VersionTree::Find(const Node& node, std::string_view key) const {
  // What is read of a node that is being changed may be anything that was ever stored there.
  const unsigned count = Load(node.count);
  const size_t skipped = Load(node.skipped);
  if (count == 0) return {};
  if (skipped != 0) {
    uint64_t prefix[Node::kPrefixWords];
    for (size_t word = 0; word * sizeof(uint64_t) < skipped; ++word) {
      prefix[word] = Load(node.prefix[word]);
    }
    const std::string_view common(reinterpret_cast<const char*>(prefix), skipped);
    const int order = CompareKeys(key.substr(0, skipped), common, order_);
    if (order < 0) return {.index = 0};
    if (order > 0) return {.index = count};
  }
  const uint32_t head = HeadOf(key, skipped);
  unsigned begin = 0;
  for (unsigned left = count; left > 1;) {
    const unsigned half = left / 2;
    begin += Load(node.heads[begin + half - 1]) < head ? half : 0;
    left -= half;
  }
  begin += Load(node.heads[begin]) < head ? 1 : 0;
  unsigned end = begin;
  while (end < count && Load(node.heads[end]) == head) ++end;
  if (begin == end) return {.index = begin};
  return FindAmongEqualHeads(node, begin, end, skipped, key);
}

VersionTree::Place VersionTree::FindAmongEqualHeads(const Node& node, unsigned begin, unsigned end,
                                                    size_t skipped, std::string_view key) const {
  while (begin < end) {
    const unsigned middle = (begin + end) / 2;
    const Link link = Load(node.slots[middle]);
    if (link == 0) return {};  // The node is being changed.
    const std::string_view there = ParseRecord(RecordOf(link)).key;
    const size_t equal = std::min({skipped, there.size(), key.size()});
    const int order = CompareKeys(there.substr(equal), key.substr(equal), order_);
    if (order == 0) return {.index = middle, .is_equal = true};
    if (order < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return {.index = begin};
}

VersionTree::Leaf VersionTree::FindLeaf(std::string_view key, Side side) const {
  for (;;) {
    const Node* node = Load(root_);
    uint64_t changes = WaitUntilUnlocked(*node);
    bool is_whole = node == Load(root_);
    while (is_whole && node->level != 0) {
      const auto* const inner = static_cast<const Inner*>(node);
      const Place place = Find(*inner, key);
      const bool goes_behind = place.is_equal && side == Side::kAtOrBehind;
      const Node* const child = Load(inner->children[place.index + (goes_behind ? 1 : 0)]);
      is_whole = IsUnchanged(*inner, changes);
      if (!is_whole) break;
      FetchKeys(*child);
      const uint64_t child_changes = WaitUntilUnlocked(*child);
      is_whole = IsUnchanged(*inner, changes);
      node = child;
      changes = child_changes;
    }
    if (is_whole) return {node, changes};
  }
}
// Estimates.

// The share of the tree's keys that is before `key`, as if all nodes had as many keys below each of
// their children, but for what the children themselves have.
double VersionTree::ShareBefore(std::string_view key) const {
  double share = 0;
  double width = 1;
  const Node* node = Load(root_);
  // What is read of a node that changes meanwhile makes a worse guess, and no more.
  for (; node->level != 0;) {
    const auto& children = static_cast<const Inner*>(node)->children;
    const unsigned count = std::min<unsigned>(Load(node->count), Node::kSlots);
    const Place place = Find(*node, key);
    const unsigned index = std::min(place.index + (place.is_equal ? 1 : 0), count);
    unsigned before = 0;
    unsigned here = 0;
    unsigned all = 0;
    for (unsigned i = 0; i <= count; ++i) {
      const Node* const child = Load(children[i]);
      if (child == nullptr) break;
      const unsigned weight = Load(child->count) + (child->level != 0 ? 1 : 0);
      all += weight;
      before += i < index ? weight : 0;
      here += i == index ? weight : 0;
    }
    const Node* const child = Load(children[index]);
    if (child == nullptr || all == 0) return share;
    share += width * before / all;
    width *= static_cast<double>(here) / all;
    node = child;
  }
  const unsigned count = std::max<unsigned>(Load(node->count), 1);
  return share + width * std::min(Find(*node, key).index, count) / count;
}

uint64_t VersionTree::EstimateKeys(std::string_view begin, std::string_view end) const {
  if (CompareKeys(begin, end, order_) >= 0) return 0;
  uint64_t counted = 0;
  const Node* leaf = FindLeaf(begin, Side::kAtOrBehind).node;
  unsigned first = Find(*leaf, begin).index;
  for (unsigned leaves = 0; leaf != nullptr; leaf = Load(leaf->next), ++leaves, first = 0) {
    if (leaves == kMostLeavesCounted) {
      const double share = std::max(0.0, ShareBefore(end) - ShareBefore(begin));
      const double all = static_cast<double>(counted) / kMostLeavesCounted *
                         static_cast<double>(leaves_.load(std::memory_order_relaxed));
      return std::max(counted, static_cast<uint64_t>(share * all));
    }
    const unsigned count = Load(leaf->count);
    const unsigned last = std::min(Find(*leaf, end).index, count);
    counted += last > first ? last - first : 0;
    if (last < count) break;
  }
  return counted;
}

// Walks.

const char* VersionTree::Iterator::record() const { return RecordOf(current_); }

// Reads the slot where this stands; false: the leaf has changed meanwhile.
bool VersionTree::Iterator::LoadSlot(Link* link) const {
  // Behind all slots: the search has met a full leaf that was being changed.
  if (index_ >= Node::kSlots) return false;
  const Node& leaf = *leaf_.node;
  *link = Load(leaf.slots[index_]);
  if (index_ + kRecordsAhead < Node::kSlots) {
    const Link ahead = Load(leaf.slots[index_ + kRecordsAhead]);
    Prefetch(At<const char>(ahead - ahead % 2));
  }
  return IsUnchanged(leaf, leaf_.changes);
}

void VersionTree::Iterator::Seek(const Entry& target) {
  // From one version of a key to an older one, or past all of them.
  if (current_ != 0 && NumberOf(current_) > target.version &&
      ParseRecord(record()).key == target.key) {
    const Link older = target.version == 0 ? 0 : FirstAtMost(current_, target.version);
    if (older == 0) return MoveToNextKey();
    current_ = older;
    return;
  }
  for (;;) {
    leaf_ = tree_.FindLeaf(target.key, Side::kAtOrBehind);
    const Place place = tree_.Find(*leaf_.node, target.key);
    index_ = place.index;
    const unsigned count = Load(leaf_.node->count);
    if (!IsUnchanged(*leaf_.node, leaf_.changes)) continue;
    if (index_ == count) {
      // Behind the last key of this leaf, and so before the first of the next.
      const Node* const next = Load(leaf_.node->next);
      if (!IsUnchanged(*leaf_.node, leaf_.changes)) continue;
      current_ = 0;
      if (next == nullptr) return;
      leaf_ = {next, WaitUntilUnlocked(*next)};
      index_ = 0;
    }
    Link newest = 0;
    if (!LoadSlot(&newest)) continue;
    current_ = newest;
    if (place.is_equal) {
      current_ = FirstAtMost(newest, target.version);
      if (current_ == 0) {
        current_ = newest;
        MoveToNextKey();
      }
    }
    return;
  }
}

void VersionTree::Iterator::SeekToFirst() {
  for (;;) {
    const Node* node = Load(tree_.root_);
    // The first child of a node stays its first child.
    while (node->level != 0) node = Load(static_cast<const Inner*>(node)->children[0]);
    leaf_ = {node, WaitUntilUnlocked(*node)};
    index_ = 0;
    current_ = 0;
    const bool is_empty = Load(node->count) == 0;
    Link newest = 0;
    if (!LoadSlot(&newest)) continue;
    if (!is_empty) current_ = newest;
    return;
  }
}

void VersionTree::Iterator::SeekToLast() {
  for (;;) {
    const Node* node = Load(tree_.root_);
    uint64_t changes = WaitUntilUnlocked(*node);
    bool is_whole = node == Load(tree_.root_);
    while (is_whole && node->level != 0) {
      const Node* const child = Load(static_cast<const Inner*>(node)->children[Load(node->count)]);
      is_whole = IsUnchanged(*node, changes);
      if (!is_whole) break;
      const uint64_t child_changes = WaitUntilUnlocked(*child);
      is_whole = IsUnchanged(*node, changes);
      node = child;
      changes = child_changes;
    }
    if (!is_whole) continue;
    leaf_ = {node, changes};
    const unsigned count = Load(node->count);
    index_ = count - 1;
    current_ = 0;
    Link newest = 0;
    if (count != 0 && !LoadSlot(&newest)) continue;
    if (!IsUnchanged(*node, changes)) continue;
    if (count != 0) current_ = LastAtLeast(newest, 0);
    return;
  }
}

void VersionTree::Iterator::Next() {
  CAIRN_ASSERT(Valid());
  const Link older = OlderThan(current_);
  if (older == 0) return MoveToNextKey();
  current_ = older;
}

void VersionTree::Iterator::MoveToNextKey() {
  const std::string_view key = ParseRecord(record()).key;
  for (;;) {
    const unsigned count = Load(leaf_.node->count);
    const Node* const next = Load(leaf_.node->next);
    if (IsUnchanged(*leaf_.node, leaf_.changes)) {
      Leaf leaf = leaf_;
      unsigned index = index_ + 1;
      if (index >= count) {
        if (next == nullptr) {
          current_ = 0;
          return;
        }
        leaf = {next, WaitUntilUnlocked(*next)};
        index = 0;
      }
      const Leaf left = leaf_;
      const unsigned left_index = index_;
      leaf_ = leaf;
      index_ = index;
      Link newest = 0;
      if (LoadSlot(&newest)) {
        current_ = newest;
        return;
      }
      leaf_ = left;
      index_ = left_index;
    }
    // Keys have been added to the leaf; some of it may be another's now.
    leaf_ = tree_.FindLeaf(key, Side::kAtOrBehind);
    index_ = tree_.Find(*leaf_.node, key).index;
  }
}

void VersionTree::Iterator::Prev() {
  CAIRN_ASSERT(Valid());
  const Entry entry = ParseRecord(record());
  for (;;) {
    Link newest = 0;
    if (LoadSlot(&newest)) {
      if (NumberOf(newest) <= entry.version) return MoveToOldestOfKeyBefore(entry.key);
      current_ = LastAtLeast(newest, entry.version + 1);
      return;
    }
    leaf_ = tree_.FindLeaf(entry.key, Side::kAtOrBehind);
    index_ = tree_.Find(*leaf_.node, entry.key).index;
  }
}

void VersionTree::Iterator::MoveToOldestOfKeyBefore(std::string_view key) {
  for (;;) {
    if (index_ > 0) {
      --index_;
      Link newest = 0;
      if (LoadSlot(&newest)) {
        current_ = LastAtLeast(newest, 0);
        return;
      }
    }
    leaf_ = tree_.FindLeaf(key, Side::kBefore);
    index_ = tree_.Find(*leaf_.node, key).index;
    if (index_ == 0 && IsUnchanged(*leaf_.node, leaf_.changes)) {
      current_ = 0;
      return;
    }
  }
}

}  // namespace cairn::lsm
