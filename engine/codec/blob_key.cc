#include "engine/codec/blob_key.h"

#include <algorithm>
#include <cstring>

namespace cairn {

uint8_t* WriteBlobPrefix(std::string_view value, size_t indexed_bytes, uint8_t* to) {
  const size_t copied = std::min(value.size(), indexed_bytes);
  if (copied != 0) std::memcpy(to, value.data(), copied);
  std::memset(to + copied, 0, indexed_bytes - copied);
  return to + indexed_bytes;
}

uint8_t* WriteBlobLength(size_t value_bytes, size_t length_bytes, uint8_t* to) {
  for (size_t i = 0; i < length_bytes; ++i) {
    to[i] = static_cast<uint8_t>(value_bytes >> (8 * (length_bytes - 1 - i)));
  }
  return to + length_bytes;
}

}  // namespace cairn
