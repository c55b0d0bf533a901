// Looks for one key in the bytes of an index or data block as they lie in the block cache.
//
// RocksDB's iterators over blocks can go anywhere; this finds one key, makes no copy of any, and
// steps from entry to entry by what they share with the key that is looked for. It knows the layout
// that is written by default: keys without hash index beside them, and each with its value.
// Whatever else a block has, and whatever does not fit together, is kUnknown: RocksDB is to be
// asked then, which knows the rest and reports damage.
//
// Knows no RocksDB. The layout is that of RocksDB's table/block_based/block_builder.cc: entries,
// the offsets of those that begin with a whole key (restarts), and how many of these there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/lsm/key_order.h"

namespace cairn::lsm {

// An 8-byte footer ends the keys in files: a version's number, and in its last byte what was done.
inline constexpr size_t kVersionBytes = 8;

// What is looked for; borrows the key's bytes.
struct BlockKey {
  BlockKey(std::string_view user_key, uint64_t sequence, KeyOrder order);

  std::string_view user_key;
  uint64_t sequence;  // Newer versions are not looked for.
  KeyOrder order;
  uint64_t first_bytes;  // Of a key of 8 bytes or more, as a number.
};

enum class BlockSearch { kFound, kAbsent, kUnknown };

// What an index entry says of its data block.
struct BlockPlace {
  uint64_t offset;
  uint64_t bytes;
  uint32_t number;  // Of the entry; with whole keys alone.
};

struct IndexLayout {
  bool keys_have_versions;
  bool values_have_sizes;
  bool has_whole_keys =
      false;  // In each entry; else that is found out where it matters, and kUnknown without.
};

// The block that has the key's newest version up to `key.sequence`, if the file has one. kAbsent:
// no block reaches so far.
BlockSearch FindBlock(std::string_view index, const IndexLayout& layout, const BlockKey& key,
                      BlockPlace* place);

struct IndexEntry {
  std::string_view
      user_key;  // No key of its block is behind it, and none of the next block before it.
  BlockPlace place;
};

// The index's entry of that number, from 0, where its layout is known to have whole keys. kAbsent:
// it has no more.
BlockSearch ReadIndexEntry(std::string_view index, const IndexLayout& layout, uint32_t number,
                           IndexEntry* entry);

struct BlockEntry {
  uint64_t sequence;
  uint8_t type;            // Of RocksDB's ValueType.
  std::string_view value;  // In the block.
};

// The newest version of the key up to `key.sequence`. With `file_sequence` all entries have that
// number instead of their own. kUnknown also at the end of the block, as what is behind may belong
// to the next one.
BlockSearch FindVersion(std::string_view block, const uint64_t* file_sequence, const BlockKey& key,
                        BlockEntry* entry);

}  // namespace cairn::lsm
