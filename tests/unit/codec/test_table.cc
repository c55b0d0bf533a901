#include "tests/unit/codec/test_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/base/bytes.h"
#include "engine/codec/format_version.h"

namespace cairn::testing {
namespace {

constexpr uint8_t kUnwritten = 0xa5;
constexpr uint32_t kNullBytes = 4;

uint32_t CharBytes(const ColumnLayout& column) {
  return column.collation == nullptr ? 1 : column.collation->traits().max_char_bytes;
}

char PadByte(const ColumnLayout& column) {
  return column.collation->traits().kind == CollationKind::kBinary ? '\0' : ' ';
}

}  // namespace

std::string Hex(std::string_view text) {
  std::string bytes;
  int high = -1;
  for (char digit : text) {
    if (digit == ' ') continue;
    const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    if (high < 0) {
      high = value;
    } else {
      bytes.push_back(static_cast<char>(high * 16 + value));
      high = -1;
    }
  }
  return bytes;
}

Cell::Cell(int64_t number) : data(std::string(8, '\0')), is_integer(true) {
  std::memcpy(data->data(), &number, sizeof number);
}

Cell Cell::Float(float number) {
  std::string image(sizeof number, '\0');
  std::memcpy(image.data(), &number, sizeof number);
  return Cell(std::move(image));
}

Cell Cell::Double(double number) {
  std::string image(sizeof number, '\0');
  std::memcpy(image.data(), &number, sizeof number);
  return Cell(std::move(image));
}

TestTable& TestTable::Column(std::string name, ColumnType type, uint32_t image_bytes) {
  if (table_.columns.empty()) {
    table_.name = "test.t";
    table_.null_bytes = kNullBytes;
    table_.record_bytes = kNullBytes;
  }
  ColumnLayout column;
  column.name = std::move(name);
  column.type = type;
  column.offset = table_.record_bytes;
  column.image_bytes = image_bytes;
  table_.record_bytes += image_bytes;
  table_.columns.push_back(std::move(column));
  return *this;
}

TestTable& TestTable::Int(std::string name, uint32_t bytes) {
  return Column(std::move(name), ColumnType::kSignedInteger, bytes);
}

TestTable& TestTable::Unsigned(std::string name, uint32_t bytes) {
  return Column(std::move(name), ColumnType::kUnsignedInteger, bytes);
}

TestTable& TestTable::Image(std::string name, uint32_t bytes) {
  return Column(std::move(name), ColumnType::kFixedImage, bytes);
}

TestTable& TestTable::Char(std::string name, uint32_t chars, const Collation& collation) {
  const uint32_t bytes = chars * collation.traits().max_char_bytes;
  Column(std::move(name), ColumnType::kChar, bytes);
  table_.columns.back().max_bytes = bytes;
  table_.columns.back().collation = &collation;
  return *this;
}

TestTable& TestTable::Varchar(std::string name, uint32_t chars, const Collation& collation) {
  const uint32_t bytes = chars * collation.traits().max_char_bytes;
  const uint32_t length_bytes = bytes <= 255 ? 1 : 2;
  Column(std::move(name), ColumnType::kVarchar, bytes + length_bytes);
  table_.columns.back().length_bytes = length_bytes;
  table_.columns.back().max_bytes = bytes;
  table_.columns.back().collation = &collation;
  return *this;
}

TestTable& TestTable::Blob(std::string name, uint32_t length_bytes, const Collation& collation) {
  Column(std::move(name), ColumnType::kBlob, length_bytes + sizeof(char*));
  table_.columns.back().length_bytes = length_bytes;
  table_.columns.back().collation = &collation;
  return *this;
}

TestTable& TestTable::Nullable() {
  // The first bit is the server's own, as in its tables of fixed-size records.
  const uint32_t bit = 1 + nullable_count_++;
  table_.columns.back().null_offset = bit / 8;
  table_.columns.back().null_mask = static_cast<uint8_t>(1u << (bit % 8));
  return *this;
}

TestTable& TestTable::PrimaryKey(uint32_t number, std::vector<Part> parts) {
  return AddIndex(IndexKind::kPrimary, true, number, std::move(parts));
}
TestTable& TestTable::HiddenKey(uint32_t number) {
  return AddIndex(IndexKind::kHiddenPrimary, false, number, {});
}
TestTable& TestTable::Key(uint32_t number, std::vector<Part> parts) {
  return AddIndex(IndexKind::kSecondary, false, number, std::move(parts));
}
TestTable& TestTable::UniqueKey(uint32_t number, std::vector<Part> parts) {
  return AddIndex(IndexKind::kSecondary, true, number, std::move(parts));
}

TestTable& TestTable::AddIndex(IndexKind kind, bool unique, uint32_t number,
                               std::vector<Part> parts) {
  IndexLayout index;
  index.name = kind == IndexKind::kPrimary ? "PRIMARY" : "k" + std::to_string(number);
  index.kind = kind;
  index.unique = unique;
  index.index_number = number;
  for (const Part& part : parts) {
    const uint32_t number_of_column = ColumnNumber(part.column);
    const ColumnLayout& column = table_.columns[number_of_column];
    const bool characters = column.collation != nullptr;
    KeyPartLayout layout;
    layout.column = number_of_column;
    layout.is_prefix = part.prefix_chars != 0;
    layout.length_bytes = layout.is_prefix ? part.prefix_chars * CharBytes(column)
                          : characters     ? column.max_bytes
                                           : column.image_bytes;
    index.parts.push_back(layout);
  }
  indexes_.push_back(std::move(index));
  return *this;
}

TestTable& TestTable::FormatVersion(uint16_t version) {
  return FormatVersion([version] { return version; });
}

TestTable& TestTable::FormatVersion(const std::function<uint16_t()>& version_of_next) {
  for (IndexLayout& index : indexes_) index.format_version = version_of_next();
  return *this;
}

TestTable& TestTable::CairnFormat(const std::function<bool()>& descending) {
  // A column has one direction: the primary key's parts are recognised in the others by their
  // bytes.
  std::vector<bool> by_column(table_.columns.size());
  for (size_t i = 0; i < by_column.size(); ++i) by_column[i] = descending();
  for (IndexLayout& index : indexes_) {
    index.format_version = kCairnFormatVersion;
    for (KeyPartLayout& part : index.parts) {
      part.descending = descending() ? by_column[part.column] : descending();
    }
  }
  return *this;
}

TestTable& TestTable::TtlStamps() {
  for (IndexLayout& index : indexes_) index.has_ttl_stamp = true;
  return *this;
}

TestTable& TestTable::TrimmedChars() {
  for (IndexLayout& index : indexes_) index.trims_chars = index.kind != IndexKind::kSecondary;
  return *this;
}

const IndexLayout& TestTable::primary() const {
  return *std::find_if(indexes_.begin(), indexes_.end(), [](const IndexLayout& index) {
    return index.kind != IndexKind::kSecondary;
  });
}

uint32_t TestTable::ColumnNumber(std::string_view name) const {
  for (uint32_t i = 0; i < table_.columns.size(); ++i) {
    if (table_.columns[i].name == name) return i;
  }
  ADD_FAILURE() << "no column " << name;
  return 0;
}

std::unique_ptr<IndexCodec> TestTable::Codec(const IndexLayout& index) const {
  Result<std::unique_ptr<IndexCodec>> codec = IndexCodec::Make(table_, primary(), index);
  EXPECT_TRUE(codec.ok()) << codec.status().ToString();
  return codec.ok() ? std::move(codec).value() : nullptr;
}

std::unique_ptr<IndexCodec> TestTable::Codec(uint32_t index_number) const {
  for (const IndexLayout& index : indexes_) {
    if (index.index_number == index_number) return Codec(index);
  }
  ADD_FAILURE() << "no index " << index_number;
  return nullptr;
}

ColumnSet TestTable::Covered(const IndexCodec& codec) const {
  ColumnSet columns(table_.columns.size());
  // A row does not hold virtual columns; the adapter computes them.
  const bool is_row = codec.layout().kind != IndexKind::kSecondary;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    columns[i] = codec.Covers(i) && !(is_row && table_.columns[i].is_virtual);
  }
  return columns;
}

ColumnSet TestTable::Columns(std::initializer_list<const char*> names) const {
  ColumnSet columns(table_.columns.size());
  for (const char* name : names) columns[ColumnNumber(name)] = true;
  return columns;
}

Record::Record(const TestTable& table)
    : table_(&table.layout()), bytes_(table.layout().record_bytes, kUnwritten) {}

Record::Record(const TestTable& table, const Row& row) : Record(table) {
  EXPECT_EQ(row.size(), table_->columns.size());
  std::fill_n(bytes_.begin(), kNullBytes, uint8_t{0});
  for (size_t i = 0; i < row.size(); ++i) {
    const ColumnLayout& column = table_->columns[i];
    uint8_t* const image = bytes_.data() + column.offset;
    std::memset(image, 0, column.image_bytes);
    if (row[i].is_null()) {
      EXPECT_TRUE(column.nullable()) << column.name;
      bytes_[column.null_offset] |= column.null_mask;
      continue;
    }
    const std::string& data = *row[i].data;
    switch (column.type) {
      case ColumnType::kChar:
        std::memset(image, PadByte(column), column.image_bytes);
        EXPECT_LE(data.size(), column.image_bytes) << column.name;
        std::memcpy(image, data.data(), data.size());
        break;
      case ColumnType::kVarchar:
        EXPECT_LE(data.size(), column.max_bytes) << column.name;
        std::memset(image, kUnwritten, column.image_bytes);
        for (uint32_t b = 0; b < column.length_bytes; ++b) {
          image[b] = static_cast<uint8_t>(data.size() >> (8 * b));
        }
        std::memcpy(image + column.length_bytes, data.data(), data.size());
        break;
      case ColumnType::kBlob: {
        blobs_.push_back(data);
        const char* const pointer = blobs_.back().data();
        for (uint32_t b = 0; b < column.length_bytes; ++b) {
          image[b] = static_cast<uint8_t>(data.size() >> (8 * b));
        }
        std::memcpy(image + column.length_bytes, &pointer, sizeof pointer);
        break;
      }
      default:
        EXPECT_TRUE(row[i].is_integer || data.size() == column.image_bytes) << column.name;
        std::memcpy(image, data.data(), column.image_bytes);
    }
  }
}

bool Record::IsNull(uint32_t column) const {
  const ColumnLayout& layout = table_->columns[column];
  return layout.nullable() && (bytes_[layout.null_offset] & layout.null_mask) != 0;
}

std::string Record::Data(uint32_t column) const {
  const ColumnLayout& layout = table_->columns[column];
  const char* const image = reinterpret_cast<const char*>(bytes_.data()) + layout.offset;
  if (layout.type != ColumnType::kVarchar && layout.type != ColumnType::kBlob) {
    return std::string(image, layout.image_bytes);
  }
  uint32_t size = 0;
  std::memcpy(&size, image, layout.length_bytes);
  if (layout.type == ColumnType::kVarchar) {
    EXPECT_LE(size, layout.image_bytes - layout.length_bytes) << layout.name;
    return std::string(image + layout.length_bytes, size);
  }
  const char* pointer;
  std::memcpy(&pointer, image + layout.length_bytes, sizeof pointer);
  return size == 0 ? std::string() : std::string(pointer, size);
}

std::string Record::ToString(const ColumnSet& columns) const {
  std::string text;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    if (!columns[i]) continue;
    text += table_->columns[i].name + "=" + (IsNull(i) ? "NULL/" : "") + ToHex(Data(i)) + " ";
  }
  return text;
}

std::string SearchKey(const TestTable& table, const IndexCodec& codec, const Record& record,
                      uint32_t part_count) {
  std::vector<KeyPartLayout> parts = codec.layout().parts;
  if (codec.layout().kind == IndexKind::kSecondary) {
    for (const KeyPartLayout& primary_part : table.primary().parts) {
      const bool present = std::any_of(parts.begin(), parts.end(), [&](const KeyPartLayout& part) {
        return part.column == primary_part.column && part.length_bytes == primary_part.length_bytes;
      });
      if (!present) parts.push_back(primary_part);
    }
  }
  std::string key;
  for (uint32_t i = 0; i < part_count; ++i) {
    const KeyPartLayout& part = parts[i];
    const ColumnLayout& column = table.layout().columns[part.column];
    const bool is_null = record.IsNull(part.column);
    if (column.nullable()) key.push_back(is_null ? 1 : 0);
    std::string data = is_null ? std::string() : record.Data(part.column);
    const bool variable = column.type == ColumnType::kVarchar || column.type == ColumnType::kBlob;
    if (column.collation != nullptr) {
      const uint32_t chars = part.length_bytes / CharBytes(column);
      data.resize(column.collation->CharPrefixLength(data, chars));
    }
    if (variable) {
      key.push_back(static_cast<char>(data.size()));
      key.push_back(static_cast<char>(data.size() >> 8));
    }
    data.resize(part.length_bytes, column.type == ColumnType::kChar ? PadByte(column) : '\x5a');
    key += data;
  }
  return key;
}

}  // namespace cairn::testing
