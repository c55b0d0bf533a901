#include "tests/unit/codec/foreign_key_columns.h"

#include <algorithm>
#include <cstring>

#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

const std::vector<const Collation*>& ForeignKeyCollations() {
  static const std::vector<const Collation*> collations = {
      &Binary(),
      &Latin1Bin(),
      &Latin1Swedish(),
      &Latin1Ukrainian(),
      &Utf8mb3Bin(),
      &Utf8mb4Bin(),
      &Utf8mb3General(),
      &Utf8mb4General(),
      &Utf8mb4Unicode(),
      &Utf8mb4Traditional(),
      &Utf8mb4AiCi(),
      &Utf8mb4AsCs(),
      &Gbk(),
      &Ucs2(),
      &Utf8mb4NoPadAsCs(),
      &Utf8mb4NoPadBin(),
      &Latin2Czech(),
      &Utf8mb4NoPadUnicode(),
  };
  return collations;
}

std::vector<std::string> Alphabet(const Collation& collation) {
  const Collation::Traits& traits = collation.traits();
  if (traits.kind == CollationKind::kBinary) return {std::string(1, '\0'), "a", " "};
  if (traits.space_char_bytes == 2) {
    return {std::string("\0a", 2), std::string("\0A", 2), std::string("\0 ", 2)};
  }
  if (traits.max_char_bytes == 1) return {"a", "A", "e", "\xe9", "`", " ", "\t"};
  if (traits.max_char_bytes == 2) return {"a", "A", "\xb0\xa1", " "};
  return {"a", "A", "s", "\xc3\x9f", "\xc3\xa9", "e", "c", "h", " ", "\xc2\xad", "\xe1\xba\xa1"};
}

std::string LevelWeights(const Collation& collation, std::string_view text, uint32_t level) {
  std::string weights(4096, '\0');
  weights.resize(collation.WriteLevel(text, level, reinterpret_cast<uint8_t*>(weights.data()),
                                      weights.size()));
  return weights;
}

bool EqualPadded(std::string a, std::string b, std::string_view space) {
  while (a.size() < b.size()) a += space;
  while (b.size() < a.size()) b += space;
  return a == b;
}

std::string_view ValueOf(const ColumnLayout& column, std::string_view data) {
  const bool trims = column.type == ColumnType::kChar ||
                     column.collation->traits().trailing_spaces != TrailingSpaces::kCount;
  return trims ? data.substr(0, column.collation->TrimmedLength(data)) : data;
}

double NumberOf(const std::string& image) {
  float single;
  double number;
  std::memcpy(&single, image.data(), sizeof single);
  if (image.size() == sizeof single) return double{single};
  std::memcpy(&number, image.data(), sizeof number);
  return number;
}

}  // namespace

ForeignKeyType RandomForeignKeyType(Random* random) {
  static constexpr uint32_t kWidths[] = {1, 2, 3, 4, 8};
  const uint32_t width = kWidths[random->Below(5)];
  switch (random->Below(20)) {
    case 0:
      return {ColumnType::kSignedInteger, width};
    case 1:
      return {ColumnType::kUnsignedInteger, width};
    case 2:
      return {ColumnType::kFloat, 4};
    case 3:
      return {ColumnType::kDouble, 8};
    case 4:
      return {ColumnType::kFixedImage, static_cast<uint32_t>(random->Between(1, 8))};
    case 5:
      return {ColumnType::kDate, 3};
    case 6:
      return {ColumnType::kOldTimestamp, random->OneIn(2) ? 4u : 8u};
    case 7:
      return {ColumnType::kOldTime, 3};
    case 8:
      return {ColumnType::kOldTimeFraction, 5};
    case 9:
      return {ColumnType::kOpaqueFixed, static_cast<uint32_t>(random->Between(1, 16))};
    case 10:
      return {ColumnType::kEnum, width};
    default:
      return {ColumnType::kVarchar, 0,
              ForeignKeyCollations()[random->Below(ForeignKeyCollations().size())]};
  }
}

void AddForeignKeyColumn(const ForeignKeyType& type, const std::string& name, TestTable* table,
                         Random* random) {
  if (type.collation == nullptr) {
    table->Column(name, type.type, type.image_bytes);
    return;
  }
  // The builder pads with single bytes, which are no spaces in ucs2.
  const bool may_be_char = type.collation->traits().space_char_bytes == 1;
  if (may_be_char && random->OneIn(2)) {
    table->Char(name, static_cast<uint32_t>(random->Between(1, 6)), *type.collation);
  } else {
    static constexpr uint32_t kChars[] = {1, 2, 3, 5, 10, 300};
    table->Varchar(name, kChars[random->Below(6)], *type.collation);
  }
}

Cell RandomForeignKeyValue(const ColumnLayout& column, Random* random) {
  if (column.type == ColumnType::kFloat || column.type == ColumnType::kDouble) {
    const double number = std::vector<double>{0.0, -0.0, 1.0, -1.5}[random->Below(4)];
    return column.type == ColumnType::kFloat ? Cell::Float(static_cast<float>(number))
                                             : Cell::Double(number);
  }
  if (column.collation == nullptr) {
    std::string image(column.image_bytes, '\0');
    image[random->Below(image.size())] = "\x00\x01\x80\xff"[random->Below(4)];
    return Cell(std::move(image));
  }
  const std::vector<std::string> alphabet = Alphabet(*column.collation);
  std::string text;
  // Few letters make equal values, long ones reach the second segment of a key.
  const size_t letters = random->OneIn(8) ? 12 : random->Below(4);
  const std::string& one = alphabet[random->Below(alphabet.size())];
  const bool repeats = random->OneIn(3);
  for (size_t i = 0; i < letters; ++i) {
    text += repeats ? one : alphabet[random->Below(alphabet.size())];
  }
  const uint32_t chars = column.max_bytes / column.collation->traits().max_char_bytes;
  text.resize(column.collation->CharPrefixLength(text, chars));
  return Cell(std::move(text));
}

bool EqualInSql(const ColumnLayout& column, const std::string& value,
                const ColumnLayout& other_column, const std::string& other_value) {
  if (column.type == ColumnType::kFloat || column.type == ColumnType::kDouble) {
    return NumberOf(value) == NumberOf(other_value);
  }
  if (column.collation == nullptr) return value == other_value;
  const Collation& collation = *column.collation;
  const Collation::Traits& traits = collation.traits();
  if (traits.kind == CollationKind::kBinary) return value == other_value;
  const std::string a(ValueOf(column, value));
  const std::string b(ValueOf(other_column, other_value));
  for (uint32_t level = 0; level < traits.levels; ++level) {
    const std::string x = LevelWeights(collation, a, level);
    const std::string y = LevelWeights(collation, b, level);
    const bool pads = traits.trailing_spaces == TrailingSpaces::kPad ||
                      (traits.trailing_spaces == TrailingSpaces::kCount && level > 0);
    if (pads ? !EqualPadded(x, y, traits.level_space_weights[level]) : x != y) return false;
  }
  return true;
}

}  // namespace cairn::testing
