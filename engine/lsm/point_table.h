// What reads of ours know of a table file: found out once, when its reader is made.
//
// It depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/lsm/block_search.h"
#include "engine/lsm/cached_block.h"
#include "engine/lsm/rocksdb_internals.h"
#include "rocksdb/slice.h"

namespace cairn::lsm {

inline std::string_view BytesOf(const rocksdb::Block& block) {
  return {block.data(), block.size()};
}

// Of a key as files and their descriptions have it.
inline std::string_view UserKeyOf(const rocksdb::Slice& internal_key) {
  return {internal_key.data(), internal_key.size() - kVersionBytes};
}

// Valid for as long as the reader.
struct PointTable {
  explicit PointTable(const rocksdb::BlockBasedTable& table);

  rocksdb::CacheKey DataKey(uint64_t offset) const {
    return cache_base.WithOffsetForMinSizeRecord(offset);
  }
  const uint64_t* file_sequence() const { return has_file_sequence ? &sequence : nullptr; }
  // The reader's own, or the one in the cache, which `held` keeps then. Null: it is in neither.
  const rocksdb::Block* FindIndex(CachedBlock* held, CacheHits* hits) const;

  // Whether what follows is all that a search has to know. If not, the file is RocksDB's to search.
  bool is_plain = false;
  bool has_filter = false;  // Of whole keys, in one block.
  bool has_file_sequence = false;
  IndexLayout index_layout = {};
  rocksdb::Cache* cache = nullptr;
  rocksdb::OffsetableCacheKey cache_base;
  rocksdb::CacheKey index_key;
  rocksdb::CacheKey filter_key;
  // Blocks that the reader holds; null: they are in the cache, or not.
  const rocksdb::Block* index = nullptr;
  const rocksdb::ParsedFullFilterBlock* filter = nullptr;
  uint64_t sequence = 0;    // Of all entries.
  uint64_t data_bytes = 0;  // Of all data blocks, which begin the file.
  bool has_range_deletions = false;
};

}  // namespace cairn::lsm
