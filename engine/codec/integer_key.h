// Order-preserving encoding of integers inside index keys, and of everything whose key is its
// record image reversed: DATE, ENUM, SET, old TIME(0), TIMESTAMP(0) and DATETIME(0).
//
// The layout is persisted: big-endian, for signed numbers with the top bit flipped
// (docs/stock-format.md, 3.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/bytes.h"

namespace cairn {

// Copies `bytes` bytes in reverse order: a little-endian image becomes a big-endian key or back.
inline void ReverseBytes(const uint8_t* from, size_t bytes, uint8_t* to) {
  switch (bytes) {
    case 1:
      to[0] = from[0];
      return;
    case 2: {
      uint16_t image;
      std::memcpy(&image, from, sizeof image);
      StoreBigEndian(to, image);
      return;
    }
    case 4: {
      uint32_t image;
      std::memcpy(&image, from, sizeof image);
      StoreBigEndian(to, image);
      return;
    }
    case 8: {
      uint64_t image;
      std::memcpy(&image, from, sizeof image);
      StoreBigEndian(to, image);
      return;
    }
    default:
      for (size_t i = 0; i < bytes; ++i) to[i] = from[bytes - 1 - i];
  }
}

// A key of an unsigned number from its little-endian record image.
inline void EncodeUnsignedKey(const uint8_t* image, size_t bytes, uint8_t* key) {
  ReverseBytes(image, bytes, key);
}
inline void DecodeUnsignedKey(const uint8_t* key, size_t bytes, uint8_t* image) {
  ReverseBytes(key, bytes, image);
}

// A key of a signed number (two's complement) from its little-endian record image.
inline void EncodeSignedKey(const uint8_t* image, size_t bytes, uint8_t* key) {
  ReverseBytes(image, bytes, key);
  key[0] ^= 0x80;
}
inline void DecodeSignedKey(const uint8_t* key, size_t bytes, uint8_t* image) {
  ReverseBytes(key, bytes, image);
  image[bytes - 1] ^= 0x80;
}

}  // namespace cairn
