// BLOB key parts: the first bytes of the value and its whole length (docs/stock-format.md, 3.8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn {

// Writes the first `indexed_bytes` bytes of `value`, zero-padded, and returns their end.
uint8_t* WriteBlobPrefix(std::string_view value, size_t indexed_bytes, uint8_t* to);

// Writes the length of the value, big-endian in as many bytes as the column's own length has (1 to
// 4), and returns its end.
uint8_t* WriteBlobLength(size_t value_bytes, size_t length_bytes, uint8_t* to);

}  // namespace cairn
