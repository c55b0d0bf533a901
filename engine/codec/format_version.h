// kv format versions: how the keys and values of an index are written (spec/on-disk-format.md, 10).
#pragma once

#include <cstdint>
#include <string>

#include "engine/codec/variable_segments.h"

namespace cairn {

inline constexpr uint16_t kOldestFormatVersion = 10;
inline constexpr uint16_t kLatestFormatVersion = 13;  // Persisted: given to every new index.
inline constexpr uint16_t kFirstVersionOfNewSegments = 12;

constexpr bool IsKnownFormatVersion(uint16_t version) {
  return version >= kOldestFormatVersion && version <= kLatestFormatVersion;
}

constexpr SegmentFormat SegmentFormatOf(uint16_t version) {
  return version < kFirstVersionOfNewSegments ? SegmentFormat::kLegacy : SegmentFormat::kCurrent;
}

inline std::string UnknownFormatVersion(uint16_t version) {
  return "kv format version " + std::to_string(version) + " is not known; known are " +
         std::to_string(kOldestFormatVersion) + " to " + std::to_string(kLatestFormatVersion);
}

}  // namespace cairn
