#include "engine/base/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace cairn {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // Of Castagnoli, bits reversed.
constexpr size_t kStride = 8;                 // Bytes that are looked up at a time.

using Tables = std::array<std::array<uint32_t, 256>, kStride>;

// Table i gives the CRC of a byte with i zeros behind it.
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = value;
  }
  for (size_t i = 1; i < kStride; ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[i - 1][byte];
      tables[i][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  while (bytes.size() >= kStride) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), sizeof eight);
    eight ^= crc;
    crc = 0;
    for (size_t i = 0; i < kStride; ++i) {
      crc ^= kTables[kStride - 1 - i][(eight >> (8 * i)) & 0xFF];
    }
    bytes.remove_prefix(kStride);
  }
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  }
  return ~crc;
}

}  // namespace cairn
