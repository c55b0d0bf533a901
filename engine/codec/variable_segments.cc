#include "engine/codec/variable_segments.h"

#include <cstring>

namespace cairn {
namespace {

constexpr uint8_t kMoreFollows = kVariablePayloadBytes + 1;  // Persisted.
constexpr uint8_t kLegacyMoreFollows = 0xff;                 // Persisted.

struct Segment {
  const char* payload = nullptr;
  size_t data_bytes = 0;
  bool last = false;
};

Damage ReadSegment(ByteReader* key, SegmentFormat format, Segment* segment) {
  std::string_view bytes;
  if (!key->ReadBytes(kVariableSegmentBytes, &bytes)) return Damage::kShortKey;
  const uint8_t marker = static_cast<uint8_t>(bytes[kVariablePayloadBytes]);
  segment->payload = bytes.data();
  if (format == SegmentFormat::kCurrent) {
    if (marker > kMoreFollows) return Damage::kBadSegmentMarker;
    segment->last = marker != kMoreFollows;
    segment->data_bytes = segment->last ? marker : kVariablePayloadBytes;
    return Damage::kNone;
  }
  const size_t padding = kLegacyMoreFollows - marker;
  if (padding > kVariablePayloadBytes) return Damage::kBadSegmentMarker;
  segment->last = padding != 0;
  segment->data_bytes = kVariablePayloadBytes - padding;
  return Damage::kNone;
}

}  // namespace

uint8_t* WriteVariableSegments(std::string_view value, SegmentFormat format, uint8_t* to) {
  const bool legacy = format == SegmentFormat::kLegacy;
  const char* from = value.data();
  size_t remaining = value.size();
  // A legacy full chunk never ends a value; a current one does when nothing follows.
  while (remaining > kVariablePayloadBytes || (legacy && remaining == kVariablePayloadBytes)) {
    std::memcpy(to, from, kVariablePayloadBytes);
    to[kVariablePayloadBytes] = legacy ? kLegacyMoreFollows : kMoreFollows;
    to += kVariableSegmentBytes;
    from += kVariablePayloadBytes;
    remaining -= kVariablePayloadBytes;
  }
  std::memset(to, 0, kVariablePayloadBytes);
  if (remaining != 0) std::memcpy(to, from, remaining);
  const size_t padding = kVariablePayloadBytes - remaining;
  to[kVariablePayloadBytes] =
      static_cast<uint8_t>(legacy ? kLegacyMoreFollows - padding : remaining);
  return to + kVariableSegmentBytes;
}

Damage SkipVariableSegments(ByteReader* key, SegmentFormat format) {
  Segment segment;
  do {
    CAIRN_RETURN_IF_DAMAGED(ReadSegment(key, format, &segment));
  } while (!segment.last);
  return Damage::kNone;
}

Damage ReadVariableSegments(ByteReader* key, SegmentFormat format, uint8_t* to, size_t capacity,
                            size_t* value_bytes) {
  size_t size = 0;
  Segment segment;
  do {
    CAIRN_RETURN_IF_DAMAGED(ReadSegment(key, format, &segment));
    if (segment.data_bytes > capacity - size) return Damage::kTooLongColumn;
    std::memcpy(to + size, segment.payload, segment.data_bytes);
    size += segment.data_bytes;
  } while (!segment.last);
  *value_bytes = size;
  return Damage::kNone;
}

}  // namespace cairn
