#include "engine/lsm/version_tree.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/base/assert.h"
#include "engine/base/bytes.h"

namespace cairn::lsm {
namespace {

constexpr unsigned kSlots = 64;  // Of a node.
constexpr size_t kMostPrefixBytes =
    40;  // Of a node's keys that are looked at once: they fill its first cache line.
constexpr size_t kVersionBytes = 8;  // At the end of an internal key,
constexpr unsigned kTypeBits = 8;    // which are no part of the version.
constexpr size_t kCacheLine = 64;
constexpr unsigned kRecordsAhead = 4;  // Of a walk, on their way to the processor's cache.
constexpr unsigned kMostLeavesCounted = 16;
constexpr unsigned kSpinsBeforeYield = 64;

constexpr size_t kPrefixWords = kMostPrefixBytes / sizeof(uint64_t);
constexpr uintptr_t kIsVersion = 1;

size_t CommonPrefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

// What a link leads to. The lowest bit of one says what that is, so it is kept as a number.
template <typename T>
T* At(uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void Prefetch(const void* address) { __builtin_prefetch(address); }

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// A version of a key that has older ones.
struct VersionTree::Version {
  uint64_t number;
  const char* record;
  std::atomic<Link> older;
  // To a version further down, or itself in the lowest one: twice as far in some as in others, so
  // that any is found in the logarithm of their number (as in E. Myers' random-access stack).
  const Version* jump;
  uint32_t depth;  // Versions from here down that have older ones, but for those that came late.
};

// Fields are read while they change, hence the atomics; what was read counts once the node's
// counter turns out to be the same as before. Written by who has locked the node.
struct alignas(kCacheLine) VersionTree::Node {
  explicit Node(uint8_t node_level) : level(node_level) {
    for (auto& slot : slots) slot.store(0, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> changes{0};  // Odd while the node is locked.
  std::atomic<Node*> next{nullptr};  // Of a leaf.
  std::atomic<uint16_t> count{0};
  std::atomic<uint16_t> skipped{0};            // Bytes that all keys here begin with.
  const uint8_t level;                         // 0: a leaf.
  std::atomic<uint64_t> prefix[kPrefixWords];  // Those bytes.
  std::atomic<uint32_t>
      heads[kSlots];  // The bytes behind them, in an order that is always ascending.
  // In a leaf the keys, each its newest version; else a record for each child but the first: that
  // of its first key.
  std::atomic<Link> slots[kSlots];
};

struct VersionTree::Inner : Node {
  explicit Inner(uint8_t node_level) : Node(node_level) {
    for (auto& child : children) child.store(nullptr, std::memory_order_relaxed);
  }
  std::atomic<Node*> children[kSlots + 1];
};

namespace {

// Of what is read while it may change. Acquiring keeps the order of reads, and shows what lies
// behind a pointer.
template <typename T>
T Load(const std::atomic<T>& field) {
  return field.load(std::memory_order_acquire);
}

// Releasing has whoever sees this see that the node is locked.
template <typename T>
void Store(std::atomic<T>* field, T value) {
  field->store(value, std::memory_order_release);
}

}  // namespace

VersionTree::VersionTree(KeyOrder order, Memory* memory)
    : order_(order), memory_(memory), root_(NewNode<Node>(0)) {}

template <typename T>
T* VersionTree::NewNode(uint8_t level) {
  char* const bytes = memory_->Allocate(sizeof(T) + kCacheLine - sizeof(uint64_t));
  const uintptr_t at = reinterpret_cast<uintptr_t>(bytes);
  return new (bytes + (kCacheLine - at % kCacheLine) % kCacheLine) T(level);
}

VersionTree::Entry VersionTree::ParseInternalKey(std::string_view internal_key) {
  CAIRN_ASSERT(internal_key.size() >= kVersionBytes);
  Entry entry;
  entry.key = internal_key.substr(0, internal_key.size() - kVersionBytes);
  std::memcpy(&entry.version, entry.key.data() + entry.key.size(), sizeof entry.version);
  entry.version >>= kTypeBits;
  return entry;
}

VersionTree::Entry VersionTree::ParseRecord(const char* record) {
  constexpr unsigned char kMore = 0x80;
  const auto* at = reinterpret_cast<const unsigned char*>(record);
  uint32_t size = *at & (kMore - 1);
  for (unsigned shift = 7; (*at++ & kMore) != 0; shift += 7) {
    size |= static_cast<uint32_t>(*at & (kMore - 1)) << shift;
  }
  return ParseInternalKey({reinterpret_cast<const char*>(at), size});
}

// Versions of a key.

const char* VersionTree::RecordOf(Link link) {
  return (link & kIsVersion) != 0 ? At<const Version>(link - kIsVersion)->record
                                  : At<const char>(link);
}

uint64_t VersionTree::NumberOf(Link link) {
  return (link & kIsVersion) != 0 ? At<const Version>(link - kIsVersion)->number
                                  : ParseRecord(At<const char>(link)).version;
}

VersionTree::Link VersionTree::OlderThan(Link link) {
  return (link & kIsVersion) != 0 ? Load(At<const Version>(link - kIsVersion)->older) : 0;
}

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

VersionTree::Link VersionTree::NewVersion(const char* record, uint64_t number, Link older) {
  auto* const version = new (memory_->Allocate(sizeof(Version))) Version;
  version->number = number;
  version->record = record;
  version->older.store(older, std::memory_order_relaxed);
  version->jump = version;
  version->depth = 1;
  if ((older & kIsVersion) != 0) {
    const auto* const below = At<const Version>(older - kIsVersion);
    const Version* const far = below->jump;
    version->jump = below->depth - far->depth == far->depth - far->jump->depth ? far->jump : below;
    version->depth = below->depth + 1;
  }
  return reinterpret_cast<Link>(version) | kIsVersion;
}

// Puts a version among those of its key, whose leaf is locked. Readers follow the list meanwhile,
// so each step leaves it whole.
VersionTree::Outcome VersionTree::AddVersion(std::atomic<Link>* newest, const char* record,
                                             uint64_t number) {
  std::atomic<Link>* place = newest;
  for (;;) {
    const Link here = Load(*place);
    const uint64_t here_number = here != 0 ? NumberOf(here) : 0;
    if (here == 0) {
      Store(place, reinterpret_cast<Link>(record));
      return Outcome::kDone;
    }
    if (here_number == number) return Outcome::kExists;
    if (here_number < number) {
      Store(place, NewVersion(record, number, here));
      return Outcome::kDone;
    }
    // Threads that write at the same time come in any order.
    if ((here & kIsVersion) == 0) {
      Store(place, NewVersion(RecordOf(here), here_number, reinterpret_cast<Link>(record)));
      return Outcome::kDone;
    }
    place = &At<Version>(here - kIsVersion)->older;
  }
}

// Locks of nodes.

uint64_t VersionTree::WaitUntilUnlocked(const Node& node) {
  for (unsigned spins = 0;; ++spins) {
    const uint64_t changes = Load(node.changes);
    if (changes % 2 == 0) return changes;
    // Whoever changes a node does so for a microsecond, unless he has been put aside.
    if (spins < kSpinsBeforeYield) {
      Pause();
    } else {
      sched_yield();
    }
  }
}

bool VersionTree::IsUnchanged(const Node& node, uint64_t changes) {
  return Load(node.changes) == changes;
}

bool VersionTree::TryLock(Node* node, uint64_t changes) {
  return node->changes.compare_exchange_strong(changes, changes + 1, std::memory_order_acq_rel,
                                               std::memory_order_acquire);
}

void VersionTree::Unlock(Node* node) {
  Store(&node->changes, node->changes.load(std::memory_order_relaxed) + 1);
}

void VersionTree::UnlockUnchanged(Node* node) {
  Store(&node->changes, node->changes.load(std::memory_order_relaxed) - 1);
}

// Keys of a node.

// Has all that a search of a node begins with on its way to the processor at once.
void VersionTree::FetchKeys(const Node& node) {
  for (size_t at = 0; at < offsetof(Node, slots); at += kCacheLine) {
    Prefetch(reinterpret_cast<const char*>(&node) + at);
  }
}

// Four bytes behind those that are skipped, with zeros where the key has ended, which leaves
// equality open.
uint32_t VersionTree::HeadOf(std::string_view key, size_t skipped) const {
  uint32_t head = 0;
  if (key.size() >= skipped + sizeof head) {
    head = LoadBigEndian<uint32_t>(key.data() + skipped);
  } else if (key.size() > skipped) {
    char bytes[sizeof head] = {};
    std::memcpy(bytes, key.data() + skipped, key.size() - skipped);
    head = LoadBigEndian<uint32_t>(bytes);
  }
  return order_ == KeyOrder::kAscending ? head : ~head;
}

VersionTree::Place VersionTree::Find(const Node& node, std::string_view key) const {
  // What is read of a node that is being changed may be anything that was ever stored there.
  const unsigned count = Load(node.count);
  const size_t skipped = Load(node.skipped);
  if (count == 0) return {};
  if (skipped != 0) {
    uint64_t prefix[kPrefixWords];
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

// Insertions.

bool VersionTree::Insert(const char* record) {
  CAIRN_ASSERT(reinterpret_cast<uintptr_t>(record) % 2 == 0);
  const Entry entry = ParseRecord(record);
  Outcome outcome = Outcome::kAgain;
  while (outcome == Outcome::kAgain) outcome = TryInsert(record, entry);
  return outcome == Outcome::kDone;
}

VersionTree::Outcome VersionTree::TryInsert(const char* record, const Entry& entry) {
  Inner* parent = nullptr;
  uint64_t parent_changes = 0;
  Node* node = Load(root_);
  uint64_t changes = WaitUntilUnlocked(*node);
  if (node != Load(root_)) return Outcome::kAgain;
  for (;;) {
    // Full nodes are split on the way down, so that a parent always has room for one more child.
    if (Load(node->count) == kSlots) {
      TrySplit(parent, parent_changes, node, changes, entry.key);
      return Outcome::kAgain;
    }
    if (node->level == 0) break;
    parent = static_cast<Inner*>(node);
    parent_changes = changes;
    const Place place = Find(*parent, entry.key);
    node = Load(parent->children[place.index + (place.is_equal ? 1 : 0)]);
    if (!IsUnchanged(*parent, parent_changes)) return Outcome::kAgain;
    FetchKeys(*node);
    changes = WaitUntilUnlocked(*node);
    if (!IsUnchanged(*parent, parent_changes)) return Outcome::kAgain;
  }
  const Place place = Find(*node, entry.key);
  if (!TryLock(node, changes)) return Outcome::kAgain;
  if (place.is_equal) {
    // Each key is where it was: whoever reads here meanwhile need not begin anew.
    const Outcome outcome = AddVersion(&node->slots[place.index], record, entry.version);
    UnlockUnchanged(node);
    return outcome;
  }
  AddSlot(node, place.index, record, nullptr);
  Unlock(node);
  return Outcome::kDone;
}

// Makes two of a full node, if nobody has changed it or its parent since.
void VersionTree::TrySplit(Inner* parent, uint64_t parent_changes, Node* node, uint64_t changes,
                           std::string_view key) {
  if (parent != nullptr && !TryLock(parent, parent_changes)) return;
  if (TryLock(node, changes)) {
    Inner* grown = nullptr;
    if (parent == nullptr) {
      // Had the node been split, it would have changed: it is the root still.
      grown = NewNode<Inner>(node->level + 1);
      grown->children[0].store(node, std::memory_order_relaxed);
    }
    Node* const right =
        node->level == 0 ? NewNode<Node>(0) : static_cast<Node*>(NewNode<Inner>(node->level));
    const char* const first = MoveUpperPart(node, right, key);
    Inner* const above = parent != nullptr ? parent : grown;
    const Place place = Find(*above, ParseRecord(first).key);
    AddSlot(above, place.index, first, right);
    if (node->level == 0) leaves_.fetch_add(1, std::memory_order_relaxed);
    if (grown != nullptr) Store(&root_, static_cast<Node*>(grown));
    Unlock(node);
  }
  if (parent != nullptr) Unlock(parent);
}

// Leaves the lower part of a full node in it and moves the rest to a new one, the record of whose
// first key it gives.
const char* VersionTree::MoveUpperPart(Node* node, Node* to, std::string_view key) const {
  // Who writes in order, or in reverse order, leaves full nodes behind.
  unsigned split = kSlots / 2;
  const unsigned place = Find(*node, key).index;
  if (place == kSlots) split = kSlots - 1;
  if (place == 0) split = 1;
  const char* const first = RecordOf(Load(node->slots[split]));
  unsigned from = split;
  if (node->level != 0) {
    auto* const inner = static_cast<Inner*>(node);
    auto* const right = static_cast<Inner*>(to);
    // The record that leads to the first child moved goes up.
    from = split + 1;
    for (unsigned i = from; i <= kSlots; ++i) {
      Store(&right->children[i - from], Load(inner->children[i]));
    }
  }
  for (unsigned i = from; i < kSlots; ++i) {
    Store(&to->slots[i - from], Load(node->slots[i]));
    Store(&to->heads[i - from], Load(node->heads[i]));
  }
  for (size_t word = 0; word < kPrefixWords; ++word) {
    Store(&to->prefix[word], Load(node->prefix[word]));
  }
  Store(&to->skipped, Load(node->skipped));
  Store(&to->count, static_cast<uint16_t>(kSlots - from));
  Store(&to->next, Load(node->next));
  ChoosePrefix(to);
  Store(&node->count, static_cast<uint16_t>(split));
  if (node->level == 0) Store(&node->next, to);
  ChoosePrefix(node);
  return first;
}

// Has a node skip all bytes that its keys share.
void VersionTree::ChoosePrefix(Node* node) const {
  const unsigned count = Load(node->count);
  if (count == 0) return;
  const std::string_view first = ParseRecord(RecordOf(Load(node->slots[0]))).key;
  const std::string_view last = ParseRecord(RecordOf(Load(node->slots[count - 1]))).key;
  const size_t shared = std::min(CommonPrefix(first, last), kMostPrefixBytes);
  if (shared != Load(node->skipped)) SetPrefix(node, first.substr(0, shared));
}

void VersionTree::SetPrefix(Node* node, std::string_view shared) const {
  uint64_t prefix[kPrefixWords] = {};
  std::memcpy(prefix, shared.data(), shared.size());
  for (size_t word = 0; word < kPrefixWords; ++word) Store(&node->prefix[word], prefix[word]);
  Store(&node->skipped, static_cast<uint16_t>(shared.size()));
  const unsigned count = Load(node->count);
  for (unsigned i = 0; i < count; ++i) {
    const std::string_view key = ParseRecord(RecordOf(Load(node->slots[i]))).key;
    Store(&node->heads[i], HeadOf(key, shared.size()));
  }
}

// Puts a key into a locked node that has room, in an inner one with the child that begins with it.
void VersionTree::AddSlot(Node* node, unsigned index, const char* record,
                          Node* child_behind) const {
  const std::string_view key = ParseRecord(record).key;
  const unsigned count = Load(node->count);
  uint64_t prefix[kPrefixWords];
  for (size_t word = 0; word < kPrefixWords; ++word) prefix[word] = Load(node->prefix[word]);
  const std::string_view skipped(reinterpret_cast<const char*>(prefix), Load(node->skipped));
  const size_t shared =
      count == 0 ? std::min(key.size(), kMostPrefixBytes) : CommonPrefix(key, skipped);
  if (count == 0 || shared < skipped.size()) SetPrefix(node, key.substr(0, shared));
  for (unsigned i = count; i > index; --i) {
    Store(&node->slots[i], Load(node->slots[i - 1]));
    Store(&node->heads[i], Load(node->heads[i - 1]));
  }
  Store(&node->heads[index], HeadOf(key, shared));
  Store(&node->slots[index], reinterpret_cast<Link>(record));
  if (child_behind != nullptr) {
    auto& children = static_cast<Inner*>(node)->children;
    for (unsigned i = count + 1; i > index + 1; --i) Store(&children[i], Load(children[i - 1]));
    Store(&children[index + 1], child_behind);
  }
  Store(&node->count, static_cast<uint16_t>(count + 1));
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
    const unsigned count = std::min<unsigned>(Load(node->count), kSlots);
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

// Reads the slot where this stands; false: the leaf has changed meanwhile.
bool VersionTree::Iterator::LoadSlot(Link* link) const {
  const Node& leaf = *leaf_.node;
  *link = Load(leaf.slots[index_]);
  if (index_ + kRecordsAhead < kSlots) {
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
