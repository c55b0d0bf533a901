#include "engine/txn/lock_list.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/dictionary_record.h"

namespace cairn {
namespace {

// Persisted. With keys alone, and with both ends of ranges.
constexpr uint16_t kKeys = 1;
constexpr uint16_t kRanges = 2;

void AppendText(std::string_view text, std::string* value) {
  AppendBigEndian(static_cast<uint32_t>(text.size()), value);
  value->append(text);
}

bool ReadText(ByteReader* reader, std::string_view* text) {
  uint32_t bytes = 0;
  return reader->ReadBigEndian(&bytes) && reader->ReadBytes(bytes, text);
}

}  // namespace

std::string LockListKey() { return DictionaryPrefix(DictionaryRecordType::kPreparedLocks); }

std::string EncodeLockList(const LockList& locks) {
  const bool only_keys = std::all_of(locks.begin(), locks.end(),
                                     [](const auto& lock) { return IsOneKey(lock.first); });
  std::string value;
  AppendBigEndian(only_keys ? kKeys : kRanges, &value);
  for (const auto& [range, mode] : locks) {
    AppendBigEndian(range.family, &value);
    AppendBigEndian(static_cast<uint8_t>(mode), &value);
    AppendText(range.first, &value);
    if (!only_keys) AppendText(range.end, &value);
  }
  return value;
}

Result<LockList> DecodeLockList(std::string_view value) {
  const Status damaged(StatusCode::kCorruption,
                       "the locks of a prepared transaction do not decode: " + ToHex(value));
  ByteReader reader(value);
  uint16_t version = 0;
  if (!reader.ReadBigEndian(&version) || (version != kKeys && version != kRanges)) return damaged;
  LockList locks;
  while (reader.remaining() != 0) {
    uint32_t family = 0;
    uint8_t mode = 0;
    std::string_view first;
    std::string_view end;
    if (!reader.ReadBigEndian(&family) || !reader.ReadBigEndian(&mode) || mode > 1 ||
        !ReadText(&reader, &first) ||
        (version == kRanges && (!ReadText(&reader, &end) || end <= first))) {
      return damaged;
    }
    KeySpan range = version == kKeys ? RangeOfKey(family, first)
                                     : KeySpan{family, std::string(first), std::string(end)};
    locks.emplace(std::move(range), static_cast<LockMode>(mode));
  }
  return locks;
}

}  // namespace cairn
