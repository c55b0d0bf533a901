// An ordered map of records in memory, made for memtables: a B+-tree of keys, each with all its
// versions.
//
// A search in a skip list waits for memory at each of its twenty steps. Here it is once or twice
// for each of four levels: the first bytes in which the keys of a node differ lie side by side, and
// the records themselves are looked at where those are equal. Versions of a key are a list behind
// its newest one, so that whoever wants the next key passes them in one step; pointers that jump
// further and further let an old version be found in the logarithm of their number.
//
// A record is what RocksDB keeps in a memtable: the length of the internal key (varint32), the
// internal key, and whatever else. An internal key is a key and 8 bytes little-endian: the type of
// the record in the lowest 8 bits, which counts for nothing here, and its version above, not 0 and
// the greater the newer it is. Entries are in order of their keys, those of one key from the newest
// version to the oldest.
//
// Insert may be called by many threads at once, and any number of others may read meanwhile,
// without waiting for more than a node that is being changed: a node has a counter of its changes,
// odd while there is one, and a reader who finds it changed reads again. What was inserted before a
// read began is found by it. Nothing is ever removed; all memory is the owner's, who takes it back
// at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "engine/base/assert.h"
#include "engine/lsm/key_order.h"

namespace cairn::lsm {

class VersionTree {
 public:
  // Where nodes come from. Called by whoever inserts, at the same time too.
  class Memory {
   public:
    // `bytes` aligned to 8, which stay until the tree is gone. A failure ends the process: nodes
    // are locked.
    virtual char* Allocate(size_t bytes) noexcept = 0;

   protected:
    ~Memory() = default;
  };

  // What a record or a search is for.
  struct Entry {
    std::string_view key;
    uint64_t version = 0;
  };
  class Iterator;

  // `memory` outlives the tree.
  VersionTree(KeyOrder order, Memory* memory);
  VersionTree(const VersionTree&) = delete;
  VersionTree& operator=(const VersionTree&) = delete;

  // Adds a record, aligned to 2 bytes at least, which stays as it is for as long as the tree does.
  // False: there is one of its key and version already, and the tree is unchanged.
  bool Insert(const char* record);

  // How many keys lie between two, the first included, the second not: exact where there are
  // hundreds, a guess from the shape of the tree where there are more.
  uint64_t EstimateKeys(std::string_view begin, std::string_view end) const;

  // What an internal key or a record says.
  static inline Entry ParseInternalKey(std::string_view internal_key);
  static inline Entry ParseRecord(const char* record);

 private:
  struct Version;
  struct Node;
  struct Inner;
  // A record, or a Version where bit 0 is set, or nothing: 0.
  using Link = uintptr_t;
  struct Place {
    unsigned index = 0;  // Of the first key that is not before the one that is looked for.
    bool is_equal = false;
  };
  enum class Outcome { kDone, kExists, kAgain };
  // Which leaf a search ends in: that of the first key at or behind the one given, if any of its
  // leaf's, or of the last one before it.
  enum class Side { kAtOrBehind, kBefore };
  // A leaf as it was when its counter had this value.
  struct Leaf {
    const Node* node = nullptr;
    uint64_t changes = 0;
  };

  // The inline ones are in version_tree_nodes.h.
  static inline const char* RecordOf(Link link);
  static inline uint64_t NumberOf(Link link);
  static inline Link OlderThan(Link link);
  static Link LastAtLeast(Link link, uint64_t version);
  static Link FirstAtMost(Link link, uint64_t version);

  static inline uint64_t WaitUntilUnlocked(const Node& node);
  static inline bool IsUnchanged(const Node& node, uint64_t changes);
  static bool TryLock(Node* node, uint64_t changes);
  static void Unlock(Node* node);
  static void UnlockUnchanged(Node* node);

  static inline void FetchKeys(const Node& node);
  template <typename T>
  T* NewNode(uint8_t level);
  inline uint32_t HeadOf(std::string_view key, size_t skipped) const;
  Place Find(const Node& node, std::string_view key) const;
  Place FindAmongEqualHeads(const Node& node, unsigned begin, unsigned end, size_t skipped,
                            std::string_view key) const;
  Leaf FindLeaf(std::string_view key, Side side) const;

  Outcome TryInsert(const char* record, const Entry& entry);
  void TrySplit(Inner* parent, uint64_t parent_changes, Node* node, uint64_t changes,
                std::string_view key);
  const char* MoveUpperPart(Node* node, Node* to, std::string_view key) const;
  void ChoosePrefix(Node* node) const;
  void SetPrefix(Node* node, std::string_view shared) const;
  void AddSlot(Node* node, unsigned index, const char* record, Node* child_behind) const;
  Outcome AddVersion(std::atomic<Link>* newest, const char* record, uint64_t number);
  Link NewVersion(const char* record, uint64_t number, Link older);
  double ShareBefore(std::string_view key) const;

  const KeyOrder order_;
  Memory* const memory_;
  std::atomic<Node*> root_;
  std::atomic<uint64_t> leaves_{1};
};

// Walks a tree in both directions. Used by one thread at a time; the tree outlives it.
class VersionTree::Iterator {
 public:
  explicit Iterator(const VersionTree& tree) : tree_(tree) {}

  bool Valid() const { return current_ != 0; }
  // Requires Valid(); stays for as long as the tree does.
  const char* record() const;

  // The first entry that is not before `target`.
  void Seek(const Entry& target);
  void SeekToFirst();
  void SeekToLast();
  // Require Valid().
  void Next();
  void Prev();

 private:
  bool LoadSlot(Link* link) const;
  void MoveToNextKey();
  void MoveToOldestOfKeyBefore(std::string_view key);

  const VersionTree& tree_;
  Link current_ = 0;
  // Where the current key was found.
  Leaf leaf_;
  unsigned index_ = 0;
};

inline VersionTree::Entry VersionTree::ParseInternalKey(std::string_view internal_key) {
  constexpr size_t kVersionBytes = 8;  // At its end,
  constexpr unsigned kTypeBits = 8;    // of which these are no part of the version.
  CAIRN_ASSERT(internal_key.size() >= kVersionBytes);
  Entry entry;
  entry.key = internal_key.substr(0, internal_key.size() - kVersionBytes);
  std::memcpy(&entry.version, entry.key.data() + entry.key.size(), sizeof entry.version);
  entry.version >>= kTypeBits;
  return entry;
}

inline VersionTree::Entry VersionTree::ParseRecord(const char* record) {
  constexpr unsigned char kMore = 0x80;
  const auto* at = reinterpret_cast<const unsigned char*>(record);
  uint32_t size = *at & (kMore - 1);
  for (unsigned shift = 7; (*at++ & kMore) != 0; shift += 7) {
    size |= static_cast<uint32_t>(*at & (kMore - 1)) << shift;
  }
  return ParseInternalKey({reinterpret_cast<const char*>(at), size});
}

}  // namespace cairn::lsm
