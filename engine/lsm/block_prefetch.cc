#include "engine/lsm/block_prefetch.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "engine/base/cache_line.h"
#include "engine/lsm/point_table.h"
#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {
namespace {

using rocksdb::BlockBasedTable;
using rocksdb::IndexValue;
using rocksdb::Slice;
using IndexIterator = rocksdb::InternalIteratorBase<IndexValue>;

// Where a block begins; the processor follows a longer run of rows by itself: 4 or 16 KiB made
// scans no faster.
constexpr size_t kMostFetchedBytes = 512;

// The entries of a file's index, read one ahead.
class PrefetchingIndexIterator final : public IndexIterator {
 public:
  PrefetchingIndexIterator(const BlockBasedTable& table, const Slice* upper_bound,
                           std::unique_ptr<IndexIterator> entries)
      : table_(table), upper_bound_(upper_bound), entries_(std::move(entries)) {}

  bool Valid() const override { return is_ahead_ || entries_->Valid(); }
  Slice key() const override { return is_ahead_ ? Slice(key_) : entries_->key(); }
  Slice user_key() const override {
    return is_ahead_ ? Slice(key_.data(), user_key_size_) : entries_->user_key();
  }
  IndexValue value() const override { return is_ahead_ ? value_ : entries_->value(); }
  rocksdb::Status status() const override {
    return is_ahead_ ? rocksdb::Status::OK() : entries_->status();
  }

  void SeekToFirst() override {
    is_ahead_ = false;
    entries_->SeekToFirst();
  }
  void SeekToLast() override {
    is_ahead_ = false;
    entries_->SeekToLast();
  }
  void Seek(const Slice& target) override {
    is_ahead_ = false;
    entries_->Seek(target);
  }
  void SeekForPrev(const Slice& target) override {
    is_ahead_ = false;
    entries_->SeekForPrev(target);
  }
  void Next() override;
  void Prev() override;
  bool PrepareValue() override { return is_ahead_ || entries_->PrepareValue(); }

  void SetPinnedItersMgr(rocksdb::PinnedIteratorsManager* manager) override {
    entries_->SetPinnedItersMgr(manager);
  }
  rocksdb::Status GetProperty(std::string name, std::string* property) override {
    return entries_->GetProperty(std::move(name), property);
  }
  void GetReadaheadState(rocksdb::ReadaheadFileInfo* info) override {
    entries_->GetReadaheadState(info);
  }
  void SetReadaheadState(rocksdb::ReadaheadFileInfo* info) override {
    entries_->SetReadaheadState(info);
  }
  void Prepare(const rocksdb::MultiScanArgs* ranges) override { entries_->Prepare(ranges); }

 private:
  void Prefetch();
  void FetchBlock(const rocksdb::BlockHandle& handle) const;

  const BlockBasedTable& table_;
  const Slice* const upper_bound_;  // Of the user keys that are asked for; may be null.
  const std::unique_ptr<IndexIterator> entries_;
  // While entries_ is one ahead: what it has left.
  bool is_ahead_ = false;
  std::string key_;
  std::string first_key_;
  IndexValue value_;
  size_t user_key_size_ = 0;
};

// Who moves on once will do so again, whereas most searches end in the block where they began.
void PrefetchingIndexIterator::Next() {
  if (!is_ahead_) entries_->Next();
  is_ahead_ = false;
  if (entries_->Valid()) Prefetch();
}

void PrefetchingIndexIterator::Prev() {
  if (is_ahead_) {
    is_ahead_ = false;
    if (entries_->Valid()) {
      entries_->Prev();
    } else if (entries_->status().ok()) {
      entries_->SeekToLast();
    }
  }
  if (entries_->Valid()) entries_->Prev();
}

// Keeps the entry where entries_ is and moves on, if the block behind may be wanted.
void PrefetchingIndexIterator::Prefetch() {
  const BlockBasedTable::Rep& table = *table_.get_rep();
  const Slice user_key = entries_->user_key();
  if (upper_bound_ != nullptr &&
      table.internal_comparator.user_comparator()->CompareWithoutTimestamp(
          *upper_bound_, /*a_has_ts=*/false, user_key, /*b_has_ts=*/true) <= 0) {
    return;
  }
  const Slice key = entries_->key();
  key_.assign(key.data(), key.size());
  user_key_size_ = user_key.size();
  value_ = entries_->value();
  if (!value_.first_internal_key.empty()) {
    first_key_.assign(value_.first_internal_key.data(), value_.first_internal_key.size());
    value_.first_internal_key = first_key_;
  }
  is_ahead_ = true;
  entries_->Next();
  if (entries_->Valid()) FetchBlock(entries_->value().handle);
}

void PrefetchingIndexIterator::FetchBlock(const rocksdb::BlockHandle& handle) const {
  const BlockBasedTable::Rep& table = *table_.get_rep();
  rocksdb::Cache& cache = *table.table_options.block_cache;
  const rocksdb::CacheKey key = BlockBasedTable::GetCacheKey(table.base_cache_key, handle);
  rocksdb::Cache::Handle* const entry = cache.Lookup(key.AsSlice());
  if (entry == nullptr) return;
  const auto* const block = static_cast<const rocksdb::Block_kData*>(cache.Value(entry));
  if (block != nullptr) FetchToProcessor({block->data(), block->size()});
  // This was no use: the look-up of the iterator, if it comes, counts.
  cache.Release(entry, /*useful=*/false, /*erase_if_last_ref=*/false);
}

// An LRU cache would take a look-up for a use, and has a mutex for each. In an index of two levels
// the next entry may lie in a block that would have to be read.
bool IsWorthwhile(const BlockBasedTable::Rep& table) {
  const rocksdb::Cache* const cache = table.table_options.block_cache.get();
  return cache != nullptr && std::string_view(cache->Name()).ends_with("HyperClockCache") &&
         table.index_type != rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
}

// RocksDB's hash indexes lose entries: see block_prefetch.h.
bool HashesPrefixes(const BlockBasedTable::Rep& table) {
  return table.index_type == rocksdb::BlockBasedTableOptions::kHashSearch;
}

// In the place of a table's own index reader, which it asks: prefetches where that helps, keeps
// what reads of ours know of the table, and leaves hashes alone.
class PrefetchingIndexReader final : public BlockBasedTable::IndexReader {
 public:
  PrefetchingIndexReader(const BlockBasedTable& table,
                         std::unique_ptr<BlockBasedTable::IndexReader> reader,
                         const PointTable& point_table)
      : table_(table),
        point_table_(point_table),
        looks_ahead_(IsWorthwhile(*table.get_rep())),
        hashes_prefixes_(HashesPrefixes(*table.get_rep())),
        reader_(std::move(reader)) {}

  const PointTable& point_table() const { return point_table_; }

  IndexIterator* NewIterator(const rocksdb::ReadOptions& options, bool disable_prefix_seek,
                             rocksdb::IndexBlockIter* place, rocksdb::GetContext* get_context,
                             rocksdb::BlockCacheLookupContext* lookup) override {
    IndexIterator* const entries = reader_->NewIterator(
        options, disable_prefix_seek || hashes_prefixes_, place, get_context, lookup);
    // Get and MultiGet, which bring the place for the iterator, read one block, compactions a file.
    if (!looks_ahead_ || place != nullptr || lookup == nullptr ||
        lookup->caller != rocksdb::TableReaderCaller::kUserIterator) {
      return entries;
    }
    return new PrefetchingIndexIterator(table_, options.iterate_upper_bound,
                                        std::unique_ptr<IndexIterator>(entries));
  }
  size_t ApproximateMemoryUsage() const override {
    return reader_->ApproximateMemoryUsage() + sizeof(*this);
  }
  rocksdb::Status CacheDependencies(const rocksdb::ReadOptions& options, bool pin,
                                    rocksdb::FilePrefetchBuffer* tail) override {
    return reader_->CacheDependencies(options, pin, tail);
  }
  void EraseFromCacheBeforeDestruction(uint32_t aggressiveness) override {
    reader_->EraseFromCacheBeforeDestruction(aggressiveness);
  }

 private:
  const BlockBasedTable& table_;
  const PointTable point_table_;
  const bool looks_ahead_;
  const bool hashes_prefixes_;
  const std::unique_ptr<BlockBasedTable::IndexReader> reader_;
};

class PrefetchingTableFactory final : public rocksdb::BlockBasedTableFactory {
 public:
  explicit PrefetchingTableFactory(const rocksdb::BlockBasedTableFactory& factory)
      : rocksdb::BlockBasedTableFactory(factory) {}

  using rocksdb::BlockBasedTableFactory::NewTableReader;
  rocksdb::Status NewTableReader(const rocksdb::ReadOptions& options,
                                 const rocksdb::TableReaderOptions& table_options,
                                 std::unique_ptr<rocksdb::RandomAccessFileReader>&& file,
                                 uint64_t file_size, std::unique_ptr<rocksdb::TableReader>* reader,
                                 bool prefetch_index_and_filter_in_cache) const override {
    rocksdb::Status status = rocksdb::BlockBasedTableFactory::NewTableReader(
        options, table_options, std::move(file), file_size, reader,
        prefetch_index_and_filter_in_cache);
    if (status.ok()) {
      auto* const table = static_cast<BlockBasedTable*>(reader->get());
      BlockBasedTable::Rep& rep = *table->get_rep();
      const PointTable point_table(*table);
      if (point_table.is_plain || IsWorthwhile(rep) || HashesPrefixes(rep)) {
        rep.index_reader = std::make_unique<PrefetchingIndexReader>(
            *table, std::move(rep.index_reader), point_table);
      }
    }
    return status;
  }
  rocksdb::TableBuilder* NewTableBuilder(const rocksdb::TableBuilderOptions& options,
                                         rocksdb::WritableFileWriter* file) const override {
    const auto& chosen = *GetOptions<rocksdb::BlockBasedTableOptions>();
    if (chosen.index_type != rocksdb::BlockBasedTableOptions::kHashSearch) {
      return rocksdb::BlockBasedTableFactory::NewTableBuilder(options, file);
    }
    rocksdb::BlockBasedTableOptions without_hashes = chosen;
    without_hashes.index_type = rocksdb::BlockBasedTableOptions::kBinarySearch;
    return rocksdb::BlockBasedTableFactory(without_hashes).NewTableBuilder(options, file);
  }
  std::unique_ptr<rocksdb::TableFactory> Clone() const override {
    return std::make_unique<PrefetchingTableFactory>(*this);
  }
};

}  // namespace

std::shared_ptr<rocksdb::TableFactory> WithBlockPrefetch(
    std::shared_ptr<rocksdb::TableFactory> factory) {
  const auto* const block_based =
      dynamic_cast<const rocksdb::BlockBasedTableFactory*>(factory.get());
  if (block_based == nullptr) return factory;
  return std::make_shared<PrefetchingTableFactory>(*block_based);
}

void FetchToProcessor(std::string_view block) {
  if (block.empty()) return;
  __builtin_prefetch(block.data() + block.size() - 1);
  const size_t fetched = std::min(block.size(), kMostFetchedBytes);
  for (size_t at = 0; at < fetched; at += kCacheLineBytes) __builtin_prefetch(block.data() + at);
}

const PointTable* FindPointTable(const rocksdb::TableReader& table) {
  if (typeid(table) != typeid(BlockBasedTable)) return nullptr;
  const auto* const index =
      static_cast<const BlockBasedTable&>(table).get_rep()->index_reader.get();
  if (typeid(*index) != typeid(PrefetchingIndexReader)) return nullptr;
  const PointTable& found = static_cast<const PrefetchingIndexReader*>(index)->point_table();
  return found.is_plain ? &found : nullptr;
}

}  // namespace cairn::lsm
