// Order-preserving encoding of FLOAT and DOUBLE inside index keys.
//
// The layout is persisted: big-endian; a negative number has all bits complemented; a positive one
// has its top bit set and its exponent increased by one; both zeros are the top bit alone
// (docs/stock-format.md, 3.3).
#pragma once

#include <cstdint>

namespace cairn {

// `image` and `key` have 4 bytes for FLOAT and 8 for DOUBLE; images are IEEE, little-endian.
// Decoding gives back the number that was encoded, except that -0.0 becomes +0.0.
void EncodeFloatKey(const uint8_t* image, uint8_t* key);
void DecodeFloatKey(const uint8_t* key, uint8_t* image);
void EncodeDoubleKey(const uint8_t* image, uint8_t* key);
void DecodeDoubleKey(const uint8_t* key, uint8_t* image);

}  // namespace cairn
