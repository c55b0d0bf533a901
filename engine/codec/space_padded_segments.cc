#include "engine/codec/space_padded_segments.h"

#include <algorithm>
#include <cstring>

namespace cairn {
namespace {

// Persisted. The order of the three is what makes keys compare as PAD SPACE demands.
constexpr uint8_t kLessThanSpaces = 1;
constexpr uint8_t kLast = 2;
constexpr uint8_t kGreaterThanSpaces = 3;

// How `rest` compares with as many bytes of repeated spaces, as a marker.
uint8_t CompareWithSpaces(const uint8_t* rest, size_t bytes, const PaddedSegmentFormat& format) {
  if (format.space_bytes == 1) {
    const uint8_t space = format.space[0];
    for (size_t i = 0; i < bytes; ++i) {
      if (rest[i] != space) return rest[i] < space ? kLessThanSpaces : kGreaterThanSpaces;
    }
    return kLast;
  }
  size_t phase = 0;
  for (size_t i = 0; i < bytes; ++i) {
    const uint8_t space = format.space[phase];
    if (rest[i] != space) return rest[i] < space ? kLessThanSpaces : kGreaterThanSpaces;
    if (++phase == format.space_bytes) phase = 0;
  }
  return kLast;
}

void FillWithSpaces(uint8_t* to, size_t bytes, const PaddedSegmentFormat& format) {
  for (size_t i = 0, phase = 0; i < bytes; ++i) {
    to[i] = format.space[phase];
    if (++phase == format.space_bytes) phase = 0;
  }
}

// The loop with the payload size known to the compiler.
template <size_t payload_bytes>
uint8_t* Write(const uint8_t* from, size_t remaining, const PaddedSegmentFormat& format,
               uint8_t* to, size_t* padding_bytes) {
  *padding_bytes = 0;
  while (remaining >= payload_bytes) {
    std::memcpy(to, from, payload_bytes);
    from += payload_bytes;
    remaining -= payload_bytes;
    const uint8_t marker = CompareWithSpaces(from, remaining, format);
    to[payload_bytes] = marker;
    to += payload_bytes + 1;
    if (marker == kLast) return to;
  }
  if (remaining != 0) std::memcpy(to, from, remaining);
  *padding_bytes = payload_bytes - remaining;
  FillWithSpaces(to + remaining, *padding_bytes, format);
  to[payload_bytes] = kLast;
  return to + payload_bytes + 1;
}

}  // namespace

uint8_t* WritePaddedSegments(std::string_view weights, const PaddedSegmentFormat& format,
                             uint8_t* to, size_t* padding_bytes) {
  const auto* from = reinterpret_cast<const uint8_t*>(weights.data());
  if (format.payload_bytes == kLongPaddedPayloadBytes) {
    return Write<kLongPaddedPayloadBytes>(from, weights.size(), format, to, padding_bytes);
  }
  return Write<kPaddedPayloadBytes>(from, weights.size(), format, to, padding_bytes);
}

Damage ReadPaddedSegment(ByteReader* key, size_t payload_bytes, PaddedSegment* segment) {
  std::string_view bytes;
  if (!key->ReadBytes(payload_bytes + 1, &bytes)) return Damage::kShortKey;
  const uint8_t marker = static_cast<uint8_t>(bytes[payload_bytes]);
  if (marker < kLessThanSpaces || marker > kGreaterThanSpaces) return Damage::kBadSegmentMarker;
  segment->payload = bytes.substr(0, payload_bytes);
  segment->last = marker == kLast;
  return Damage::kNone;
}

Damage SkipPaddedSegments(ByteReader* key, size_t payload_bytes) {
  PaddedSegment segment;
  do {
    CAIRN_RETURN_IF_DAMAGED(ReadPaddedSegment(key, payload_bytes, &segment));
  } while (!segment.last);
  return Damage::kNone;
}

}  // namespace cairn
