#include "engine/codec/layout_history_record.h"

#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"

namespace cairn {
namespace {

// Everything here is persisted.
constexpr uint16_t kHistoryVersion = 1;
constexpr size_t kVersionBytes = sizeof(uint16_t);
constexpr size_t kChecksumBytes = sizeof(uint32_t);
constexpr uint8_t kNullable = 1;
constexpr uint8_t kTrimmed = 2;
constexpr uint8_t kInKey = 4;
constexpr uint8_t kKnownFlags = 7;
constexpr auto kLastType = ColumnType::kBlob;

Status CorruptHistory(std::string_view what, std::string_view value) {
  std::string text = "a history of row layouts ";
  text.append(what).append(": ").append(ToHex(value));
  return Status(StatusCode::kCorruption, std::move(text));
}

void AppendColumn(uint32_t number, const PhysicalColumn& column, std::string* value) {
  const ColumnShape& shape = column.shape;
  AppendBigEndian(number, value);
  AppendBigEndian(static_cast<uint8_t>(column.place), value);
  AppendBigEndian(column.added_in, value);
  AppendBigEndian(column.dropped_in, value);
  AppendBigEndian(column.predecessor, value);
  AppendBigEndian(static_cast<uint8_t>(shape.type), value);
  AppendBigEndian(shape.length_bytes, value);
  AppendBigEndian(shape.image_bytes, value);
  AppendBigEndian(shape.max_bytes, value);
  const int flags = (shape.is_nullable ? kNullable : 0) | (shape.is_trimmed ? kTrimmed : 0) |
                    (shape.is_in_key ? kInKey : 0);
  AppendBigEndian(static_cast<uint8_t>(flags), value);
  AppendBigEndian(shape.collation, value);
  AppendBigEndian(static_cast<uint8_t>(column.absent.kind), value);
  AppendBigEndian(static_cast<uint16_t>(column.absent.bytes.size()), value);
  value->append(column.absent.bytes);
}

// The numbers of one column before they are looked at.
struct RawColumn {
  uint32_t number = 0;
  uint8_t place = 0;
  uint8_t type = 0;
  uint8_t flags = 0;
  uint8_t absent_kind = 0;
};

bool ReadRaw(ByteReader* from, RawColumn* raw, PhysicalColumn* column) {
  ColumnShape& shape = column->shape;
  uint16_t absent_bytes;
  std::string_view absent;
  if (!from->ReadBigEndian(&raw->number) || !from->ReadBigEndian(&raw->place) ||
      !from->ReadBigEndian(&column->added_in) || !from->ReadBigEndian(&column->dropped_in) ||
      !from->ReadBigEndian(&column->predecessor) || !from->ReadBigEndian(&raw->type) ||
      !from->ReadBigEndian(&shape.length_bytes) || !from->ReadBigEndian(&shape.image_bytes) ||
      !from->ReadBigEndian(&shape.max_bytes) || !from->ReadBigEndian(&raw->flags) ||
      !from->ReadBigEndian(&shape.collation) || !from->ReadBigEndian(&raw->absent_kind) ||
      !from->ReadBigEndian(&absent_bytes) || !from->ReadBytes(absent_bytes, &absent)) {
    return false;
  }
  column->absent.bytes = absent;
  return true;
}

// What is wrong with a column of which nothing is missing; null: nothing.
const char* Interpret(const RawColumn& raw, size_t position, PhysicalColumn* column) {
  if (raw.number != position + 1) return "does not number its columns from 1 on";
  if (raw.place > static_cast<uint8_t>(PhysicalColumn::Place::kExtension)) {
    return "has a column in an unknown place";
  }
  if (raw.type > static_cast<uint8_t>(kLastType)) return "has a column of an unknown type";
  if ((raw.flags & ~kKnownFlags) != 0) return "has a column with unknown flags";
  if (raw.absent_kind > static_cast<uint8_t>(AbsentImage::Kind::kBytes)) {
    return "has an unknown kind of absent image";
  }
  column->place = static_cast<PhysicalColumn::Place>(raw.place);
  column->shape.type = static_cast<ColumnType>(raw.type);
  column->shape.is_nullable = (raw.flags & kNullable) != 0;
  column->shape.is_trimmed = (raw.flags & kTrimmed) != 0;
  column->shape.is_in_key = (raw.flags & kInKey) != 0;
  column->absent.kind = static_cast<AbsentImage::Kind>(raw.absent_kind);
  if (column->absent.kind != AbsentImage::Kind::kBytes && !column->absent.bytes.empty()) {
    return "has bytes of an absent image that has none";
  }
  return nullptr;
}

Status ReadColumns(std::string_view value, ByteReader* from, std::vector<PhysicalColumn>* columns) {
  uint16_t count;
  if (!from->ReadBigEndian(&count)) return CorruptHistory("has a wrong length", value);
  for (size_t i = 0; i < count; ++i) {
    RawColumn raw;
    PhysicalColumn column;
    if (!ReadRaw(from, &raw, &column)) return CorruptHistory("has a wrong length", value);
    if (const char* const wrong = Interpret(raw, i, &column)) return CorruptHistory(wrong, value);
    columns->push_back(std::move(column));
  }
  return Status();
}

Status ReadLogical(std::string_view value, ByteReader* from, std::vector<uint32_t>* logical) {
  uint16_t count;
  if (!from->ReadBigEndian(&count)) return CorruptHistory("has a wrong length", value);
  for (size_t i = 0; i < count; ++i) {
    uint32_t number;
    if (!from->ReadBigEndian(&number)) return CorruptHistory("has a wrong length", value);
    logical->push_back(number);
  }
  return from->remaining() == 0 ? Status() : CorruptHistory("has a wrong length", value);
}

}  // namespace

std::string EncodeLayoutHistory(const LayoutHistory& history) {
  std::string value;
  AppendBigEndian(kHistoryVersion, &value);
  AppendBigEndian(history.version(), &value);
  AppendBigEndian(static_cast<uint16_t>(history.columns().size()), &value);
  for (size_t i = 0; i < history.columns().size(); ++i) {
    AppendColumn(static_cast<uint32_t>(i + 1), history.columns()[i], &value);
  }
  AppendBigEndian(static_cast<uint16_t>(history.logical().size()), &value);
  for (const uint32_t number : history.logical()) AppendBigEndian(number, &value);
  AppendBigEndian(Crc32c(value), &value);
  return value;
}

Result<LayoutHistory> DecodeLayoutHistory(std::string_view value) {
  if (value.size() < kVersionBytes) return CorruptHistory("has no version", value);
  const auto record_version = LoadBigEndian<uint16_t>(value.data());
  if (record_version != kHistoryVersion) {
    return Status(StatusCode::kNotSupported, "a history of row layouts of version " +
                                                 std::to_string(record_version) + "; known: 1");
  }
  if (value.size() < kVersionBytes + kChecksumBytes)
    return CorruptHistory("has a wrong length", value);
  const std::string_view body = value.substr(0, value.size() - kChecksumBytes);
  if (LoadBigEndian<uint32_t>(value.data() + body.size()) != Crc32c(body)) {
    return CorruptHistory("does not have its checksum", value);
  }
  ByteReader reader(body.substr(kVersionBytes));
  uint16_t version;
  if (!reader.ReadBigEndian(&version)) return CorruptHistory("has a wrong length", value);
  std::vector<PhysicalColumn> columns;
  std::vector<uint32_t> logical;
  CAIRN_RETURN_IF_ERROR(ReadColumns(value, &reader, &columns));
  CAIRN_RETURN_IF_ERROR(ReadLogical(value, &reader, &logical));
  Result<LayoutHistory> history =
      LayoutHistory::Make(version, std::move(columns), std::move(logical));
  if (history.ok()) return history;
  return CorruptHistory("makes no sense: " + std::string(history.status().message()), value);
}

}  // namespace cairn
