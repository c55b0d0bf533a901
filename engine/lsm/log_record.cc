#include "engine/lsm/log_record.h"

#include <cstring>

#include "engine/base/crc32c.h"

namespace cairn::lsm {
namespace {

constexpr size_t kLogNumberBytes = 4;

}  // namespace

bool IsOfReusedFile(uint8_t type) {
  constexpr uint8_t kReusedFull = 5;
  constexpr uint8_t kReusedLast = 8;
  constexpr uint8_t kReusedTimestampSizes = 11;
  constexpr uint8_t kReusedPredecessor = 131;
  return (type >= kReusedFull && type <= kReusedLast) || type == kReusedTimestampSizes ||
         type == kReusedPredecessor;
}

uint32_t Unmasked(uint32_t stored) {
  const uint32_t rotated = stored - 0xA282EAD8u;
  return (rotated >> 17) | (rotated << 15);
}

LogRecord ReadRecord(std::string_view bytes) {
  LogRecord record;
  uint32_t stored = 0;
  std::memcpy(&stored, bytes.data(), sizeof stored);
  uint16_t length = 0;
  std::memcpy(&length, bytes.data() + kRecordLengthAt, sizeof length);
  record.type = static_cast<uint8_t>(bytes[kRecordTypeAt]);
  record.length = length;
  record.bytes = kRecordHeadBytes + (IsOfReusedFile(record.type) ? kLogNumberBytes : 0) + length;
  record.whole =
      record.type != kZero && record.bytes <= bytes.size() &&
      Crc32c(bytes.substr(kRecordTypeAt, record.bytes - kRecordTypeAt)) == Unmasked(stored);
  return record;
}

}  // namespace cairn::lsm
