// The indexes whose tables were made or opened since the start: who can tell the parts of their keys, and
// their names, which the dictionary does not hold.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "engine/codec/index_codec.h"

namespace cairn {

// Thread-safe. Mutex: mutex_ guards codecs_, held for moments.
class KnownIndexes {
 public:
  void Add(uint32_t index_number, std::shared_ptr<const IndexCodec> codec) {
    std::unique_lock lock(mutex_);
    codecs_[index_number] = std::move(codec);
  }
  void Remove(uint32_t index_number) {
    std::unique_lock lock(mutex_);
    codecs_.erase(index_number);
  }
  // Null when the table was not opened yet.
  std::shared_ptr<const IndexCodec> Find(uint32_t index_number) const {
    std::shared_lock lock(mutex_);
    const auto found = codecs_.find(index_number);
    return found == codecs_.end() ? nullptr : found->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<const IndexCodec>> codecs_;
};

}  // namespace cairn
