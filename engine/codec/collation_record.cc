#include "engine/codec/collation_record.h"

#include <algorithm>

#include "engine/base/assert.h"
#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "engine/codec/dictionary_record.h"

namespace cairn {
namespace {

// Everything here is persisted.
constexpr uint16_t kCollationVersion = 1;
constexpr uint8_t kGivesValues = 1;

Status CorruptCollation(std::string_view what, std::string_view value) {
  return Status(StatusCode::kCorruption,
                "the weights of a collation have " + std::string(what) + ": " + ToHex(value));
}

bool ReadGenerations(ByteReader* from, std::vector<CollationRecord::Generation>* generations) {
  uint16_t count;
  if (!from->ReadBigEndian(&count) || count == 0) return false;
  while (count-- > 0) {
    CollationRecord::Generation next;
    uint8_t flags;
    if (!from->ReadBigEndian(&next.first_index_number) || !from->ReadBigEndian(&flags) ||
        flags > kGivesValues || !from->ReadBigEndian(&next.weights)) {
      return false;
    }
    next.gives_values = flags == kGivesValues;
    const bool follows = generations->empty()
                             ? next.first_index_number == 0
                             : next.first_index_number > generations->back().first_index_number;
    if (!follows) return false;
    generations->push_back(next);
  }
  return true;
}

}  // namespace

const CollationRecord::Generation& CollationRecord::GenerationOf(uint32_t index_number) const {
  CAIRN_ASSERT(!generations.empty() && generations.front().first_index_number == 0);
  const auto behind = std::upper_bound(generations.begin(), generations.end(), index_number,
                                       [](uint32_t number, const Generation& generation) {
                                         return number < generation.first_index_number;
                                       });
  return *(behind - 1);
}

std::string CollationKey(uint32_t collation) {
  std::string key = DictionaryPrefix(DictionaryRecordType::kCollation);
  AppendBigEndian(collation, &key);
  return key;
}

std::string EncodeCollationRecord(const CollationRecord& record) {
  std::string value;
  AppendBigEndian(kCollationVersion, &value);
  AppendBigEndian(static_cast<uint8_t>(record.server.size()), &value);
  value.append(record.server);
  AppendBigEndian(record.weights, &value);
  AppendBigEndian(static_cast<uint16_t>(record.generations.size()), &value);
  for (const CollationRecord::Generation& generation : record.generations) {
    AppendBigEndian(generation.first_index_number, &value);
    AppendBigEndian(generation.gives_values ? kGivesValues : uint8_t{0}, &value);
    AppendBigEndian(generation.weights, &value);
  }
  AppendBigEndian(Crc32c(value), &value);
  return value;
}

Result<CollationRecord> DecodeCollationRecord(std::string_view value) {
  uint16_t version;
  if (!ByteReader(value).ReadBigEndian(&version)) return CorruptCollation("no version", value);
  if (version != kCollationVersion) {
    return Status(StatusCode::kNotSupported, "the weights of a collation of version " +
                                                 std::to_string(version) +
                                                 "; known: " + std::to_string(kCollationVersion));
  }
  if (value.size() < sizeof version + sizeof(uint32_t)) {
    return CorruptCollation("a wrong length", value);
  }
  const std::string_view checked = value.substr(0, value.size() - sizeof(uint32_t));
  if (LoadBigEndian<uint32_t>(value.data() + checked.size()) != Crc32c(checked)) {
    return CorruptCollation("a wrong checksum", value);
  }
  CollationRecord record;
  ByteReader reader(checked.substr(sizeof version));
  uint8_t server_bytes;
  std::string_view server;
  if (!reader.ReadBigEndian(&server_bytes) || !reader.ReadBytes(server_bytes, &server) ||
      !reader.ReadBigEndian(&record.weights) || !ReadGenerations(&reader, &record.generations) ||
      reader.remaining() != 0) {
    return CorruptCollation("a wrong length or order", value);
  }
  record.server = server;
  return record;
}

}  // namespace cairn
