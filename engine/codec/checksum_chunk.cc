#include "engine/codec/checksum_chunk.h"

#include <zlib.h>

#include <cstdint>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

constexpr char kChecksumTag = 0x01;  // Persisted.

uint32_t Crc32(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

void AppendChecksumChunk(std::string_view key, std::string* value) {
  const uint32_t value_crc = Crc32(*value);
  value->push_back(kChecksumTag);
  AppendBigEndian(Crc32(key), value);
  AppendBigEndian(value_crc, value);
}

bool IsChecksumChunk(std::string_view leftover) {
  return leftover.size() == kChecksumChunkBytes && leftover[0] == kChecksumTag;
}

ChecksumFinding CompareChecksums(std::string_view chunk, std::string_view key,
                                 std::string_view value_before) {
  if (LoadBigEndian<uint32_t>(chunk.data() + 1) != Crc32(key)) return ChecksumFinding::kKeyDiffers;
  if (LoadBigEndian<uint32_t>(chunk.data() + 5) != Crc32(value_before)) {
    return ChecksumFinding::kValueDiffers;
  }
  return ChecksumFinding::kMatch;
}

}  // namespace cairn
