// Variable segments: how VARBINARY values and multi-level weight strings of any length lie inside
// keys.
//
// The bytes are cut into chunks of 8, zero-padded, each followed by a marker byte. The layout is
// persisted in two forms (docs/stock-format.md, 3.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/bytes.h"
#include "engine/codec/damage.h"

namespace cairn {

inline constexpr size_t kVariablePayloadBytes = 8;  // Persisted.
inline constexpr size_t kVariableSegmentBytes = kVariablePayloadBytes + 1;

enum class SegmentFormat : uint8_t {
  kCurrent,  // Marker 9: more follows; 0..8: data bytes of the last chunk. kv format 12 and later.
  kLegacy,   // Marker 255: more follows, always; 255 - padding bytes of the last chunk.
};

// The most bytes that the segments of a value of at most `value_bytes` bytes take.
constexpr size_t MaxVariableSegmentBytes(size_t value_bytes, SegmentFormat format) {
  const size_t full_chunks = value_bytes / kVariablePayloadBytes;
  const bool needs_last = format == SegmentFormat::kLegacy || full_chunks == 0 ||
                          value_bytes % kVariablePayloadBytes != 0;
  return (full_chunks + (needs_last ? 1 : 0)) * kVariableSegmentBytes;
}

// Writes the segments of `value` and returns the end of what was written.
uint8_t* WriteVariableSegments(std::string_view value, SegmentFormat format, uint8_t* to);

// Takes the segments of one value off `*key`.
Damage SkipVariableSegments(ByteReader* key, SegmentFormat format);

// The same, and stores the value at `to`, `*value_bytes` bytes, at most `capacity`.
Damage ReadVariableSegments(ByteReader* key, SegmentFormat format, uint8_t* to, size_t capacity,
                            size_t* value_bytes);

}  // namespace cairn
