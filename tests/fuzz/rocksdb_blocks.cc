#include "tests/fuzz/rocksdb_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/lsm/comparator.h"
#include "engine/lsm/rocksdb_internals.h"

namespace cairn::testing {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::Slice;

const rocksdb::Comparator* ComparatorOf(lsm::KeyOrder order) {
  return order == lsm::KeyOrder::kAscending ? lsm::ForwardComparator() : lsm::ReverseComparator();
}

}  // namespace

std::string BuildDataBlock(const BlockEntries& entries, const DataBlockLayout& layout) {
  rocksdb::BlockBuilder builder(
      layout.restart_interval, layout.shares_prefixes, /*use_value_delta_encoding=*/false,
      layout.has_hash_index ? BlockBasedTableOptions::kDataBlockBinaryAndHash
                            : BlockBasedTableOptions::kDataBlockBinarySearch,
      /*data_block_hash_table_util_ratio=*/0.75, /*ts_sz=*/0,
      /*persist_user_defined_timestamps=*/true, /*is_user_key=*/false, layout.separates_values);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  return builder.Finish().ToString();
}

std::string BuildIndexBlock(const std::vector<IndexPlace>& places, const IndexBlockLayout& layout) {
  rocksdb::BlockBuilder builder(
      layout.restart_interval, /*use_delta_encoding=*/true,
      /*use_value_delta_encoding=*/!layout.values_have_sizes,
      BlockBasedTableOptions::kDataBlockBinarySearch, /*data_block_hash_table_util_ratio=*/0.75,
      /*ts_sz=*/0, /*persist_user_defined_timestamps=*/true,
      /*is_user_key=*/!layout.keys_have_versions, /*use_separated_kv_storage=*/false,
      /*statistics=*/nullptr, layout.marks_uniform_keys ? 1e9 : -1.0);
  rocksdb::BlockHandle before;
  for (const IndexPlace& place : places) {
    const rocksdb::IndexValue value(rocksdb::BlockHandle(place.offset, place.bytes), Slice());
    std::string whole;
    std::string difference;
    value.EncodeTo(&whole, /*have_first_key=*/false, nullptr);
    const bool is_first = &place == &places.front();
    if (!is_first && !layout.values_have_sizes) {
      value.EncodeTo(&difference, /*have_first_key=*/false, &before);
    }
    const Slice delta = difference;
    builder.Add(place.key, whole, &delta);
    before = value.handle;
  }
  return builder.Finish().ToString();
}

struct ReadDataBlock::Iterator {
  Iterator(std::string_view bytes, const rocksdb::Comparator* comparator,
           const uint64_t* file_sequence)
      : block(rocksdb::BlockContents(bytes)),
        entry(block.NewDataIterator(comparator, file_sequence == nullptr
                                                    ? rocksdb::kDisableGlobalSequenceNumber
                                                    : *file_sequence)) {}

  rocksdb::Block block;
  const std::unique_ptr<rocksdb::DataBlockIter> entry;
};

ReadDataBlock::ReadDataBlock(std::string_view bytes, lsm::KeyOrder order,
                             const uint64_t* file_sequence)
    : iterator_(std::make_unique<Iterator>(bytes, ComparatorOf(order), file_sequence)) {
  rocksdb::DataBlockIter& entry = *iterator_->entry;
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    entries_.emplace_back(entry.key().ToString(), entry.value().ToString());
  }
  EXPECT_TRUE(entry.status().ok()) << entry.status().ToString();
}

ReadDataBlock::~ReadDataBlock() = default;

size_t ReadDataBlock::Seek(std::string_view key_with_footer) {
  rocksdb::DataBlockIter& entry = *iterator_->entry;
  entry.Seek(key_with_footer);
  EXPECT_TRUE(entry.status().ok()) << entry.status().ToString();
  if (!entry.Valid()) return entries_.size();
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& candidate) {
    return entry.key() == candidate.first;
  });
  EXPECT_NE(found, entries_.end());
  return static_cast<size_t>(found - entries_.begin());
}

std::unique_ptr<IndexPlace> SeekInIndex(std::string_view bytes, lsm::KeyOrder order,
                                        const IndexBlockLayout& layout,
                                        std::string_view key_with_footer) {
  rocksdb::Block block{rocksdb::BlockContents(bytes)};
  const std::unique_ptr<rocksdb::IndexBlockIter> entry(block.NewIndexIterator(
      ComparatorOf(order), rocksdb::kDisableGlobalSequenceNumber, /*iter=*/nullptr,
      /*stats=*/nullptr, /*total_order_seek=*/true, /*have_first_key=*/false,
      layout.keys_have_versions, layout.values_have_sizes));
  entry->Seek(key_with_footer);
  EXPECT_TRUE(entry->status().ok()) << entry->status().ToString();
  if (!entry->Valid()) return nullptr;
  const rocksdb::BlockHandle handle = entry->value().handle;
  return std::make_unique<IndexPlace>(
      IndexPlace{entry->key().ToString(), handle.offset(), handle.size()});
}

}  // namespace cairn::testing
