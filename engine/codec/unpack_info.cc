#include "engine/codec/unpack_info.h"

#include "engine/base/assert.h"

namespace cairn {
namespace {

constexpr char kUnpackInfoTag = 0x02;        // Persisted.
constexpr uint32_t kNeitherMoreNorLess = 8;  // Persisted: the counter of an exact fit.

void AppendBlock(uint16_t length_field, std::string_view data, std::string* value) {
  value->push_back(kUnpackInfoTag);
  AppendBigEndian(length_field, value);
  value->append(data);
}

}  // namespace

void AppendPrimaryUnpackInfo(std::string_view data, std::string* value) {
  CAIRN_ASSERT(data.size() + kUnpackInfoHeaderBytes <= UINT16_MAX);
  AppendBlock(static_cast<uint16_t>(data.size() + kUnpackInfoHeaderBytes), data, value);
}

void AppendSecondaryUnpackInfo(std::string_view data, std::string* value) {
  if (!data.empty()) AppendBlock(0, data, value);
}

Damage ReadPrimaryUnpackInfo(ByteReader* value, std::string_view* data) {
  const std::string_view bytes = value->rest();
  if (bytes.size() < kUnpackInfoHeaderBytes) return Damage::kShortUnpackInfo;
  if (bytes[0] != kUnpackInfoTag) return Damage::kBadUnpackInfoTag;
  const size_t block_bytes = LoadBigEndian<uint16_t>(bytes.data() + 1);
  if (block_bytes < kUnpackInfoHeaderBytes || !value->Skip(block_bytes)) {
    return Damage::kShortUnpackInfo;
  }
  *data = bytes.substr(kUnpackInfoHeaderBytes, block_bytes - kUnpackInfoHeaderBytes);
  return Damage::kNone;
}

Damage ReadSecondaryUnpackInfoHeader(ByteReader* value, bool* present) {
  *present = value->remaining() != 0 && value->rest()[0] == kUnpackInfoTag;
  if (*present && !value->Skip(kUnpackInfoHeaderBytes)) return Damage::kShortUnpackInfo;
  return Damage::kNone;
}

void AppendSpaceCounter(size_t trimmed_chars, size_t padding_chars, uint8_t counter_bytes,
                        std::string* data) {
  CAIRN_ASSERT(padding_chars <= kNeitherMoreNorLess);
  const size_t counter = kNeitherMoreNorLess + trimmed_chars - padding_chars;
  CAIRN_ASSERT(counter <= (counter_bytes == 1 ? UINT8_MAX : UINT16_MAX));
  if (counter_bytes == 1) {
    data->push_back(static_cast<char>(counter));
  } else {
    AppendBigEndian(static_cast<uint16_t>(counter), data);
  }
}

Damage ReadSpaceCounter(ByteReader* data, uint8_t counter_bytes, SpaceCounter* counter) {
  uint32_t value = 0;
  if (counter_bytes == 1) {
    uint8_t byte;
    if (!data->ReadBigEndian(&byte)) return Damage::kShortUnpackInfo;
    value = byte;
  } else {
    uint16_t bytes;
    if (!data->ReadBigEndian(&bytes)) return Damage::kShortUnpackInfo;
    value = bytes;
  }
  counter->padding_chars = value <= kNeitherMoreNorLess ? kNeitherMoreNorLess - value : 0;
  counter->trimmed_chars = value <= kNeitherMoreNorLess ? 0 : value - kNeitherMoreNorLess;
  return Damage::kNone;
}

}  // namespace cairn
