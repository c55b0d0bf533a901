#include "engine/codec/foreign_key_record.h"

#include <utility>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "engine/codec/dictionary_record.h"

namespace cairn {
namespace {

// Everything here is persisted.
constexpr uint16_t kForeignKeyVersion = 1;
constexpr uint8_t kGeneratedName = 1;

Status CorruptForeignKey(std::string_view what, std::string_view value) {
  std::string text = "a foreign key ";
  text.append(what).append(": ").append(ToHex(value));
  return Status(StatusCode::kCorruption, std::move(text));
}

void AppendForeignKeyText(std::string_view text, std::string* value) {
  AppendBigEndian(static_cast<uint16_t>(text.size()), value);
  value->append(text);
}

bool ReadForeignKeyText(ByteReader* from, std::string* text) {
  uint16_t size;
  std::string_view bytes;
  if (!from->ReadBigEndian(&size) || !from->ReadBytes(size, &bytes)) return false;
  text->assign(bytes);
  return true;
}

// The numbers in front, before they are looked at.
struct RawForeignKey {
  uint8_t state = 0;
  uint8_t on_delete = 0;
  uint8_t on_update = 0;
  uint8_t flags = 0;
};

bool ReadForeignKey(ByteReader* from, RawForeignKey* raw, ForeignKeyRecord* record) {
  uint16_t columns;
  if (!from->ReadBigEndian(&raw->state) || !from->ReadBigEndian(&raw->on_delete) ||
      !from->ReadBigEndian(&raw->on_update) || !from->ReadBigEndian(&raw->flags) ||
      !from->ReadBigEndian(&record->other) || !ReadForeignKeyText(from, &record->name) ||
      !ReadForeignKeyText(from, &record->child) || !ReadForeignKeyText(from, &record->parent) ||
      !from->ReadBigEndian(&columns)) {
    return false;
  }
  for (size_t i = 0; i < columns; ++i) {
    ForeignKeyRecord::ColumnPair& pair = record->columns.emplace_back();
    if (!ReadForeignKeyText(from, &pair.child) || !ReadForeignKeyText(from, &pair.parent))
      return false;
  }
  return from->remaining() == 0;
}

bool IsTableName(std::string_view name) {
  const size_t dot = name.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() &&
         name.find('\0') == std::string_view::npos;
}

// What is wrong with the columns; null: nothing.
const char* CheckColumns(const ForeignKeyRecord& record) {
  if (record.is_constraint() == record.columns.empty()) return "has a wrong number of columns";
  if (record.columns.size() > kMostForeignKeyColumns) return "has a wrong number of columns";
  for (const ForeignKeyRecord::ColumnPair& pair : record.columns) {
    if (pair.child.empty() || pair.parent.empty()) return "has a column without a name";
  }
  return nullptr;
}

// What is wrong with a record of which nothing is missing; null: nothing.
const char* Interpret(const RawForeignKey& raw, ForeignKeyRecord* record) {
  if (raw.state > static_cast<uint8_t>(ForeignKeyState::kPutAside)) return "has an unknown state";
  for (const uint8_t action : {raw.on_delete, raw.on_update}) {
    if (action > static_cast<uint8_t>(ForeignKeyAction::kSetNull)) return "has an unknown action";
  }
  if ((raw.flags & ~kGeneratedName) != 0) return "has unknown flags";
  record->state = static_cast<ForeignKeyState>(raw.state);
  record->on_delete = static_cast<ForeignKeyAction>(raw.on_delete);
  record->on_update = static_cast<ForeignKeyAction>(raw.on_update);
  record->name_is_generated = (raw.flags & kGeneratedName) != 0;
  const bool drops = record->state == ForeignKeyState::kToDrop;
  if ((record->other != 0) != drops) return "names another one where it should not, or none";
  if (!IsTableName(record->child)) return "has no child";
  if (drops ? !record->parent.empty() : !IsTableName(record->parent)) return "has a wrong parent";
  if (record->is_constraint() == record->name.empty())
    return "has no name, or one that it cannot have";
  return CheckColumns(*record);
}

// Version, checksum and lengths.
Status CheckAndRead(std::string_view value, RawForeignKey* raw, ForeignKeyRecord* record) {
  constexpr size_t kVersionBytes = sizeof kForeignKeyVersion;
  constexpr size_t kChecksumBytes = sizeof(uint32_t);
  if (value.size() < kVersionBytes) return CorruptForeignKey("has no version", value);
  const auto version = LoadBigEndian<uint16_t>(value.data());
  if (version != kForeignKeyVersion) {
    return Status(StatusCode::kNotSupported,
                  "a foreign key of version " + std::to_string(version) + "; known: 1");
  }
  if (value.size() < kVersionBytes + kChecksumBytes) {
    return CorruptForeignKey("has a wrong length", value);
  }
  const std::string_view body = value.substr(0, value.size() - kChecksumBytes);
  if (LoadBigEndian<uint32_t>(value.data() + body.size()) != Crc32c(body)) {
    return CorruptForeignKey("does not have its checksum", value);
  }
  ByteReader reader(body.substr(kVersionBytes));
  if (ReadForeignKey(&reader, raw, record)) return Status();
  return CorruptForeignKey("has a wrong length", value);
}

}  // namespace

std::string ForeignKeyKey(uint32_t number) {
  std::string key = DictionaryPrefix(DictionaryRecordType::kForeignKey);
  AppendBigEndian(number, &key);
  return key;
}

Result<uint32_t> DecodeForeignKeyKey(std::string_view key) {
  ByteReader reader(key);
  uint32_t type;
  uint32_t number;
  if (!reader.ReadBigEndian(&type) || !reader.ReadBigEndian(&number) || reader.remaining() != 0 ||
      type != static_cast<uint32_t>(DictionaryRecordType::kForeignKey)) {
    return CorruptForeignKey("has a wrong key", key);
  }
  return number;
}

std::string EncodeForeignKey(const ForeignKeyRecord& record) {
  std::string value;
  AppendBigEndian(kForeignKeyVersion, &value);
  AppendBigEndian(static_cast<uint8_t>(record.state), &value);
  AppendBigEndian(static_cast<uint8_t>(record.on_delete), &value);
  AppendBigEndian(static_cast<uint8_t>(record.on_update), &value);
  AppendBigEndian(record.name_is_generated ? kGeneratedName : uint8_t{0}, &value);
  AppendBigEndian(record.other, &value);
  AppendForeignKeyText(record.name, &value);
  AppendForeignKeyText(record.child, &value);
  AppendForeignKeyText(record.parent, &value);
  AppendBigEndian(static_cast<uint16_t>(record.columns.size()), &value);
  for (const ForeignKeyRecord::ColumnPair& pair : record.columns) {
    AppendForeignKeyText(pair.child, &value);
    AppendForeignKeyText(pair.parent, &value);
  }
  AppendBigEndian(Crc32c(value), &value);
  return value;
}

Result<ForeignKeyRecord> DecodeForeignKey(std::string_view value) {
  RawForeignKey raw;
  ForeignKeyRecord record;
  CAIRN_RETURN_IF_ERROR(CheckAndRead(value, &raw, &record));
  if (const char* const wrong = Interpret(raw, &record)) return CorruptForeignKey(wrong, value);
  return record;
}

Result<ForeignKeyTables> TablesOfDamagedForeignKey(std::string_view value) {
  RawForeignKey raw;
  ForeignKeyRecord record;
  CAIRN_RETURN_IF_ERROR(CheckAndRead(value, &raw, &record));
  if (!IsTableName(record.child)) return CorruptForeignKey("has no child", value);
  return ForeignKeyTables{std::move(record.child), std::move(record.parent)};
}

}  // namespace cairn
