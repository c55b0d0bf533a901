// What a VersionTree is made of, and how that is read while others change it. For the sources of
// the tree alone.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "engine/base/bytes.h"
#include "engine/base/cache_line.h"
#include "engine/lsm/version_tree.h"

namespace cairn::lsm {

inline constexpr uintptr_t kIsVersion = 1;  // In a link.

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
struct alignas(kCacheLineBytes) VersionTree::Node {
  static constexpr unsigned kSlots = 64;
  // That its keys share and that are looked at once: they fill its first cache line.
  static constexpr size_t kMostPrefixBytes = 40;
  static constexpr size_t kPrefixWords = kMostPrefixBytes / sizeof(uint64_t);

  explicit Node(uint8_t node_level) : level(node_level) {
    for (auto& slot : slots) slot.store(0, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> changes{0};  // Odd while the node is locked.
  std::atomic<Node*> next{nullptr};  // Of a leaf.
  std::atomic<uint16_t> count{0};
  std::atomic<uint16_t> skipped{0};            // Bytes that all keys here begin with.
  const uint8_t level;                         // 0: a leaf.
  std::atomic<uint64_t> prefix[kPrefixWords];  // Those bytes.
  // The bytes behind them, in an order that is always ascending.
  std::atomic<uint32_t> heads[kSlots];
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

// What a link leads to. The lowest bit of one says what that is, so it is kept as a number.
template <typename T>
T* At(uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

inline void Prefetch(const void* address) { __builtin_prefetch(address); }

// Versions of a key.

inline const char* VersionTree::RecordOf(Link link) {
  return (link & kIsVersion) != 0 ? At<const Version>(link - kIsVersion)->record
                                  : At<const char>(link);
}

inline uint64_t VersionTree::NumberOf(Link link) {
  return (link & kIsVersion) != 0 ? At<const Version>(link - kIsVersion)->number
                                  : ParseRecord(At<const char>(link)).version;
}

inline VersionTree::Link VersionTree::OlderThan(Link link) {
  return (link & kIsVersion) != 0 ? Load(At<const Version>(link - kIsVersion)->older) : 0;
}

// Nodes.

inline uint64_t VersionTree::WaitUntilUnlocked(const Node& node) {
  constexpr unsigned kSpinsBeforeYield = 64;
  for (unsigned spins = 0;; ++spins) {
    const uint64_t changes = Load(node.changes);
    if (changes % 2 == 0) return changes;
    // Whoever changes a node does so for a microsecond, unless he has been put aside.
    if (spins < kSpinsBeforeYield) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else {
      sched_yield();
    }
  }
}

inline bool VersionTree::IsUnchanged(const Node& node, uint64_t changes) {
  return Load(node.changes) == changes;
}

// Has all that a search of a node begins with on its way to the processor at once.
inline void VersionTree::FetchKeys(const Node& node) {
  for (size_t at = 0; at < offsetof(Node, slots); at += kCacheLineBytes) {
    Prefetch(reinterpret_cast<const char*>(&node) + at);
  }
}

// Four bytes behind those that are skipped, with zeros where the key has ended, which leaves
// equality open.
inline uint32_t VersionTree::HeadOf(std::string_view key, size_t skipped) const {
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

}  // namespace cairn::lsm
