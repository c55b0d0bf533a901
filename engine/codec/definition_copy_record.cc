#include "engine/codec/definition_copy_record.h"

#include <utility>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "engine/codec/dictionary_record.h"

namespace cairn {
namespace {

// Everything here is persisted.
constexpr uint16_t kDefinitionVersion = 1;  // Of both records.

// A copy is large, so the message has only its size.
Status CorruptDefinition(std::string_view what, size_t bytes) {
  return Status(StatusCode::kCorruption, "a copy of a definition " + std::string(what) + ": " +
                                             std::to_string(bytes) + " bytes");
}

std::string DefinitionKey(DictionaryRecordType type, std::string_view table) {
  return DictionaryPrefix(type).append(table);
}

void AppendDefinitionText(std::string_view text, std::string* value) {
  AppendBigEndian(static_cast<uint32_t>(text.size()), value);
  value->append(text);
}

bool ReadDefinitionText(ByteReader* from, std::string* text) {
  uint32_t size;
  std::string_view bytes;
  if (!from->ReadBigEndian(&size) || !from->ReadBytes(size, &bytes)) return false;
  text->assign(bytes);
  return true;
}

void AppendServerVersion(std::string_view version, std::string* value) {
  AppendBigEndian(static_cast<uint8_t>(version.size()), value);
  value->append(version);
}

bool ReadServerVersion(ByteReader* from, std::string* version) {
  uint8_t size;
  std::string_view bytes;
  if (!from->ReadBigEndian(&size) || !from->ReadBytes(size, &bytes)) return false;
  version->assign(bytes);
  return true;
}

// What lies between the record's version and its checksum.
Result<std::string_view> DefinitionBody(std::string_view value) {
  constexpr size_t kVersionBytes = sizeof kDefinitionVersion;
  constexpr size_t kChecksumBytes = sizeof(uint32_t);
  if (value.size() < kVersionBytes) return CorruptDefinition("has no version", value.size());
  const auto version = LoadBigEndian<uint16_t>(value.data());
  if (version != kDefinitionVersion) {
    return Status(StatusCode::kNotSupported,
                  "a copy of a definition of version " + std::to_string(version) + "; known: 1");
  }
  if (value.size() < kVersionBytes + kChecksumBytes) {
    return CorruptDefinition("has a wrong length", value.size());
  }
  const std::string_view checked = value.substr(0, value.size() - kChecksumBytes);
  if (LoadBigEndian<uint32_t>(value.data() + checked.size()) != Crc32c(checked)) {
    return CorruptDefinition("does not have its checksum", value.size());
  }
  return checked.substr(kVersionBytes);
}

}  // namespace

std::string DefinitionMarkKey(std::string_view table) {
  return DefinitionKey(DictionaryRecordType::kDefinitionMark, table);
}

std::string DefinitionCopyKey(std::string_view table) {
  return DefinitionKey(DictionaryRecordType::kDefinitionCopy, table);
}

Result<std::string> DecodeDefinitionMarkKey(std::string_view key) {
  const std::string prefix = DictionaryPrefix(DictionaryRecordType::kDefinitionMark);
  if (!key.starts_with(prefix) || key.size() == prefix.size()) {
    return Status(StatusCode::kCorruption, "a copy of a definition has a wrong key: " + ToHex(key));
  }
  return std::string(key.substr(prefix.size()));
}

std::string EncodeDefinitionMark(const DefinitionMark& mark) {
  std::string value;
  AppendBigEndian(kDefinitionVersion, &value);
  AppendServerVersion(mark.version, &value);
  AppendBigEndian(mark.entries, &value);
  AppendBigEndian(Crc32c(value), &value);
  return value;
}

std::string EncodeDefinitionCopy(const DefinitionCopy& copy) {
  std::string value;
  AppendBigEndian(kDefinitionVersion, &value);
  AppendServerVersion(copy.version, &value);
  AppendDefinitionText(copy.definition, &value);
  AppendDefinitionText(copy.partitions, &value);
  AppendBigEndian(Crc32c(value), &value);
  return value;
}

Result<DefinitionMark> DecodeDefinitionMark(std::string_view value) {
  CAIRN_ASSIGN_OR_RETURN(const std::string_view body, DefinitionBody(value));
  DefinitionMark mark;
  ByteReader reader(body);
  if (ReadServerVersion(&reader, &mark.version) && reader.ReadBigEndian(&mark.entries) &&
      reader.remaining() == 0) {
    return mark;
  }
  return CorruptDefinition("has a wrong length", value.size());
}

Result<DefinitionCopy> DecodeDefinitionCopy(std::string_view value) {
  CAIRN_ASSIGN_OR_RETURN(const std::string_view body, DefinitionBody(value));
  DefinitionCopy copy;
  ByteReader reader(body);
  if (ReadServerVersion(&reader, &copy.version) && ReadDefinitionText(&reader, &copy.definition) &&
      ReadDefinitionText(&reader, &copy.partitions) && reader.remaining() == 0 &&
      !copy.definition.empty()) {
    return copy;
  }
  return CorruptDefinition("has a wrong length", value.size());
}

}  // namespace cairn
