#include "engine/sort/key_sort.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

constexpr size_t kPrefixBytes = sizeof(uint64_t);

// Shorter stretches are compared as a whole, and so is what so many prefixes do not tell apart.
constexpr size_t kFewEntries = 64;
constexpr int kMostPrefixes = 8;

// With how many bytes all keys begin.
size_t CommonBytes(std::span<const SortEntry> entries) {
  const std::string_view first = entries.front().key();
  size_t common = first.size();
  for (const SortEntry& entry : entries) {
    const std::string_view key = entry.key();
    common = std::min(common, key.size());
    if (std::memcmp(first.data(), key.data(), common) == 0) continue;
    const auto differs = std::mismatch(first.begin(), first.begin() + common, key.begin());
    common = static_cast<size_t>(differs.first - first.begin());
  }
  return common;
}

uint64_t PrefixAt(std::string_view key, size_t offset) {
  if (key.size() >= offset + kPrefixBytes) return LoadBigEndian<uint64_t>(key.data() + offset);
  char bytes[kPrefixBytes] = {};
  std::memcpy(bytes, key.data() + offset, key.size() - offset);
  return LoadBigEndian<uint64_t>(bytes);
}

// One stable pass over each byte that is not the same everywhere, the last byte first.
void SortByPrefix(std::span<SortEntry> entries, std::span<SortEntry> room) {
  std::array<std::array<size_t, 256>, kPrefixBytes> counts = {};
  for (const SortEntry& entry : entries) {
    for (size_t byte = 0; byte < kPrefixBytes; ++byte) {
      ++counts[byte][entry.prefix >> (8 * byte) & 0xff];
    }
  }
  std::span<SortEntry> from = entries;
  std::span<SortEntry> to = room;
  for (size_t byte = 0; byte < kPrefixBytes; ++byte) {
    std::array<size_t, 256>& places = counts[byte];
    if (places[from.front().prefix >> (8 * byte) & 0xff] == from.size()) continue;
    size_t next = 0;
    for (size_t& place : places) next += std::exchange(place, next);
    for (const SortEntry& entry : from) to[places[entry.prefix >> (8 * byte) & 0xff]++] = entry;
    std::swap(from, to);
  }
  if (from.data() != entries.data()) std::copy(from.begin(), from.end(), entries.begin());
}

// `room` is as large as `entries`.
void SortStretch(std::span<SortEntry> entries, std::span<SortEntry> room, lsm::KeyOrder order,
                 int depth) {
  if (entries.size() < kFewEntries || depth == kMostPrefixes) {
    std::sort(entries.begin(), entries.end(), [order](const SortEntry& a, const SortEntry& b) {
      return lsm::CompareKeys(a.key(), b.key(), order) < 0;
    });
    return;
  }
  const size_t common = CommonBytes(entries);
  const uint64_t flip = order == lsm::KeyOrder::kDescending ? UINT64_MAX : 0;
  for (SortEntry& entry : entries) entry.prefix = PrefixAt(entry.key(), common) ^ flip;
  SortByPrefix(entries, room);
  // Keys with equal prefixes lie side by side now.
  for (size_t begin = 0, end; begin < entries.size(); begin = end) {
    const uint64_t prefix = entries[begin].prefix;
    for (end = begin + 1; end < entries.size() && entries[end].prefix == prefix;) ++end;
    if (end - begin == 1) continue;
    SortStretch(entries.subspan(begin, end - begin), room.subspan(begin, end - begin), order,
                depth + 1);
  }
}

}  // namespace

void SortByKey(std::vector<SortEntry>* entries, lsm::KeyOrder order) {
  std::vector<SortEntry> room(entries->size());
  SortStretch(*entries, room, order, /*depth=*/0);
}

}  // namespace cairn
