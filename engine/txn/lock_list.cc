#include "engine/txn/lock_list.h"

#include "engine/base/bytes.h"
#include "engine/codec/dictionary_record.h"

namespace cairn {
namespace {

constexpr uint16_t kVersion = 1;  // Persisted.

}  // namespace

std::string LockListKey() { return DictionaryPrefix(DictionaryRecordType::kPreparedLocks); }

std::string EncodeLockList(const LockList& locks) {
  std::string value;
  AppendBigEndian(kVersion, &value);
  for (const auto& [where, mode] : locks) {
    const auto& [family, key] = where;
    AppendBigEndian(family, &value);
    AppendBigEndian(static_cast<uint8_t>(mode), &value);
    AppendBigEndian(static_cast<uint32_t>(key.size()), &value);
    value.append(key);
  }
  return value;
}

Result<LockList> DecodeLockList(std::string_view value) {
  const Status damaged(StatusCode::kCorruption,
                       "the locks of a prepared transaction do not decode: " + ToHex(value));
  ByteReader reader(value);
  uint16_t version = 0;
  if (!reader.ReadBigEndian(&version) || version != kVersion) return damaged;
  LockList locks;
  while (reader.remaining() != 0) {
    uint32_t family = 0;
    uint8_t mode = 0;
    uint32_t key_bytes = 0;
    std::string_view key;
    if (!reader.ReadBigEndian(&family) || !reader.ReadBigEndian(&mode) || mode > 1 ||
        !reader.ReadBigEndian(&key_bytes) || !reader.ReadBytes(key_bytes, &key)) {
      return damaged;
    }
    locks.emplace(std::pair(family, std::string(key)), static_cast<LockMode>(mode));
  }
  return locks;
}

}  // namespace cairn
