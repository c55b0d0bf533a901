// The optional chunk at the end of a value: CRC-32 of the key and of the value before the chunk
// (docs/stock-format.md, 9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

inline constexpr size_t kChecksumChunkBytes = 9;  // Persisted.

// Appends the chunk for `key` and for all of `*value`.
void AppendChecksumChunk(std::string_view key, std::string* value);

// Whether `leftover`, the end of a value, is a checksum chunk.
bool IsChecksumChunk(std::string_view leftover);

enum class ChecksumFinding : uint8_t { kNone, kMatch, kKeyDiffers, kValueDiffers };

// Whether the chunk `chunk` fits `key` and the value in front of it; never kNone.
ChecksumFinding CompareChecksums(std::string_view chunk, std::string_view key,
                                 std::string_view value_before);

}  // namespace cairn
