#include "engine/codec/dictionary_record.h"

#include <algorithm>

#include "engine/base/bytes.h"
#include "engine/codec/format_version.h"

namespace cairn {
namespace {

// Everything here is persisted.
constexpr uint16_t kRecordVersion = 1;  // Of all records but type 2 and type 20.
constexpr uint16_t kIndexInfoVersion = 6;
constexpr uint16_t kCairnIndexInfoVersion = 0x4301;    // Version 6 and the features behind it.
constexpr uint16_t kGuardedIndexInfoVersion = 0x4302;  // The same of a primary key of stock format.
constexpr uint16_t kIndexInfoWithoutFlags = 5;
constexpr uint16_t kOldestIndexInfo = 3;
constexpr uint32_t kTtlStampFlag = 1;
constexpr uint16_t kFirstFormatWithTtl = 13;
constexpr uint32_t kKnownColumnFamilyFlags =
    kColumnFamilyReverse | kColumnFamilyAuto | kColumnFamilyPerPartition;
constexpr std::string_view kTableVersionName = "MariaDB:table-version:";

Status Corrupt(std::string_view what, std::string_view bytes) {
  std::string text(what);
  text.append(": ").append(ToHex(bytes));
  return Status(StatusCode::kCorruption, std::move(text));
}

Status UnknownVersion(std::string_view what, uint16_t version, std::string_view known) {
  std::string text(what);
  text.append(" of version ").append(std::to_string(version)).append("; known: ").append(known);
  return Status(StatusCode::kNotSupported, std::move(text));
}

std::string Versioned() {
  std::string value;
  AppendBigEndian(kRecordVersion, &value);
  return value;
}

// Takes the version of a record that has only version 1 off `*value`.
Status ReadVersion(std::string_view what, ByteReader* value) {
  const std::string_view bytes = value->rest();
  uint16_t version;
  if (!value->ReadBigEndian(&version)) {
    return Corrupt(std::string(what) + " has no version", bytes);
  }
  return version == kRecordVersion ? Status() : UnknownVersion(what, version, "1");
}

// The one number behind the version of a record of exactly that size.
template <typename Number>
Result<Number> DecodeNumber(std::string_view what, std::string_view value) {
  ByteReader reader(value);
  CAIRN_RETURN_IF_ERROR(ReadVersion(what, &reader));
  Number number;
  if (!reader.ReadBigEndian(&number) || reader.remaining() != 0) {
    return Corrupt(std::string(what) + " has a wrong length", value);
  }
  return number;
}

template <typename Number>
std::string EncodeNumber(Number number) {
  std::string value = Versioned();
  AppendBigEndian(number, &value);
  return value;
}

bool ConsumeType(DictionaryRecordType type, ByteReader* key) {
  uint32_t number;
  return key->ReadBigEndian(&number) && number == static_cast<uint32_t>(type);
}

void AppendIndexId(IndexId id, std::string* to) {
  AppendBigEndian(id.column_family, to);
  AppendBigEndian(id.index_number, to);
}

bool ReadIndexId(ByteReader* from, IndexId* id) {
  return from->ReadBigEndian(&id->column_family) && from->ReadBigEndian(&id->index_number);
}

Result<IndexKind> ToIndexKind(uint8_t number, std::string_view value) {
  switch (static_cast<IndexKind>(number)) {
    case IndexKind::kPrimary:
    case IndexKind::kSecondary:
    case IndexKind::kHiddenPrimary:
      return static_cast<IndexKind>(number);
  }
  return Corrupt("index info has an unknown index type", value);
}

// Reads what follows kind and format version, by the version of the record.
bool ReadTtl(uint16_t version, ByteReader* value, uint32_t* flags, uint64_t* ttl_seconds,
             uint16_t format_version) {
  if (version >= kIndexInfoVersion) {
    return value->ReadBigEndian(flags) && value->ReadBigEndian(ttl_seconds);
  }
  if (version != kIndexInfoWithoutFlags) return true;
  if (!value->ReadBigEndian(ttl_seconds)) return false;
  if (format_version >= kFirstFormatWithTtl && *ttl_seconds > 0) *flags = kTtlStampFlag;
  return true;
}

// Whether version, kv format and features go together.
Status CheckFeatures(uint16_t version, const IndexInfo& info, std::string_view value) {
  if (!IsKnownFormatVersion(info.format_version)) {
    return Status(StatusCode::kNotSupported,
                  "index info: " + UnknownFormatVersion(info.format_version));
  }
  if ((version == kCairnIndexInfoVersion) != (info.format_version == kCairnFormatVersion)) {
    return Corrupt("index info of a version that its kv format does not have", value);
  }
  if ((info.features & ~kKnownIndexFeatures) != 0) {
    return Status(StatusCode::kNotSupported,
                  "index info has unknown features " + std::to_string(info.features) +
                      "; known are 1 to " + std::to_string(kKnownIndexFeatures));
  }
  const bool is_row = info.kind != IndexKind::kSecondary;
  if (version == kGuardedIndexInfoVersion &&
      (!is_row || info.features == 0 || (info.features & ~kAddedFeatures) != 0)) {
    return Corrupt("index info of a version that its features do not have", value);
  }
  if (!is_row && (info.features & (kFeatureRowLayouts | kForeignKeyGuards)) != 0) {
    return Corrupt("index info of a secondary index with features of a table", value);
  }
  return Status();
}

}  // namespace

std::string DictionaryPrefix(DictionaryRecordType type) {
  std::string key;
  AppendBigEndian(static_cast<uint32_t>(type), &key);
  return key;
}

std::string TableKey(std::string_view table_name) {
  return DictionaryPrefix(DictionaryRecordType::kTable).append(table_name);
}

std::string IndexKey(DictionaryRecordType type, IndexId id) {
  std::string key = DictionaryPrefix(type);
  AppendIndexId(id, &key);
  return key;
}

std::string ColumnFamilyKey(uint32_t column_family) {
  std::string key = DictionaryPrefix(DictionaryRecordType::kColumnFamily);
  AppendBigEndian(column_family, &key);
  return key;
}

std::string MaxIndexNumberKey() { return DictionaryPrefix(DictionaryRecordType::kMaxIndexNumber); }

std::string DirectoryFormatKey() {
  return DictionaryPrefix(DictionaryRecordType::kDirectoryFormat);
}

std::string TableVersionKey(std::string_view path) {
  return DictionaryPrefix(DictionaryRecordType::kTableVersion)
      .append(kTableVersionName)
      .append(path);
}

Result<std::string> DecodeTableKey(std::string_view key) {
  ByteReader reader(key);
  if (!ConsumeType(DictionaryRecordType::kTable, &reader)) {
    return Corrupt("not the key of a table entry", key);
  }
  if (reader.remaining() == 0) return Corrupt("a table entry has an empty name", key);
  return std::string(reader.rest());
}

Result<IndexId> DecodeIndexKey(DictionaryRecordType type, std::string_view key) {
  ByteReader reader(key);
  IndexId id;
  if (!ConsumeType(type, &reader) || !ReadIndexId(&reader, &id) || reader.remaining() != 0) {
    return Corrupt("not the key of an index's dictionary record", key);
  }
  return id;
}

Result<uint32_t> DecodeColumnFamilyKey(std::string_view key) {
  ByteReader reader(key);
  uint32_t column_family;
  if (!ConsumeType(DictionaryRecordType::kColumnFamily, &reader) ||
      !reader.ReadBigEndian(&column_family) || reader.remaining() != 0) {
    return Corrupt("not the key of a column family definition", key);
  }
  return column_family;
}

std::string EncodeTable(const std::vector<IndexId>& indexes) {
  std::string value = Versioned();
  for (const IndexId& id : indexes) AppendIndexId(id, &value);
  return value;
}

Result<std::vector<IndexId>> DecodeTable(std::string_view value) {
  ByteReader reader(value);
  CAIRN_RETURN_IF_ERROR(ReadVersion("a table entry", &reader));
  if (reader.remaining() == 0) return Corrupt("a table entry has no index", value);
  std::vector<IndexId> indexes;
  while (reader.remaining() != 0) {
    IndexId id;
    if (!ReadIndexId(&reader, &id)) return Corrupt("a table entry has a wrong length", value);
    indexes.push_back(id);
  }
  return indexes;
}

std::string EncodeIndexInfo(const IndexInfo& info) {
  const bool cairn = info.format_version == kCairnFormatVersion;
  const bool guarded = !cairn && info.features != 0;
  std::string value;
  AppendBigEndian(cairn     ? kCairnIndexInfoVersion
                  : guarded ? kGuardedIndexInfoVersion
                            : kIndexInfoVersion,
                  &value);
  AppendBigEndian(static_cast<uint8_t>(info.kind), &value);
  AppendBigEndian(info.format_version, &value);
  AppendBigEndian(info.has_ttl_stamp ? kTtlStampFlag : uint32_t{0}, &value);
  AppendBigEndian(info.ttl_seconds, &value);
  if (cairn || guarded) AppendBigEndian(info.features, &value);
  return value;
}

Result<IndexInfo> DecodeIndexInfo(std::string_view value) {
  ByteReader reader(value);
  uint16_t version;
  if (!reader.ReadBigEndian(&version)) return Corrupt("index info has no version", value);
  const bool has_features =
      version == kCairnIndexInfoVersion || version == kGuardedIndexInfoVersion;
  if (!has_features && (version < kOldestIndexInfo || version > kIndexInfoVersion)) {
    return UnknownVersion("index info", version,
                          "3 to 6, " + std::to_string(kCairnIndexInfoVersion) + " and " +
                              std::to_string(kGuardedIndexInfoVersion));
  }
  IndexInfo info;
  uint8_t kind;
  uint32_t flags = 0;
  if (!reader.ReadBigEndian(&kind) || !reader.ReadBigEndian(&info.format_version) ||
      !ReadTtl(version, &reader, &flags, &info.ttl_seconds, info.format_version) ||
      (has_features && !reader.ReadBigEndian(&info.features)) || reader.remaining() != 0) {
    return Corrupt("index info has a wrong length", value);
  }
  CAIRN_ASSIGN_OR_RETURN(info.kind, ToIndexKind(kind, value));
  CAIRN_RETURN_IF_ERROR(CheckFeatures(version, info, value));
  if ((flags & ~kTtlStampFlag) != 0) {
    return Status(StatusCode::kNotSupported,
                  "index info has unknown flags " + std::to_string(flags) + "; known is 1");
  }
  info.has_ttl_stamp = (flags & kTtlStampFlag) != 0;
  return info;
}

std::string EncodeColumnFamily(uint32_t flags) { return EncodeNumber(flags); }

Result<uint32_t> DecodeColumnFamily(std::string_view value) {
  CAIRN_ASSIGN_OR_RETURN(const uint32_t flags,
                         DecodeNumber<uint32_t>("a column family definition", value));
  if ((flags & ~kKnownColumnFamilyFlags) != 0) {
    return Status(StatusCode::kNotSupported, "a column family definition has unknown flags " +
                                                 std::to_string(flags) + "; known are 1, 2 and 4");
  }
  return flags;
}

std::string EncodeMaxIndexNumber(uint32_t number) { return EncodeNumber(number); }

Result<uint32_t> DecodeMaxIndexNumber(std::string_view value) {
  return DecodeNumber<uint32_t>("the maximum index number", value);
}

std::string EncodeOngoingMark() { return Versioned(); }

Status DecodeOngoingMark(std::string_view value) {
  ByteReader reader(value);
  CAIRN_RETURN_IF_ERROR(ReadVersion("a mark of an ongoing operation", &reader));
  if (reader.remaining() != 0) {
    return Corrupt("a mark of an ongoing operation has a wrong length", value);
  }
  return Status();
}

std::string EncodeAutoIncrement(uint64_t next_value) { return EncodeNumber(next_value); }

Result<uint64_t> DecodeAutoIncrement(std::string_view value) {
  return DecodeNumber<uint64_t>("an auto-increment record", value);
}

std::string EncodeTableVersion(uint64_t version) {
  std::string value;
  AppendBigEndian(version, &value);
  return value;
}

Result<uint64_t> DecodeTableVersion(std::string_view value) {
  ByteReader reader(value);
  uint64_t version;
  if (!reader.ReadBigEndian(&version) || reader.remaining() != 0) {
    return Corrupt("a table version has a wrong length", value);
  }
  return version;
}

std::string EncodeDirectoryFormat(DirectoryFormat format) {
  return EncodeNumber(static_cast<uint16_t>(format));
}

Result<DirectoryFormat> DecodeDirectoryFormat(std::string_view value) {
  CAIRN_ASSIGN_OR_RETURN(const uint16_t number,
                         DecodeNumber<uint16_t>("the record of the directory's format", value));
  switch (static_cast<DirectoryFormat>(number)) {
    case DirectoryFormat::kStock:
    case DirectoryFormat::kCairn:
      return static_cast<DirectoryFormat>(number);
  }
  return Status(StatusCode::kNotSupported, "the directory has the format " +
                                               std::to_string(number) +
                                               "; known are 1 (stock) and 2 (cairn)");
}

bool IsMergeableKey(std::string_view key) {
  return DecodeIndexKey(DictionaryRecordType::kAutoIncrement, key).ok();
}

Result<std::string> MergeAutoIncrement(std::string_view left, std::string_view right) {
  CAIRN_ASSIGN_OR_RETURN(const uint64_t left_value, DecodeAutoIncrement(left));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t right_value, DecodeAutoIncrement(right));
  return EncodeAutoIncrement(std::max(left_value, right_value));
}

}  // namespace cairn
