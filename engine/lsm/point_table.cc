#include "engine/lsm/point_table.h"

#include <string_view>
#include <typeinfo>

#include "engine/lsm/comparator.h"
#include "engine/lsm/private_member.h"
#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {
namespace {

using rocksdb::BlockBasedTable;
using FilterReader = rocksdb::FilterBlockReaderCommon<rocksdb::ParsedFullFilterBlock>;

}  // namespace

// The readers keep to themselves which blocks they hold.
struct IndexBlockTag {
  friend auto MemberOf(IndexBlockTag);
};
template struct PrivateMember<IndexBlockTag, &BlockBasedTable::IndexReaderCommon::index_block_>;

struct FilterBlockTag {
  friend auto MemberOf(FilterBlockTag);
};
template struct PrivateMember<FilterBlockTag, &FilterReader::filter_block_>;

namespace {

// Caches whose look-up by a key alone finds whole blocks or nothing. What lies in a secondary cache
// behind one of them is not found, and RocksDB's own reader then looks there.
bool IsPlainCache(const rocksdb::Cache* cache) {
  if (cache == nullptr) return false;
  const std::string_view name = cache->Name();
  return name.ends_with("HyperClockCache") || name == "LRUCache";
}

// The formats of block-based tables that FindBlock() and FindVersion() were written for.
bool IsKnownFormat(uint32_t version) { return version >= 2 && version <= 7; }
static_assert(rocksdb::kLatestBbtFormatVersion == 7,
              "RocksDB has a newer format of tables: where it leaves the bytes of blocks as they "
              "were, IsKnownFormat() and AllLayouts() of the tests take it; then name it here");

// Whether blocks of the file hold what FindBlock() and FindVersion() know, and nothing else has a
// say.
bool HasPlainBlocks(const BlockBasedTable::Rep& table) {
  return IsKnownFormat(table.footer.format_version()) &&
         OrderOf(*table.internal_comparator.user_comparator()).has_value() &&
         table.index_type == rocksdb::BlockBasedTableOptions::kBinarySearch &&
         !table.index_has_first_key && table.index_block_restart_interval <= 1 &&
         !table.separate_key_value_in_data_block && !table.has_embedded_blobs &&
         table.uncompression_dict_reader == nullptr &&
         table.create_context.protection_bytes_per_key == 0 &&
         table.table_options.read_amp_bytes_per_bit == 0 &&
         table.internal_comparator.user_comparator()->timestamp_size() == 0;
}

}  // namespace

PointTable::PointTable(const BlockBasedTable& table) {
  const BlockBasedTable::Rep& rep = *table.get_rep();
  const auto& index_reader = *rep.index_reader;
  if (!HasPlainBlocks(rep) || !IsPlainCache(rep.table_options.block_cache.get()) ||
      typeid(index_reader) != typeid(rocksdb::BinarySearchIndexReader)) {
    return;
  }
  const bool cached = rep.table_options.cache_index_and_filter_blocks;
  index = (static_cast<const BlockBasedTable::IndexReaderCommon&>(index_reader).*
           MemberOf(IndexBlockTag()))
              .GetValue();
  if (index == nullptr && !cached) return;
  if (rep.filter != nullptr) {
    const auto& filter_reader = *rep.filter;
    if (typeid(filter_reader) != typeid(rocksdb::FullFilterBlockReader) ||
        !rep.whole_key_filtering) {
      return;
    }
    has_filter = true;
    filter =
        (static_cast<const FilterReader&>(filter_reader).*MemberOf(FilterBlockTag())).GetValue();
    if (filter == nullptr && !cached) return;
    filter_key = BlockBasedTable::GetCacheKey(rep.base_cache_key, rep.filter_handle);
  }
  has_file_sequence = rep.global_seqno != rocksdb::kDisableGlobalSequenceNumber;
  sequence = rep.global_seqno;
  index_layout = {.keys_have_versions = rep.index_key_includes_seq,
                  .values_have_sizes = rep.index_value_is_full,
                  // Older files do not say.
                  .has_whole_keys = rep.index_block_restart_interval == 1};
  cache = rep.table_options.block_cache.get();
  cache_base = rep.base_cache_key;
  index_key = BlockBasedTable::GetCacheKey(rep.base_cache_key, rep.index_handle);
  has_range_deletions = rep.fragmented_range_dels != nullptr;
  data_bytes = rep.table_properties->data_size;
  is_plain = true;
}

const rocksdb::Block* PointTable::FindIndex(CachedBlock* held, CacheHits* hits) const {
  if (index != nullptr) return index;
  return FindCached<rocksdb::Block>(cache, index_key.AsSlice(), held, hits, &CacheHits::index);
}

}  // namespace cairn::lsm
