// utf8mb3_bin: text from its weights, which are 16-bit code points, big-endian
// (docs/stock-format.md, 4.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/codec/damage.h"

namespace cairn {

inline constexpr size_t kUtf8mb3WeightBytes = 2;  // Persisted.

// Appends the UTF-8 text of `weights` (a multiple of 2 bytes) at `to + *text_bytes`, which grows to
// at most `capacity`. Errors: kTooLongColumn.
Damage AppendUtf8mb3(std::string_view weights, uint8_t* to, size_t capacity, size_t* text_bytes);

}  // namespace cairn
