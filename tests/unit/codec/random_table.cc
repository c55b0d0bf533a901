#include "tests/unit/codec/random_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/format_version.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

const Collation& RandomCollation(Random* random) {
  switch (random->Below(17)) {
    case 0:
      return Binary();
    case 1:
      return Latin1Bin();
    case 2:
      return Latin1Swedish();
    case 3:
      return Utf8mb3Bin();
    case 4:
      return Utf8mb4Bin();
    case 5:
      return Utf8mb3General();
    case 6:
      return Utf8mb4General();
    case 7:
      return Utf8mb4Unicode();
    case 8:
      return Utf8mb4AsCs();
    case 9:
      return Gbk();
    case 10:
      return Utf8mb4NoPadUnicode();
    case 11:
      return Utf8mb4NoPadAsCs();
    case 12:
      return Utf8mb4NoPadBin();
    case 13:
      return Latin2Czech();
    case 14:
      return Utf8mb4Traditional();
    case 15:
      return Utf8mb4AiCi();
    default:
      return Ucs2();
  }
}

uint32_t IntegerWidth(Random* random) {
  static constexpr uint32_t kWidths[] = {1, 2, 3, 4, 8};
  return kWidths[random->Below(5)];
}

void AddColumn(const std::string& name, TestTable* table, Random* random) {
  switch (random->Below(16)) {
    case 0:
      table->Int(name, IntegerWidth(random));
      break;
    case 1:
      table->Unsigned(name, IntegerWidth(random));
      break;
    case 2:
      table->Column(name, ColumnType::kFloat, 4);
      break;
    case 3:
      table->Column(name, ColumnType::kDouble, 8);
      break;
    case 4:
      table->Image(name, static_cast<uint32_t>(random->Between(1, 8)));
      break;
    case 5:
      table->Column(name, ColumnType::kDate, 3);
      break;
    case 6:
      table->Column(name, ColumnType::kOldTimestamp, random->OneIn(2) ? 4 : 8);
      break;
    case 7:
      table->Column(name, ColumnType::kOldTime, 3);
      break;
    case 8:
      table->Column(name, ColumnType::kOldTimeFraction, 5);
      break;
    case 9:
      table->Column(name, ColumnType::kOpaqueFixed, static_cast<uint32_t>(random->Between(1, 16)));
      break;
    case 10:
      table->Column(name, ColumnType::kEnum, IntegerWidth(random));
      break;
    case 11:
    case 12: {
      const Collation& collation = RandomCollation(random);
      // The builder pads with single bytes, which are no spaces in ucs2.
      table->Char(name, static_cast<uint32_t>(random->OneIn(4) ? 100 : random->Between(1, 12)),
                  collation.traits().space_char_bytes == 1 ? collation : Latin1Bin());
      break;
    }
    case 13:
    case 14: {
      static constexpr uint32_t kChars[] = {1, 5, 10, 20, 61, 63, 300};
      table->Varchar(name, kChars[random->Below(7)], RandomCollation(random));
      break;
    }
    default:
      table->Blob(name, static_cast<uint32_t>(random->Between(1, 4)), RandomCollation(random));
  }
}

Part RandomPart(const ColumnLayout& column, Random* random) {
  if (column.collation == nullptr) return Part(column.name);
  const uint32_t chars = column.max_bytes / column.collation->traits().max_char_bytes;
  if (column.type == ColumnType::kBlob) {
    return Part(column.name, static_cast<uint32_t>(random->Between(1, 12)));
  }
  if (chars == 1 || random->OneIn(2)) return Part(column.name);
  return Part(column.name, static_cast<uint32_t>(random->Between(1, chars - 1)));
}

std::vector<Part> RandomParts(const TestTable& table, const std::vector<uint32_t>& candidates,
                              Random* random) {
  std::vector<uint32_t> columns = candidates;
  for (size_t i = columns.size(); i > 1; --i) std::swap(columns[i - 1], columns[random->Below(i)]);
  columns.resize(random->Between(1, std::min<size_t>(columns.size(), 4)));
  std::vector<Part> parts;
  for (uint32_t column : columns)
    parts.push_back(RandomPart(table.layout().columns[column], random));
  return parts;
}

std::string RandomText(const Collation& collation, size_t max_bytes, Random* random) {
  static const std::vector<std::string> kUtf8 = {"a",        "B",
                                                 "c",        "Z",
                                                 " ",        "\t",
                                                 "\xc3\xa9", "\xc3\x9f",
                                                 "~",        "\xe4\xb8\xad",
                                                 "_",        "\xf0\x9f\x98\x80"};
  const Collation::Traits& traits = collation.traits();
  std::string text;
  const size_t max_chars = max_bytes / traits.max_char_bytes;
  size_t chars = random->Below(max_chars + 1);
  for (size_t i = 0; i < chars; ++i) {
    if (traits.max_char_bytes == 1) {
      text +=
          static_cast<char>(random->OneIn(3) ? random->Below(256) : random->Between(0x1f, 0x7a));
    } else if (traits.max_char_bytes == 2 && traits.space_char_bytes == 2) {
      text += '\0';
      text += static_cast<char>(random->Between(0x1f, 0x7a));
    } else if (traits.max_char_bytes == 2) {
      text +=
          random->OneIn(3) ? std::string("\xb0\xa1") : std::string(1, "aB \tz"[random->Below(5)]);
    } else {
      text += kUtf8[random->Below(kUtf8.size() - (traits.max_char_bytes == 3 ? 1 : 0))];
    }
  }
  for (; random->OneIn(2) && chars < max_chars; ++chars) {
    text += traits.space_char_bytes == 2 ? std::string("\0 ", 2) : " ";
  }
  return text;
}

}  // namespace

TestTable RandomTable(Random* random) {
  TestTable table;
  const size_t column_count = random->Between(1, 8);
  std::vector<uint32_t> all;
  std::vector<uint32_t> not_null;
  for (uint32_t i = 0; i < column_count; ++i) {
    AddColumn("c" + std::to_string(i), &table, random);
    all.push_back(i);
    if (random->OneIn(2)) {
      table.Nullable();
    } else {
      not_null.push_back(i);
    }
  }
  const auto random_version = [&] {
    return static_cast<uint16_t>(random->OneIn(2) ? 13 : random->Between(10, 13));
  };
  if (not_null.empty() || random->OneIn(4)) {
    table.HiddenKey(256);
  } else {
    table.PrimaryKey(256, RandomParts(table, not_null, random));
  }
  for (uint32_t number = 257; number < 257 + random->Between(1, 3); ++number) {
    const std::vector<Part> parts = RandomParts(table, all, random);
    if (random->OneIn(2)) {
      table.Key(number, parts);
    } else {
      table.UniqueKey(number, parts);
    }
  }
  if (random->OneIn(2)) {
    table.CairnFormat([&] { return random->OneIn(3); });
  } else if (random->OneIn(4)) {
    // Indexes of the Cairn format were added to a table of the stock format.
    const uint16_t primary_version = random_version();
    bool is_primary = true;
    table.FormatVersion(
        [&] { return std::exchange(is_primary, false) ? primary_version : kCairnFormatVersion; });
  } else {
    table.FormatVersion(random_version);
  }
  if (random->OneIn(3)) table.TtlStamps();
  if (table.primary().format_version == kCairnFormatVersion && random->OneIn(2)) {
    table.TrimmedChars();
  }
  return table;
}

Cell RandomValue(const ColumnLayout& column, Random* random) {
  switch (column.type) {
    case ColumnType::kFloat: {
      const float number =
          static_cast<float>(static_cast<int64_t>(random->Bits()) >> random->Below(64));
      return Cell::Float(number * std::ldexp(1.0f, -static_cast<int>(random->Below(80))) + 0.0f);
    }
    case ColumnType::kDouble: {
      const auto number =
          static_cast<double>(static_cast<int64_t>(random->Bits()) >> random->Below(64));
      return Cell::Double(number * std::ldexp(1.0, -static_cast<int>(random->Below(200))) + 0.0);
    }
    case ColumnType::kChar:
    case ColumnType::kVarchar:
      return Cell(RandomText(*column.collation, column.max_bytes, random));
    case ColumnType::kBlob:
      return Cell(RandomText(*column.collation, random->OneIn(10) ? 200 : 16, random));
    default: {
      std::string image(column.image_bytes, '\0');
      for (char& byte : image) byte = static_cast<char>(random->OneIn(3) ? 0 : random->Bits());
      return Cell(std::move(image));
    }
  }
}

Row RandomRow(const TestTable& table, Random* random) {
  Row row;
  for (const ColumnLayout& column : table.layout().columns) {
    if (column.nullable() && random->OneIn(3)) {
      row.push_back(nullptr);
    } else {
      row.push_back(RandomValue(column, random));
    }
  }
  return row;
}

std::string Describe(const TestTable& table) {
  std::string text = "table:";
  for (const ColumnLayout& column : table.layout().columns) {
    text +=
        "\n  " + column.name + " type " + std::to_string(static_cast<int>(column.type)) + ", " +
        std::to_string(column.image_bytes) + " bytes" +
        (column.collation == nullptr ? "" : ", " + std::string(column.collation->traits().name)) +
        (column.nullable() ? "" : " NOT NULL");
  }
  for (const IndexLayout& index : table.indexes()) {
    text += "\n  index " + std::to_string(index.index_number) + " format " +
            std::to_string(index.format_version) + (index.has_ttl_stamp ? " TTL" : "") + " (";
    for (const KeyPartLayout& part : index.parts) {
      text += table.layout().columns[part.column].name +
              (part.is_prefix ? "/" + std::to_string(part.length_bytes) : "") + " ";
    }
    text += ")";
  }
  return text;
}

}  // namespace cairn::testing
