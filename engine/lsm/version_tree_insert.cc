// How a VersionTree grows.
#include <algorithm>
#include <cstring>
#include <new>

#include "engine/base/assert.h"
#include "engine/lsm/version_tree.h"
#include "engine/lsm/version_tree_nodes.h"

namespace cairn::lsm {
namespace {

size_t CommonPrefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

}  // namespace

VersionTree::VersionTree(KeyOrder order, Memory* memory)
    : order_(order), memory_(memory), root_(NewNode<Node>(0)) {}

template <typename T>
T* VersionTree::NewNode(uint8_t level) {
  char* const bytes = memory_->Allocate(sizeof(T) + kCacheLineBytes - sizeof(uint64_t));
  const uintptr_t at = reinterpret_cast<uintptr_t>(bytes);
  return new (bytes + (kCacheLineBytes - at % kCacheLineBytes) % kCacheLineBytes) T(level);
}

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
    if (Load(node->count) == Node::kSlots) {
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
// Versions of a key.

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

// Leaves the lower part of a full node in it and moves the rest to a new one, the record of whose
// first key it gives.
const char* VersionTree::MoveUpperPart(Node* node, Node* to, std::string_view key) const {
  // Who writes in order, or in reverse order, leaves full nodes behind.
  unsigned split = Node::kSlots / 2;
  const unsigned place = Find(*node, key).index;
  if (place == Node::kSlots) split = Node::kSlots - 1;
  if (place == 0) split = 1;
  const char* const first = RecordOf(Load(node->slots[split]));
  unsigned from = split;
  if (node->level != 0) {
    auto* const inner = static_cast<Inner*>(node);
    auto* const right = static_cast<Inner*>(to);
    // The record that leads to the first child moved goes up.
    from = split + 1;
    for (unsigned i = from; i <= Node::kSlots; ++i) {
      Store(&right->children[i - from], Load(inner->children[i]));
    }
  }
  for (unsigned i = from; i < Node::kSlots; ++i) {
    Store(&to->slots[i - from], Load(node->slots[i]));
    Store(&to->heads[i - from], Load(node->heads[i]));
  }
  for (size_t word = 0; word < Node::kPrefixWords; ++word) {
    Store(&to->prefix[word], Load(node->prefix[word]));
  }
  Store(&to->skipped, Load(node->skipped));
  Store(&to->count, static_cast<uint16_t>(Node::kSlots - from));
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
  const size_t shared = std::min(CommonPrefix(first, last), Node::kMostPrefixBytes);
  if (shared != Load(node->skipped)) SetPrefix(node, first.substr(0, shared));
}

void VersionTree::SetPrefix(Node* node, std::string_view shared) const {
  uint64_t prefix[Node::kPrefixWords] = {};
  std::memcpy(prefix, shared.data(), shared.size());
  for (size_t word = 0; word < Node::kPrefixWords; ++word) Store(&node->prefix[word], prefix[word]);
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
  uint64_t prefix[Node::kPrefixWords];
  for (size_t word = 0; word < Node::kPrefixWords; ++word) prefix[word] = Load(node->prefix[word]);
  const std::string_view skipped(reinterpret_cast<const char*>(prefix), Load(node->skipped));
  const size_t shared =
      count == 0 ? std::min(key.size(), Node::kMostPrefixBytes) : CommonPrefix(key, skipped);
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

}  // namespace cairn::lsm
