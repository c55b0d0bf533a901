// How RocksDB lays out the bytes of a block, for those that read them as they lie: the restarts at
// its end, and what an entry begins with.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "engine/lsm/block_search.h"

namespace cairn::lsm {

// The number at the end of a block is that of its restarts; of the bits above it, this one does not
// change the layout.
inline constexpr uint32_t kUniformKeys = 1u << 29;
inline constexpr uint32_t kMostRestarts = (1u << 28) - 1;

template <typename Number>
Number LoadNumber(const char* from) {
  static_assert(std::endian::native == std::endian::little);
  Number number;
  std::memcpy(&number, from, sizeof(number));
  return number;
}

struct BlockView {
  const char* begin;
  const char* restarts;  // Which end the entries.
  uint32_t restart_count;

  const char* Restart(int64_t i) const { return begin + LoadNumber<uint32_t>(restarts + 4 * i); }
};

// False: it is no block, or is laid out in another way.
inline bool OpenBlock(std::string_view block, BlockView* view) {
  constexpr size_t kFooter = sizeof(uint32_t);
  if (block.size() < kFooter) return false;
  const char* const footer = block.data() + block.size() - kFooter;
  const uint32_t restart_count = LoadNumber<uint32_t>(footer) & ~kUniformKeys;
  if (restart_count == 0 || restart_count > kMostRestarts ||
      restart_count > (block.size() - kFooter) / sizeof(uint32_t)) {
    return false;
  }
  *view = {block.data(), footer - size_t{restart_count} * sizeof(uint32_t), restart_count};
  // Newer formats (8) may keep what all keys begin with before the first entry, whose key lacks it.
  return LoadNumber<uint32_t>(view->restarts) == 0;
}

template <typename Number>
const char* ReadVarint(const char* at, const char* end, Number* number) {
  Number read = 0;
  for (unsigned shift = 0; shift < 8 * sizeof(Number) && at < end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    read |= static_cast<Number>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *number = read;
      return at;
    }
  }
  return nullptr;
}

// What an entry begins with; behind it lie the rest of the key and the value.
struct EntryHead {
  uint32_t shared;  // With the key before.
  uint32_t rest;
  uint32_t value_bytes;  // 0 in indexes whose values tell by themselves where they end.
  const char* key_rest;

  const char* value() const { return key_rest + rest; }
};

// Of numbers of any size; behind damage, none.
[[gnu::noinline]] inline EntryHead ReadLongHead(const char* at, const char* end,
                                                bool values_have_sizes) {
  EntryHead head = {};
  at = ReadVarint(at, end, &head.shared);
  if (at != nullptr) at = ReadVarint(at, end, &head.rest);
  if (at != nullptr && values_have_sizes) at = ReadVarint(at, end, &head.value_bytes);
  head.key_rest = at;
  return head;
}

// Of an entry that begins before `end`. False when it does not end there, the value included. Two
// words more lie behind `end`: restarts and their number.
template <bool values_have_sizes>
inline bool ReadHead(const char* at, const char* end, EntryHead* head) {
  constexpr uint32_t kMore = 0x80;  // Another byte follows.
  const uint32_t shared = static_cast<unsigned char>(at[0]);
  const uint32_t rest = static_cast<unsigned char>(at[1]);
  const uint32_t value = values_have_sizes ? static_cast<unsigned char>(at[2]) : 0;
  const uint32_t value_more = values_have_sizes ? static_cast<unsigned char>(at[3]) : 0;
  if ((shared | rest | value) < kMore) {
    *head = {shared, rest, value, at + (values_have_sizes ? 3 : 2)};
  } else if ((shared | rest | value_more) < kMore) {
    *head = {shared, rest, (value & (kMore - 1)) | value_more << 7, at + 4};
  } else {
    *head = ReadLongHead(at, end, values_have_sizes);
    if (head->key_rest == nullptr) return false;
  }
  return end - head->key_rest >= static_cast<int64_t>(uint64_t{head->rest} + head->value_bytes);
}

inline constexpr size_t kWordBytes = sizeof(uint64_t);

// As CompareKeys().
inline int CompareWithKey(const char* user_key, size_t bytes, const BlockKey& key) {
  if (bytes >= kWordBytes && key.user_key.size() >= kWordBytes) {
    const uint64_t first_bytes = __builtin_bswap64(LoadNumber<uint64_t>(user_key));
    if (first_bytes != key.first_bytes) {
      return InOrder(first_bytes < key.first_bytes ? -1 : 1, key.order);
    }
  }
  return CompareKeys({user_key, bytes}, key.user_key, key.order);
}

// The last restart that lies before the version that is looked for, -1: none does. False: damage.
template <bool keys_have_versions, bool values_have_sizes>
bool FindRestart(const BlockView& view, const uint64_t* file_sequence, const BlockKey& key,
                 int64_t* found) {
  constexpr size_t kFooter = keys_have_versions ? kVersionBytes : 0;
  int64_t before = -1;
  int64_t last = static_cast<int64_t>(view.restart_count) - 1;
  while (before < last) {
    const int64_t middle = before + (last - before + 1) / 2;
    const char* const at = view.Restart(middle);
    EntryHead head;
    if (at >= view.restarts || !ReadHead<values_have_sizes>(at, view.restarts, &head) ||
        head.shared != 0 || head.rest < kFooter) {
      return false;
    }
    int order = CompareWithKey(head.key_rest, head.rest - kFooter, key);
    if (keys_have_versions && order == 0) {
      const uint64_t sequence = file_sequence != nullptr
                                    ? *file_sequence
                                    : LoadNumber<uint64_t>(head.value() - kVersionBytes) >> 8;
      order = sequence > key.sequence ? -1 : 0;
    }
    if (order < 0) {
      before = middle;
    } else {
      last = middle - 1;
    }
  }
  *found = before;
  return true;
}

}  // namespace cairn::lsm
