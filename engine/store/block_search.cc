#include "engine/store/block_search.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cairn {
namespace {

// The number at the end of a block is that of its restarts; of the bits above it, this one does not change the layout.
constexpr uint32_t kUniformKeys = 1u << 29;
constexpr uint32_t kMostRestarts = (1u << 28) - 1;

template <typename Number>
Number Load(const char* from) {
  static_assert(std::endian::native == std::endian::little);
  Number number;
  std::memcpy(&number, from, sizeof(number));
  return number;
}

size_t FirstDifference(uint64_t bytes) { return static_cast<size_t>(std::countr_zero(bytes)) / 8; }

// How many of the first `size` bytes are the same up to the first that is not.
size_t CommonBytes(const char* a, const char* b, size_t size) {
  constexpr size_t kStep = sizeof(uint64_t);
  if (size < kStep) {
    size_t same = 0;
    while (same < size && a[same] == b[same]) ++same;
    return same;
  }
  for (size_t at = 0; at + kStep < size; at += kStep) {
    const uint64_t differing = Load<uint64_t>(a + at) ^ Load<uint64_t>(b + at);
    if (differing != 0) return at + FirstDifference(differing);
  }
  const size_t last = size - kStep;
  const uint64_t differing = Load<uint64_t>(a + last) ^ Load<uint64_t>(b + last);
  return differing == 0 ? size : last + FirstDifference(differing);
}

int CompareBytes(char a, char b) {
  return static_cast<int>(static_cast<unsigned char>(a)) -
         static_cast<int>(static_cast<unsigned char>(b));
}

struct BlockView {
  const char* begin;
  const char* restarts;  // Which end the entries.
  uint32_t restart_count;

  const char* Restart(int64_t i) const { return begin + Load<uint32_t>(restarts + 4 * i); }
};

bool OpenBlock(std::string_view block, BlockView* view) {
  constexpr size_t kFooter = sizeof(uint32_t);
  if (block.size() < kFooter) return false;
  const char* const footer = block.data() + block.size() - kFooter;
  const uint32_t restart_count = Load<uint32_t>(footer) & ~kUniformKeys;
  if (restart_count == 0 || restart_count > kMostRestarts ||
      restart_count > (block.size() - kFooter) / sizeof(uint32_t)) {
    return false;
  }
  *view = {block.data(), footer - size_t{restart_count} * sizeof(uint32_t), restart_count};
  return true;
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
[[gnu::noinline]] EntryHead ReadLongHead(const char* at, const char* end, bool values_have_sizes) {
  EntryHead head = {};
  at = ReadVarint(at, end, &head.shared);
  if (at != nullptr) at = ReadVarint(at, end, &head.rest);
  if (at != nullptr && values_have_sizes) at = ReadVarint(at, end, &head.value_bytes);
  head.key_rest = at;
  return head;
}

// Of an entry that begins before `end`. False when it does not end there, the value included. Two words more lie behind
// `end`: restarts and their number.
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

constexpr size_t kWordBytes = sizeof(uint64_t);

// As CompareKeys().
inline int CompareWithKey(const char* user_key, size_t bytes, const BlockKey& key) {
  if (bytes >= kWordBytes && key.user_key.size() >= kWordBytes) {
    const uint64_t first_bytes = __builtin_bswap64(Load<uint64_t>(user_key));
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
                                    : Load<uint64_t>(head.value() - kVersionBytes) >> 8;
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

const char* ReadPlace(const char* at, const char* end, BlockPlace* place) {
  at = ReadVarint(at, end, &place->offset);
  return at == nullptr ? nullptr : ReadVarint(at, end, &place->bytes);
}

// An index entry, which has a whole key; where the next one begins. Null: damage, or no such entry.
template <bool values_have_sizes>
const char* ReadIndexEntry(const BlockView& view, int64_t restart, BlockPlace* place) {
  const char* const at = view.Restart(restart);
  EntryHead head;
  if (at >= view.restarts || !ReadHead<values_have_sizes>(at, view.restarts, &head) ||
      head.shared != 0) {
    return nullptr;
  }
  return ReadPlace(head.value(), view.restarts, place);
}

template <bool keys_have_versions, bool values_have_sizes>
BlockSearch FindBlockAs(const BlockView& view, bool has_whole_keys, const BlockKey& key,
                        BlockPlace* place) {
  int64_t before;
  if (!FindRestart<keys_have_versions, values_have_sizes>(view, /*file_sequence=*/nullptr, key,
                                                          &before)) {
    return BlockSearch::kUnknown;
  }
  const bool is_last = before + 1 == static_cast<int64_t>(view.restart_count);
  if (!has_whole_keys) {
    // Entries between the restarts would have been passed over.
    const char* const next =
        before < 0 ? view.begin : ReadIndexEntry<values_have_sizes>(view, before, place);
    if (next != (is_last ? view.restarts : view.Restart(before + 1))) return BlockSearch::kUnknown;
  }
  if (is_last) return BlockSearch::kAbsent;
  return ReadIndexEntry<values_have_sizes>(view, before + 1, place) != nullptr
             ? BlockSearch::kFound
             : BlockSearch::kUnknown;
}

// The key of each entry in turn, as far as it tells on which side of the wanted one it lies.
class KeySteps {
 public:
  explicit KeySteps(std::string_view wanted) : wanted_(wanted) {}

  // Takes in the key of the next entry, footer included. False: damage.
  bool Step(const EntryHead& head) {
    if (head.shared > key_bytes_) return false;
    key_bytes_ = size_t{head.shared} + head.rest;
    if (key_bytes_ < kVersionBytes) return false;
    // A key that shares more than was common has the same byte where the other one differed.
    if (head.shared <= common_) {
      const size_t compared = std::min<size_t>(head.rest, wanted_.size() - head.shared);
      const size_t same = CommonWithWanted(head.key_rest, head.shared, compared);
      common_ = head.shared + same;
      if (same < compared) difference_ = CompareBytes(head.key_rest[same], wanted_[common_]);
    }
    return true;
  }

  // < 0, 0 or > 0, as bytes are ordered.
  int Compare() const {
    const size_t bytes = key_bytes_ - kVersionBytes;
    if (common_ < std::min(bytes, wanted_.size())) return difference_;
    return bytes == wanted_.size() ? 0 : bytes < wanted_.size() ? -1 : 1;
  }

 private:
  // How many of the first `size` bytes are the same as those of the wanted key behind `from`. A word of `bytes` may be
  // read in any case: behind the entries lie their restarts.
  size_t CommonWithWanted(const char* bytes, size_t from, size_t size) const {
    const size_t left = wanted_.size() - from;
    if (size == 0 || wanted_.size() < kWordBytes) {
      return CommonBytes(bytes, wanted_.data() + from, size);
    }
    const char* const end = wanted_.data() + wanted_.size();
    const uint64_t word = left >= kWordBytes
                              ? Load<uint64_t>(end - left)
                              : Load<uint64_t>(end - kWordBytes) >> (8 * (kWordBytes - left));
    const uint64_t differing = word ^ Load<uint64_t>(bytes);
    const size_t same = differing == 0 ? kWordBytes : FirstDifference(differing);
    if (same >= size) return size;
    if (same < kWordBytes) return same;
    return same + CommonBytes(bytes + same, end - left + same, size - same);
  }

  const std::string_view wanted_;
  size_t key_bytes_ = 0;
  size_t common_ =
      0;  // Bytes of the key, its footer included, and the wanted one up to the first difference.
  int difference_ = 0;  // Of the bytes there.
};

}  // namespace

BlockKey::BlockKey(std::string_view user_key, uint64_t sequence, KeyOrder order)
    : user_key(user_key),
      sequence(sequence),
      order(order),
      first_bytes(user_key.size() >= kWordBytes ? __builtin_bswap64(Load<uint64_t>(user_key.data()))
                                                : 0) {}

BlockSearch FindBlock(std::string_view index, const IndexLayout& layout, const BlockKey& key,
                      BlockPlace* place) {
  BlockView view;
  if (!OpenBlock(index, &view)) return BlockSearch::kUnknown;
  const bool whole = layout.has_whole_keys;
  if (layout.keys_have_versions) {
    return layout.values_have_sizes ? FindBlockAs<true, true>(view, whole, key, place)
                                    : FindBlockAs<true, false>(view, whole, key, place);
  }
  return layout.values_have_sizes ? FindBlockAs<false, true>(view, whole, key, place)
                                  : FindBlockAs<false, false>(view, whole, key, place);
}

BlockSearch FindVersion(std::string_view block, const uint64_t* file_sequence, const BlockKey& key,
                        BlockEntry* entry) {
  BlockView view;
  int64_t before;
  if (!OpenBlock(block, &view) ||
      !FindRestart</*keys_have_versions=*/true, /*values_have_sizes=*/true>(view, file_sequence,
                                                                            key, &before)) {
    return BlockSearch::kUnknown;
  }
  KeySteps steps(key.user_key);
  uint64_t footer = 0;
  bool follows_version = false;  // Of the same key, with that footer.
  const char* at = view.Restart(std::max<int64_t>(before, 0));
  while (at < view.restarts) {
    EntryHead head;
    if (!ReadHead</*values_have_sizes=*/true>(at, view.restarts, &head) || !steps.Step(head)) {
      return BlockSearch::kUnknown;
    }
    at = head.value() + head.value_bytes;
    const int order = InOrder(steps.Compare(), key.order);
    if (order > 0) return BlockSearch::kAbsent;
    if (order < 0) continue;
    if (head.rest >= kVersionBytes) {
      footer = Load<uint64_t>(head.value() - kVersionBytes);
    } else {
      // The first bytes of the footer are those of the version before.
      if (!follows_version) return BlockSearch::kUnknown;
      std::memcpy(reinterpret_cast<char*>(&footer) + kVersionBytes - head.rest, head.key_rest,
                  head.rest);
    }
    follows_version = true;
    entry->sequence = file_sequence != nullptr ? *file_sequence : footer >> 8;
    if (entry->sequence > key.sequence) continue;
    entry->type = static_cast<uint8_t>(footer & 0xff);
    entry->value = {head.value(), head.value_bytes};
    return BlockSearch::kFound;
  }
  return BlockSearch::kUnknown;
}

}  // namespace cairn
