// Space-padded segments: how the weights of a VARCHAR lie inside keys, so that keys compare
// bytewise as PAD SPACE collations compare values (docs/stock-format.md, 3.7).
//
// A segment is a payload of 8 or 9 weight bytes, filled up with the weight of a space, and a marker
// that says whether more follows and how what follows compares with spaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/bytes.h"
#include "engine/codec/damage.h"

namespace cairn {

inline constexpr size_t kPaddedPayloadBytes = 8;      // Persisted.
inline constexpr size_t kLongPaddedPayloadBytes = 9;  // Persisted: collations of 3-byte weights.

struct PaddedSegmentFormat {
  uint8_t payload_bytes = kPaddedPayloadBytes;
  uint8_t space_bytes = 1;            // 1 to 3
  uint8_t space[4] = {' ', 0, 0, 0};  // The weight of a space.

  size_t segment_bytes() const { return payload_bytes + size_t{1}; }
};

// The most bytes that the segments of at most `weight_bytes` bytes of weights take.
constexpr size_t MaxPaddedSegmentBytes(size_t weight_bytes, size_t payload_bytes) {
  const size_t segments = (weight_bytes + payload_bytes - 1) / payload_bytes;
  return (segments == 0 ? 1 : segments) * (payload_bytes + 1);
}

// Writes the segments of `weights`, returns the end of what was written and sets `*padding_bytes`
// to the fill in the last segment.
uint8_t* WritePaddedSegments(std::string_view weights, const PaddedSegmentFormat& format,
                             uint8_t* to, size_t* padding_bytes);

struct PaddedSegment {
  std::string_view payload;
  bool last = false;
};

// Takes one segment off `*key`.
Damage ReadPaddedSegment(ByteReader* key, size_t payload_bytes, PaddedSegment* segment);

// Takes all segments of one value off `*key`.
Damage SkipPaddedSegments(ByteReader* key, size_t payload_bytes);

}  // namespace cairn
