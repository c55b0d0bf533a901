#include "engine/codec/foreign_key_value.h"

#include <algorithm>
#include <cstring>

#include "engine/base/bytes.h"
#include "engine/codec/format_version.h"
#include "engine/codec/image_length.h"
#include "engine/codec/thread_buffer.h"
#include "engine/codec/value_sample.h"

namespace cairn {
namespace {

bool IsString(ColumnType type) { return type == ColumnType::kChar || type == ColumnType::kVarchar; }

// Of characters of one, two or four bytes, in either order of bytes.
void FillWithSpaces(const Collation& collation, uint8_t* begin, const uint8_t* end) {
  std::string space(collation.traits().space_char_bytes, '\0');
  space.back() = ' ';
  if (collation.TrimmedLength(space) != 0) std::reverse(space.begin(), space.end());
  for (uint8_t* to = begin; to < end; ++to) {
    *to = static_cast<uint8_t>(space[static_cast<size_t>(to - begin) % space.size()]);
  }
}

// Where the column lies; the format says nothing of that.
Result<KeyPart> PartOfColumn(const TableLayout& table, uint32_t position) {
  const ColumnLayout& column = table.columns[position];
  KeyPartLayout layout;
  layout.column = position;
  layout.length_bytes = IsString(column.type) ? column.max_bytes : column.image_bytes;
  return MakeKeyPart(table, layout, kCairnFormatVersion);
}

// The same column as if it were a VARCHAR. Its length bytes are not looked at.
Result<KeyPart> PartOfVarchar(const TableLayout& table, uint32_t position) {
  TableLayout varchar;
  varchar.columns.push_back(table.columns[position]);
  varchar.columns[0].type = ColumnType::kVarchar;
  varchar.columns[0].length_bytes = 2;
  return PartOfColumn(varchar, 0);
}

bool IsNegativeZero(ColumnType type, std::string_view image) {
  if (type != ColumnType::kFloat && type != ColumnType::kDouble) return false;
  const bool zero_before =
      std::all_of(image.begin(), image.end() - 1, [](char byte) { return byte == 0; });
  return zero_before && static_cast<uint8_t>(image.back()) == 0x80;
}

}  // namespace

Result<ForeignKeyColumns> ForeignKeyColumns::Make(const TableLayout& table,
                                                  const std::vector<uint32_t>& columns) {
  ForeignKeyColumns made;
  for (const uint32_t position : columns) {
    if (position >= table.columns.size()) {
      return Status(StatusCode::kInvalidArgument, "no column " + std::to_string(position));
    }
    const ColumnLayout& layout = table.columns[position];
    if (layout.type == ColumnType::kBlob || layout.is_virtual) {
      return Status(StatusCode::kInvalidArgument,
                    "column `" + layout.name + "` cannot belong to a foreign key");
    }
    Column column;
    column.type = layout.type;
    CAIRN_ASSIGN_OR_RETURN(column.part, PartOfColumn(table, position));
    column.weighs =
        IsString(layout.type) && layout.collation->traits().kind != CollationKind::kBinary;
    if (column.weighs) {
      CAIRN_ASSIGN_OR_RETURN(column.weighing, PartOfVarchar(table, position));
    }
    made.columns_.push_back(std::move(column));
  }
  made.validity_ = table.validity;
  return made;
}

bool ForeignKeyColumns::HasNull(const uint8_t* record) const {
  return IsPast(record) ||
         std::any_of(columns_.begin(), columns_.end(), [record](const Column& column) {
           return column.part.nullable() && column.part.IsNull(record);
         });
}

bool ForeignKeyColumns::BytesDiffer(const uint8_t* old_record, const uint8_t* new_record) const {
  if (IsPast(old_record) != IsPast(new_record)) return true;
  return std::any_of(columns_.begin(), columns_.end(), [&](const Column& column) {
    return DataDiffer(column.part, old_record, new_record);
  });
}

std::string_view ForeignKeyColumns::Data(size_t position, const uint8_t* record) const {
  const Column& column = columns_[position];
  const std::string_view data = DataInRecord(column.part, record);
  if (!column.weighs || column.type != ColumnType::kChar) return data;
  return data.substr(0, column.part.collation->TrimmedLength(data));
}

bool ForeignKeyColumns::SetNull(uint8_t* record) const {
  for (const Column& column : columns_) {
    if (!column.part.nullable()) return false;
    record[column.part.null.offset] |= column.part.null.mask;
  }
  return true;
}

bool ForeignKeyColumns::AssignData(const Column& column, std::string_view data, uint8_t* image) {
  const KeyPart& part = column.part;
  if (!IsString(column.type) || (column.type == ColumnType::kChar && !column.weighs)) {
    if (data.size() != part.image.bytes) return false;
    std::memcpy(image, data.data(), data.size());
    return true;
  }
  if (data.size() > part.length_bytes) return false;
  if (column.weighs) {
    const size_t most_chars = part.length_bytes / part.collation->traits().max_char_bytes;
    if (part.collation->CharPrefixLength(data, most_chars) < data.size()) return false;
  }
  if (column.type == ColumnType::kVarchar) {
    for (uint8_t i = 0; i < part.image.length_bytes; ++i) {
      *image++ = static_cast<uint8_t>(data.size() >> (8 * i));
    }
    if (!data.empty()) std::memcpy(image, data.data(), data.size());
    return true;
  }
  if (!data.empty()) std::memcpy(image, data.data(), data.size());
  FillWithSpaces(*part.collation, image + data.size(), image + part.image.bytes);
  return true;
}

bool ForeignKeyColumns::Assign(const ForeignKeyColumns& from, const uint8_t* from_record,
                               uint8_t* record) const {
  CAIRN_ASSERT(from.size() == size());
  for (size_t i = 0; i < size(); ++i) {
    const KeyPart& part = columns_[i].part;
    const KeyPart& source = from.columns_[i].part;
    const bool is_null = source.nullable() && source.IsNull(from_record);
    if (is_null && !part.nullable()) return false;
    if (part.nullable()) record[part.null.offset] &= static_cast<uint8_t>(~part.null.mask);
    if (is_null) {
      record[part.null.offset] |= part.null.mask;
      continue;
    }
    if (!AssignData(columns_[i], from.Data(i, from_record), record + part.image.offset)) {
      return false;
    }
  }
  return true;
}

// Calls `use` with the canonical bytes, which it may not keep.
template <typename Use>
auto ForeignKeyColumns::WithCanonical(const Column& column, std::string_view data, Use use) {
  static constexpr char kZero[8] = {};
  if (!column.weighs) {
    return use(IsNegativeZero(column.type, data) ? std::string_view(kZero, data.size()) : data);
  }
  const KeyPart& part = column.weighing;
  uint8_t* const to =
      ThreadBuffer<ForeignKeyColumns>(size_t{part.max_key_bytes} + part.weight_capacity);
  const uint8_t* const end = EncodePart(part, data, to, to + part.max_key_bytes, nullptr);
  return use(std::string_view(reinterpret_cast<const char*>(to), static_cast<size_t>(end - to)));
}

void ForeignKeyColumns::AppendCanonical(size_t position, std::string_view data,
                                        std::string* bytes) const {
  WithCanonical(columns_[position], data, [bytes](std::string_view canonical) {
    AppendBigEndian(static_cast<uint32_t>(canonical.size()), bytes);
    bytes->append(canonical);
  });
}

void ForeignKeyColumns::WriteCanonical(const uint8_t* record, std::string* bytes) const {
  bytes->clear();
  for (size_t i = 0; i < columns_.size(); ++i) AppendCanonical(i, Data(i, record), bytes);
}

uint64_t ForeignKeyColumns::Hash(const uint8_t* record) const {
  uint64_t hash = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    hash = WithCanonical(columns_[i], Data(i, record),
                         [hash](std::string_view canonical) { return HashValue(hash, canonical); });
  }
  return hash;
}

bool HaveEqualValues(const ForeignKeyColumns& columns, const uint8_t* record,
                     const ForeignKeyColumns& other_columns, const uint8_t* other_record) {
  if (columns.HasNull(record) || other_columns.HasNull(other_record)) return false;
  std::string bytes;
  std::string other_bytes;
  columns.WriteCanonical(record, &bytes);
  other_columns.WriteCanonical(other_record, &other_bytes);
  return bytes == other_bytes;
}

}  // namespace cairn
