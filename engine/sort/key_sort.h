// Sorts entries that lie in memory by eight bytes of their keys at a time, so that few keys are
// compared as a whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/lsm/key_order.h"

namespace cairn {

// An entry that lies elsewhere: the lengths of key and value, the key, the value.
class SortEntry {
 public:
  static constexpr size_t kHeaderBytes = sizeof(uint32_t) + sizeof(uint64_t);
  // How many bytes it takes there.
  static size_t Bytes(std::string_view key, std::string_view value) {
    return kHeaderBytes + key.size() + value.size();
  }
  // Copies it to `to`, which has room for Bytes() and outlives the result. The key has less than
  // 4 GiB.
  static SortEntry Store(std::string_view key, std::string_view value, char* to) {
    const auto key_bytes = static_cast<uint32_t>(key.size());
    const uint64_t value_bytes = value.size();
    std::memcpy(to, &key_bytes, sizeof key_bytes);
    std::memcpy(to + sizeof key_bytes, &value_bytes, sizeof value_bytes);
    std::copy_n(key.data(), key.size(), to + kHeaderBytes);
    std::copy_n(value.data(), value.size(), to + kHeaderBytes + key.size());
    SortEntry entry;
    entry.bytes_ = to;
    return entry;
  }

  std::string_view key() const { return {bytes_ + kHeaderBytes, key_bytes()}; }
  std::string_view value() const {
    uint64_t value_bytes;
    std::memcpy(&value_bytes, bytes_ + sizeof(uint32_t), sizeof value_bytes);
    return {bytes_ + kHeaderBytes + key_bytes(), value_bytes};
  }

  // Some bytes of the key as a number that compares as they do, while entries are sorted.
  uint64_t prefix = 0;

 private:
  uint32_t key_bytes() const {
    uint32_t key_bytes;
    std::memcpy(&key_bytes, bytes_, sizeof key_bytes);
    return key_bytes;
  }

  const char* bytes_ = nullptr;
};

// By their keys; entries with equal keys in any order. Takes as much memory again as `entries` do
// meanwhile.
void SortByKey(std::vector<SortEntry>* entries, lsm::KeyOrder order);

}  // namespace cairn
