// The length in front of the data of VARCHAR and BLOB images: 1 to 4 bytes, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cairn {

inline uint32_t LoadImageLength(const void* from, size_t length_bytes) {
  uint32_t length = 0;
  switch (length_bytes) {
    case 1:
      std::memcpy(&length, from, 1);
      break;
    case 2:
      std::memcpy(&length, from, 2);
      break;
    case 3:
      std::memcpy(&length, from, 3);
      break;
    default:
      std::memcpy(&length, from, 4);
  }
  return length;
}

inline void StoreImageLength(uint32_t length, size_t length_bytes, void* to) {
  switch (length_bytes) {
    case 1:
      std::memcpy(to, &length, 1);
      break;
    case 2:
      std::memcpy(to, &length, 2);
      break;
    case 3:
      std::memcpy(to, &length, 3);
      break;
    default:
      std::memcpy(to, &length, 4);
  }
}

}  // namespace cairn
