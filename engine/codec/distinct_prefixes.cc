#include "engine/codec/distinct_prefixes.h"

#include <algorithm>
#include <bit>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

size_t CommonPrefixBytes(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  size_t i = 0;
  for (; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
    const uint64_t differ =
        LoadBigEndian<uint64_t>(a.data() + i) ^ LoadBigEndian<uint64_t>(b.data() + i);
    if (differ != 0) return i + static_cast<size_t>(std::countl_zero(differ)) / 8;
  }
  while (i < size && a[i] == b[i]) ++i;
  return i;
}

// The keys of a primary key differ in all their parts together.
size_t SampledParts(const IndexCodec& codec) {
  const size_t own_parts = codec.layout().parts.size();
  return own_parts == codec.key_part_count() && own_parts > 0 ? own_parts - 1 : own_parts;
}

}  // namespace

DistinctPrefixes::DistinctPrefixes(const IndexCodec& codec, Samples samples)
    : codec_(codec),
      part_count_(codec.key_part_count()),
      begun_(part_count_, 0),
      samples_(samples == Samples::kKept ? SampledParts(codec_) : 0),
      hashes_(samples_.size(), 0),
      ends_(part_count_, 0) {}

uint32_t DistinctPrefixes::PartEnd(size_t part) {
  for (; known_ends_ <= part; ++known_ends_) {
    const uint32_t start = known_ends_ == 0 ? kIndexNumberBytes : ends_[known_ends_ - 1];
    ends_[known_ends_] = codec_.PartEnd(last_key_, known_ends_, start);
    if (ends_[known_ends_] == 0) return 0;
  }
  return ends_[part];
}

void DistinctPrefixes::Remember(std::string_view key, size_t same_parts) {
  known_ends_ = std::min(known_ends_, same_parts);
  last_key_.assign(key);
}

bool DistinctPrefixes::SampleFrom(size_t part) {
  for (; part < samples_.size(); ++part) {
    const uint32_t end = PartEnd(part);
    if (end == 0) return false;
    const uint32_t start = part == 0 ? kIndexNumberBytes : ends_[part - 1];
    hashes_[part] = HashValue(part == 0 ? 0 : hashes_[part - 1],
                              std::string_view(last_key_).substr(start, end - start));
    AddToSample(SampledHash(hashes_[part]), &samples_[part]);
  }
  return true;
}

bool DistinctPrefixes::Add(std::string_view key) {
  size_t same_parts = 0;
  if (follows_ == Follows::kLastKey) {
    const size_t common = CommonPrefixBytes(last_key_, key);
    for (; same_parts < part_count_; ++same_parts) {
      const uint32_t end = PartEnd(same_parts);
      if (end == 0) return false;
      if (end > common) break;
    }
    if (same_parts == part_count_) return true;
  }
  if (follows_ != Follows::kSomething) ++begun_[same_parts];
  follows_ = Follows::kLastKey;
  Remember(key, same_parts);
  return SampleFrom(same_parts);
}

void DistinctPrefixes::Pass(std::string_view key) {
  follows_ = Follows::kLastKey;
  Remember(key, 0);
}

std::vector<int64_t> DistinctPrefixes::Counts() const {
  std::vector<int64_t> counts = begun_;
  for (size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
  return counts;
}

}  // namespace cairn
