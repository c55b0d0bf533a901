// Counts the distinct values that the first parts of an index's keys have, of keys that come in
// order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/codec/index_codec.h"
#include "engine/codec/value_sample.h"

namespace cairn {

// A key begins a new value of its first parts up to i when it differs from the key before it within
// them. Up to which part two keys agree is known from the bytes that they share and the parts of
// the first of them, which is all that is looked at.
class DistinctPrefixes {
 public:
  enum class Samples : uint8_t { kNone, kKept };
  DistinctPrefixes(const IndexCodec& codec, Samples samples);  // Borrows the codec.

  // Counts a key. The keys of the index come one after the other, forward or backward. False when a
  // key's bytes are no key: nothing more can be counted.
  [[nodiscard]] bool Add(std::string_view key);
  // A key that is not counted but comes before the next.
  void Pass(std::string_view key);
  // What comes next does not follow the last key: it is compared with none and begins nothing.
  void Jump() { follows_ = Follows::kSomething; }

  // Element i: distinct values of the first i+1 parts of the stored key.
  std::vector<int64_t> Counts() const;
  // Element i: of the values of the first i+1 parts, for each own part but a last one that has no
  // value twice.
  const std::vector<ValueSample>& samples() const { return samples_; }
  std::vector<ValueSample> TakeSamples() { return std::move(samples_); }

 private:
  enum class Follows : uint8_t { kNothing, kSomething, kLastKey };
  // The end of a part of the last key; 0 when the key is damaged.
  uint32_t PartEnd(size_t part);
  bool SampleFrom(size_t part);
  void Remember(std::string_view key, size_t same_parts);

  const IndexCodec& codec_;
  const size_t part_count_;
  std::vector<int64_t> begun_;  // By the first part in which a key differed from the one before it.
  std::vector<ValueSample> samples_;
  std::vector<uint64_t> hashes_;  // Of the last key's values.
  std::vector<uint32_t> ends_;    // Of the last key's parts, as far as they are known.
  size_t known_ends_ = 0;
  Follows follows_ = Follows::kNothing;
  std::string last_key_;
};

}  // namespace cairn
