// kv format versions: how the keys and values of an index are written (docs/stock-format.md, 10;
// docs/on-disk-format.md for those of Cairn).
#pragma once

#include <cstdint>
#include <string>

#include "engine/codec/variable_segments.h"

namespace cairn {

inline constexpr uint16_t kOldestFormatVersion = 10;
// Persisted: given to every new index that the stock plug-in is to be able to read.
inline constexpr uint16_t kStockFormatVersion = 13;
// Persisted: given to indexes that the stock format cannot express. The stock plug-in refuses it.
inline constexpr uint16_t kCairnFormatVersion = 0x4301;
inline constexpr uint16_t kFirstVersionOfNewSegments = 12;

constexpr bool IsKnownFormatVersion(uint16_t version) {
  return (version >= kOldestFormatVersion && version <= kStockFormatVersion) ||
         version == kCairnFormatVersion;
}

constexpr SegmentFormat SegmentFormatOf(uint16_t version) {
  return version < kFirstVersionOfNewSegments ? SegmentFormat::kLegacy : SegmentFormat::kCurrent;
}

inline std::string UnknownFormatVersion(uint16_t version) {
  return "kv format version " + std::to_string(version) + " is not known; known are " +
         std::to_string(kOldestFormatVersion) + " to " + std::to_string(kStockFormatVersion) +
         " and " + std::to_string(kCairnFormatVersion);
}

}  // namespace cairn
