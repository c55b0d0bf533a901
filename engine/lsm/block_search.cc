#include "engine/lsm/block_search.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/lsm/block_layout.h"

namespace cairn::lsm {
namespace {

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
    const uint64_t differing = LoadNumber<uint64_t>(a + at) ^ LoadNumber<uint64_t>(b + at);
    if (differing != 0) return at + FirstDifference(differing);
  }
  const size_t last = size - kStep;
  const uint64_t differing = LoadNumber<uint64_t>(a + last) ^ LoadNumber<uint64_t>(b + last);
  return differing == 0 ? size : last + FirstDifference(differing);
}

int CompareBytes(char a, char b) {
  return static_cast<int>(static_cast<unsigned char>(a)) -
         static_cast<int>(static_cast<unsigned char>(b));
}

const char* ReadPlace(const char* at, const char* end, BlockPlace* place) {
  at = ReadVarint(at, end, &place->offset);
  return at == nullptr ? nullptr : ReadVarint(at, end, &place->bytes);
}

// An index entry, which has a whole key; where the next one begins. Null: damage, or no such entry.
template <bool values_have_sizes>
const char* ReadPlaceAt(const BlockView& view, int64_t restart, BlockPlace* place,
                        std::string_view* key = nullptr) {
  const char* const at = view.Restart(restart);
  EntryHead head;
  if (at >= view.restarts || !ReadHead<values_have_sizes>(at, view.restarts, &head) ||
      head.shared != 0) {
    return nullptr;
  }
  if (key != nullptr) *key = {head.key_rest, head.rest};
  place->number = static_cast<uint32_t>(restart);
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
        before < 0 ? view.begin : ReadPlaceAt<values_have_sizes>(view, before, place);
    if (next != (is_last ? view.restarts : view.Restart(before + 1))) return BlockSearch::kUnknown;
  }
  if (is_last) return BlockSearch::kAbsent;
  return ReadPlaceAt<values_have_sizes>(view, before + 1, place) != nullptr ? BlockSearch::kFound
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
  // How many of the first `size` bytes are the same as those of the wanted key behind `from`. A
  // word of `bytes` may be read in any case: behind the entries lie their restarts.
  size_t CommonWithWanted(const char* bytes, size_t from, size_t size) const {
    const size_t left = wanted_.size() - from;
    if (size == 0 || wanted_.size() < kWordBytes) {
      return CommonBytes(bytes, wanted_.data() + from, size);
    }
    const char* const end = wanted_.data() + wanted_.size();
    const uint64_t word = left >= kWordBytes
                              ? LoadNumber<uint64_t>(end - left)
                              : LoadNumber<uint64_t>(end - kWordBytes) >> (8 * (kWordBytes - left));
    const uint64_t differing = word ^ LoadNumber<uint64_t>(bytes);
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
      first_bytes(user_key.size() >= kWordBytes
                      ? __builtin_bswap64(LoadNumber<uint64_t>(user_key.data()))
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

BlockSearch ReadIndexEntry(std::string_view index, const IndexLayout& layout, uint32_t number,
                           IndexEntry* entry) {
  BlockView view;
  if (!layout.has_whole_keys || !OpenBlock(index, &view)) return BlockSearch::kUnknown;
  if (number >= view.restart_count) return BlockSearch::kAbsent;
  std::string_view key;
  const char* const next = layout.values_have_sizes
                               ? ReadPlaceAt<true>(view, number, &entry->place, &key)
                               : ReadPlaceAt<false>(view, number, &entry->place, &key);
  const size_t footer = layout.keys_have_versions ? kVersionBytes : 0;
  if (next == nullptr || key.size() < footer) return BlockSearch::kUnknown;
  entry->user_key = key.substr(0, key.size() - footer);
  return BlockSearch::kFound;
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
      footer = LoadNumber<uint64_t>(head.value() - kVersionBytes);
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

}  // namespace cairn::lsm
