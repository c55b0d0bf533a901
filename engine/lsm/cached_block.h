// An entry of the block cache, held for as long as this lives, and what looking for them counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/lsm/ticker.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/slice.h"

namespace cairn::lsm {

class CachedBlock {
 public:
  CachedBlock() = default;  // Of nothing.
  // Takes over the handle, which is one of the cache's.
  CachedBlock(rocksdb::Cache* cache, rocksdb::Cache::Handle* handle)
      : cache_(cache), handle_(handle) {}
  CachedBlock(const CachedBlock&) = delete;
  CachedBlock& operator=(const CachedBlock&) = delete;
  CachedBlock& operator=(CachedBlock&& other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CachedBlock() {
    if (handle_ != nullptr) cache_->Release(handle_);
  }

  bool empty() const { return handle_ == nullptr; }
  // What is in the cache; not of nothing.
  template <typename Block>
  const Block* As() const {
    return static_cast<const Block*>(cache_->Value(handle_));
  }
  // That the cache has it down for.
  size_t charged_bytes() const { return cache_->GetUsage(handle_); }

  // Lets go of it, as one that was looked up for nothing.
  void Forgo() {
    if (handle_ != nullptr) cache_->Release(handle_, /*useful=*/false, /*erase_if_last_ref=*/false);
    handle_ = nullptr;
  }

  // Makes `*value` of bytes of the block, which it holds as well from now on.
  void PinInto(std::string_view bytes, rocksdb::PinnableSlice* value) const {
    cache_->Ref(handle_);
    value->PinSlice(rocksdb::Slice(bytes.data(), bytes.size()), &ReleaseHandle, cache_, handle_);
  }
  // Likewise, in the place of this, which is left with nothing.
  void MoveInto(std::string_view bytes, rocksdb::PinnableSlice* value) {
    value->PinSlice(rocksdb::Slice(bytes.data(), bytes.size()), &ReleaseHandle, cache_, handle_);
    handle_ = nullptr;
  }

 private:
  static void ReleaseHandle(void* cache, void* handle) {
    static_cast<rocksdb::Cache*>(cache)->Release(static_cast<rocksdb::Cache::Handle*>(handle));
  }

  rocksdb::Cache* cache_ = nullptr;
  rocksdb::Cache::Handle* handle_ = nullptr;
};

// Blocks that were found in the cache, as RocksDB counts them.
struct CacheHits {
  uint64_t index = 0;
  uint64_t filter = 0;
  uint64_t data = 0;
  uint64_t bytes = 0;

  void Publish(Ticker* ticker) const {
    ticker->Add(rocksdb::BLOCK_CACHE_HIT, index + filter + data);
    ticker->Add(rocksdb::BLOCK_CACHE_INDEX_HIT, index);
    ticker->Add(rocksdb::BLOCK_CACHE_FILTER_HIT, filter);
    ticker->Add(rocksdb::BLOCK_CACHE_DATA_HIT, data);
    ticker->Add(rocksdb::BLOCK_CACHE_BYTES_READ, bytes);
  }
};

// The block of that key, which `held` keeps then. Null: it is not in the cache. `hits` is what of
// `all` counts such blocks.
template <typename Block>
const Block* FindCached(rocksdb::Cache* cache, const rocksdb::Slice& key, CachedBlock* held,
                        CacheHits* all, uint64_t CacheHits::*hits) {
  rocksdb::Cache::Handle* const handle = cache->Lookup(key);
  if (handle == nullptr) return nullptr;
  *held = CachedBlock(cache, handle);
  ++(all->*hits);
  all->bytes += held->charged_bytes();
  return held->As<Block>();
}

}  // namespace cairn::lsm
