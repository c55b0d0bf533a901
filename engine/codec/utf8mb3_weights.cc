#include "engine/codec/utf8mb3_weights.h"

#include "engine/base/bytes.h"

namespace cairn {

Damage AppendUtf8mb3(std::string_view weights, uint8_t* to, size_t capacity, size_t* text_bytes) {
  size_t size = *text_bytes;
  for (size_t i = 0; i + kUtf8mb3WeightBytes <= weights.size(); i += kUtf8mb3WeightBytes) {
    const unsigned code_point = LoadBigEndian<uint16_t>(weights.data() + i);
    const size_t bytes = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : 3;
    if (bytes > capacity - size) return Damage::kTooLongColumn;
    if (bytes == 1) {
      to[size] = static_cast<uint8_t>(code_point);
    } else if (bytes == 2) {
      to[size] = static_cast<uint8_t>(0xc0 | code_point >> 6);
      to[size + 1] = static_cast<uint8_t>(0x80 | (code_point & 0x3f));
    } else {
      to[size] = static_cast<uint8_t>(0xe0 | code_point >> 12);
      to[size + 1] = static_cast<uint8_t>(0x80 | (code_point >> 6 & 0x3f));
      to[size + 2] = static_cast<uint8_t>(0x80 | (code_point & 0x3f));
    }
    size += bytes;
  }
  *text_bytes = size;
  return Damage::kNone;
}

}  // namespace cairn
