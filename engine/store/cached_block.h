// An entry of the block cache, held for as long as this lives.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/slice.h"

namespace cairn {

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

  // What is in the cache; not of nothing.
  template <typename Block>
  const Block* As() const {
    return static_cast<const Block*>(cache_->Value(handle_));
  }
  // That the cache has it down for.
  size_t charged_bytes() const { return cache_->GetUsage(handle_); }

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

}  // namespace cairn
