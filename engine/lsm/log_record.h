// RocksDB's layout of its logs, the write-ahead ones and the manifest: blocks with records that do
// not cross them. A record has a masked CRC of all that follows its length, the length of its
// content (2 bytes, little-endian), and a type; in files that are used again the number of the log
// comes behind that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn::lsm {

inline constexpr size_t kLogBlockBytes = 32 << 10;
inline constexpr size_t kRecordHeadBytes = 7;
inline constexpr size_t kRecordLengthAt = 4;
inline constexpr size_t kRecordTypeAt = 6;

// Those of reused files, and those that are about the log, have other numbers.
enum RecordType : uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

bool IsOfReusedFile(uint8_t type);

// The checksum that `stored` stands for.
uint32_t Unmasked(uint32_t stored);

// The head of a record, as far as the bytes go.
struct LogRecord {
  uint8_t type = kZero;
  size_t length = 0;
  size_t bytes = 0;  // With its head.
  bool whole = false;
};

// The record at the front of `bytes`, the rest of a block, which has at least a head.
LogRecord ReadRecord(std::string_view bytes);

}  // namespace cairn::lsm
