// The Cairn format (docs/on-disk-format.md): every collation orders as the server compares, every
// whole column comes back, parts may descend.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/dictionary_record.h"
#include "engine/codec/format_choice.h"
#include "engine/codec/format_version.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

const std::vector<const Collation*>& AllCollations() {
  static const std::vector<const Collation*> collations = {&Latin1Bin(),
                                                           &Latin1Swedish(),
                                                           &Latin1Ukrainian(),
                                                           &Utf8mb3Bin(),
                                                           &Utf8mb4Bin(),
                                                           &Utf8mb3General(),
                                                           &Utf8mb4General(),
                                                           &Utf8mb4Unicode(),
                                                           &Utf8mb4AiCi(),
                                                           &Utf8mb4AsCs(),
                                                           &Gbk(),
                                                           &Ucs2(),
                                                           &Utf8mb4NoPadBin(),
                                                           &Utf8mb4NoPadUnicode(),
                                                           &Utf8mb4NoPadAsCs(),
                                                           &Latin2Czech()};
  return collations;
}

int SignOf(int number) { return (number > 0) - (number < 0); }

std::string LevelOf(const Collation& collation, std::string_view text, uint32_t level) {
  std::string weights(16384, '\0');
  weights.resize(collation.WriteLevel(text, level, reinterpret_cast<uint8_t*>(weights.data()),
                                      weights.size()));
  return weights;
}

// As the server compares: level by level, with the rule for trailing spaces on each.
int Compare(const Collation& collation, std::string_view a, std::string_view b) {
  const TrailingSpaces spaces = collation.traits().trailing_spaces;
  if (spaces == TrailingSpaces::kIgnored) {
    a = a.substr(0, collation.TrimmedLength(a));
    b = b.substr(0, collation.TrimmedLength(b));
  }
  for (uint32_t level = 0; level < collation.traits().levels; ++level) {
    std::string x = LevelOf(collation, a, level);
    std::string y = LevelOf(collation, b, level);
    if (spaces == TrailingSpaces::kPad || (spaces == TrailingSpaces::kCount && level > 0)) {
      const std::string_view space = collation.traits().level_space_weights[level];
      while (x.size() < y.size()) x += space;
      while (y.size() < x.size()) y += space;
    }
    if (const int order = SignOf(x.compare(y))) return order;
  }
  return 0;
}

std::string FirstChars(const Collation& collation, const std::string& text, size_t chars) {
  return text.substr(0, collation.CharPrefixLength(text, chars));
}

// The value of a full CHAR.
std::string Padded(const Collation& collation, std::string text, size_t chars) {
  text.resize(collation.traits().max_char_bytes * chars, ' ');
  return FirstChars(collation, text, chars);
}

struct OrderCase {
  std::string name;
  const Collation* collation;
  std::function<void(TestTable*)> add_column;
  uint32_t prefix_chars = 0;
  size_t char_chars = 0;  // Of a CHAR.
};

std::vector<OrderCase> OrderCases() {
  std::vector<OrderCase> cases;
  for (const Collation* collation : AllCollations()) {
    const std::string name(collation->traits().name);
    const auto varchar = [=](TestTable* t) { t->Varchar("c", 12, *collation); };
    const auto text = [=](TestTable* t) { t->Blob("c", 2, *collation); };
    const auto fixed = [=](TestTable* t) { t->Char("c", 6, *collation); };
    cases.push_back({"VARCHAR " + name, collation, varchar});
    cases.push_back({"VARCHAR(3) of " + name, collation, varchar, 3});
    cases.push_back({"TEXT(5) of " + name, collation, text, 5});
    if (collation->traits().space_char_bytes != 1) continue;
    cases.push_back({"CHAR " + name, collation, fixed, 0, 6});
    cases.push_back({"CHAR(2) of " + name, collation, fixed, 2, 6});
  }
  return cases;
}

int ExpectedOrder(const OrderCase& order, std::string a, std::string b) {
  if (order.char_chars != 0) {
    a = Padded(*order.collation, a, order.char_chars);
    b = Padded(*order.collation, b, order.char_chars);
  }
  if (order.prefix_chars != 0) {
    a = FirstChars(*order.collation, a, order.prefix_chars);
    b = FirstChars(*order.collation, b, order.prefix_chars);
  }
  return Compare(*order.collation, a, b);
}

TEST(CairnFormat, KeysOrderAsTheServerComparesInBothDirections) {
  Random random;
  for (const OrderCase& order : OrderCases()) {
    SCOPED_TRACE(order.name);
    for (const bool descending : {false, true}) {
      TestTable table;
      order.add_column(&table);
      table.Nullable().Key(257, {Part("c", order.prefix_chars)}).HiddenKey(256);
      table.CairnFormat([=] { return descending; });
      const ColumnLayout& column = table.layout().columns[0];
      const auto codec = table.Codec(257u);
      ASSERT_NE(codec, nullptr);
      const auto key_of = [&](const Cell& value) {
        return Encode(*codec, Record(table, {value}), {.hidden_key = 0}).key;
      };
      const std::string null_key = key_of(nullptr);
      std::vector<Cell> values;
      for (int i = 0; i < 60; ++i) values.push_back(RandomValue(column, &random));
      for (const Cell& a : values) {
        EXPECT_EQ(null_key < key_of(a), !descending);
        for (const Cell& b : values) {
          const int expected = ExpectedOrder(order, *a.data, *b.data) * (descending ? -1 : 1);
          EXPECT_EQ(SignOf(key_of(a).compare(key_of(b))), expected)
              << ToHex(*a.data) << " " << ToHex(*b.data);
        }
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(CairnFormat, EveryWholeColumnIsCoveredAndPrefixesAreNot) {
  for (const OrderCase& order : OrderCases()) {
    SCOPED_TRACE(order.name);
    TestTable table;
    order.add_column(&table);
    table.Nullable().Key(257, {Part("c", order.prefix_chars)}).HiddenKey(256);
    table.CairnFormat([] { return false; });
    const auto codec = table.Codec(257u);
    ASSERT_NE(codec, nullptr);
    EXPECT_EQ(codec->Covers(0), order.prefix_chars == 0);
    EXPECT_EQ(codec->PartIsRestorable(0), order.prefix_chars == 0);
    EXPECT_TRUE(codec->UniquePrefixIsExact());
  }
}

TEST(CairnFormat, UniqueValuesAreThoseThatCompareEqual) {
  Random random;
  for (const OrderCase& order : OrderCases()) {
    SCOPED_TRACE(order.name);
    TestTable table;
    order.add_column(&table);
    table.UniqueKey(257, {Part("c", order.prefix_chars)}).HiddenKey(256);
    table.CairnFormat([] { return false; });
    const auto codec = table.Codec(257u);
    const auto prefix_of = [&](const Cell& value) {
      std::string prefix;
      EXPECT_TRUE(codec->EncodeUniquePrefix(Record(table, {value}).data(), &prefix));
      return prefix;
    };
    std::vector<Cell> values;
    for (int i = 0; i < 60; ++i) values.push_back(RandomValue(table.layout().columns[0], &random));
    for (const Cell& a : values) {
      for (const Cell& b : values) {
        EXPECT_EQ(prefix_of(a) == prefix_of(b), ExpectedOrder(order, *a.data, *b.data) == 0);
      }
    }
  }
}

TEST(CairnFormat, TypesThatTheStockFormatOnlyOrdersComeBack) {
  TestTable table;
  table.Column("ts", ColumnType::kOldTimestamp, 4)
      .Column("t", ColumnType::kOldTime, 3)
      .Column("tf", ColumnType::kOldTimeFraction, 5)
      .Column("bits", ColumnType::kOpaqueFixed, 2)
      .Column("e", ColumnType::kEnum, 1)
      .PrimaryKey(256, {"e", "bits"})
      .Key(257, {"ts", "t", "tf", "bits"})
      .CairnFormat([] { return false; });
  const Record record(table,
                      {Hex("01020304"), Hex("112280"), Hex("8122334455"), Hex("02ff"), Hex("07")});
  const auto primary = table.Codec(256u);
  const auto secondary = table.Codec(257u);
  // The row leaves out what its key gives back.
  EXPECT_EQ(ToHex(Encode(*primary, record, {}).key),
            "0000010007"
            "02ff");
  EXPECT_EQ(ToHex(Encode(*primary, record, {}).value),
            "01020304"
            "112280"
            "8122334455");
  EXPECT_EQ(ToHex(Encode(*secondary, record, {}).key),
            "00000101"
            "04030201"
            "002211"
            "0122334455"
            "02ff"
            "07");
  for (uint32_t column = 0; column < 5; ++column) EXPECT_TRUE(secondary->Covers(column));
  ExpectEntryDecodes(table, *secondary, Encode(*secondary, record, {}), record, {});
}

TEST(CairnFormat, AStringIsHeldOnlyOnceByAnIndex) {
  TestTable table;
  table.Varchar("a", 5, Utf8mb4General()).Int("b").PrimaryKey(256, {"a"}).Key(257, {"b", "a"});
  table.CairnFormat([] { return false; });
  const Record record(table, {"aB ", 1});
  const auto secondary = table.Codec(257u);
  // The primary key's part is the index's own; its data follows once, with its length of one byte.
  EXPECT_EQ(ToHex(Encode(*secondary, record, {}).key),
            "00000101"
            "80000001"
            "004100420020002002");
  EXPECT_EQ(ToHex(Encode(*secondary, record, {}).value),
            "020000"
            "03614220");
  // A row has it anyway.
  EXPECT_EQ(ToHex(Encode(*table.Codec(256u), record, {}).value),
            "03614220"
            "01000000");
}

TEST(CairnFormat, AddedToAStockTableItEndsInThePrimaryKeysOwnBytes) {
  TestTable table;
  table.Varchar("a", 5, Utf8mb4Bin())
      .Int("b")
      .PrimaryKey(256, {"a", "b"})
      .Key(257, {"a"})
      .Key(258, {"b"});
  int index = 0;
  table.FormatVersion([&] { return index++ == 0 ? kStockFormatVersion : kCairnFormatVersion; });
  const Record record(table, {"x", 7});
  const std::string primary = Encode(*table.Codec(256u), record, {}).key.substr(kIndexNumberBytes);
  EXPECT_EQ(ToHex(primary),
            "00007800002000002002"
            "80000007");
  // `a` in the order of bytes, then the primary key; `b` has its very bytes and stands for it.
  EXPECT_EQ(ToHex(Encode(*table.Codec(257u), record, {}).key),
            "00000101"
            "782020202020202002" +
                ToHex(primary));
  EXPECT_EQ(ToHex(Encode(*table.Codec(258u), record, {}).key),
            "00000102"
            "80000007"
            "00007800002000002002");
  EXPECT_EQ(
      IndexCodec::Make(table.layout(), table.indexes()[1], table.indexes()[0]).status().code(),
      StatusCode::kInvalidArgument);
}

TEST(CairnFormat, DescendingPartsAreComplementedWithTheirNullByte) {
  TestTable table;
  table.Int("a").Nullable().Varchar("b", 5, Binary()).Nullable().Int("id");
  table.PrimaryKey(256, {"id"}).Key(257, {"a", "b"});
  table.CairnFormat([] { return true; });
  const auto codec = table.Codec(257u);
  EXPECT_EQ(ToHex(Encode(*codec, Record(table, {1, "ab", 3}), {}).key),
            "00000101"
            "fe7ffffffe"
            "fe9e9dfffffffffffffd"
            "7ffffffc");
  EXPECT_EQ(ToHex(Encode(*codec, Record(table, {nullptr, nullptr, 3}), {}).key),
            "00000101"
            "ff"
            "ff"
            "7ffffffc");
}

// docs/on-disk-format.md, "Vectors of keys": those whose weights the tests' collations have.
TEST(CairnVectors, OneLevelWithExpansion) {
  TestTable table;
  table.Int("id").Varchar("s", 10, Utf8mb4Unicode()).Nullable().PrimaryKey(0x100, {"id"});
  table.Key(0x101, {"s"}).CairnFormat([] { return false; });
  const auto codec = table.Codec(0x101u);
  const Entry entry = Encode(*codec, Record(table, {1, "a\xc3\x9f "}), {});
  EXPECT_EQ(ToHex(entry.key),
            "00000101"
            "01"
            "0e330fea0fea020902"
            "80000001");
  EXPECT_EQ(ToHex(entry.value),
            "020000"
            "0461c39f20");
  const Entry empty = Encode(*codec, Record(table, {2, ""}), {});
  EXPECT_EQ(ToHex(empty.key),
            "00000101"
            "01"
            "020902090209020902"
            "80000002");
  EXPECT_EQ(ToHex(empty.value),
            "020000"
            "00");
  EXPECT_EQ(ToHex(Encode(*codec, Record(table, {3, nullptr}), {}).key),
            "00000101"
            "00"
            "80000003");
}

TEST(CairnVectors, BytesInOrderAndADescendingPart) {
  TestTable table;
  table.Varchar("s", 10, Utf8mb4Bin()).Int("n").Nullable().PrimaryKey(0x100, {"s"});
  table.Key(0x101, {"n", "s"}).CairnFormat([] { return false; });
  std::vector<IndexLayout> indexes = table.indexes();
  indexes[1].parts[0].descending = true;
  const auto codec = std::move(IndexCodec::Make(table.layout(), indexes[0], indexes[1])).value();
  const Record record(table, {"a\xc3\xa9 ", 1});
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x100u), record, {}).key),
            "00000100"
            "61c3a9202020202002");
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x100u), record, {}).value),
            "00"
            "020004"
            "04"
            "01000000");
  EXPECT_EQ(ToHex(Encode(*codec, record, {}).key),
            "00000101"
            "fe7ffffffe"
            "61c3a9202020202002");
  EXPECT_EQ(ToHex(Encode(*codec, record, {}).value),
            "020000"
            "04");
  const Record null(table, {"", nullptr});
  EXPECT_EQ(ToHex(Encode(*codec, null, {}).key),
            "00000101"
            "ff"
            "202020202020202002");
}

TEST(CairnVectors, ThreeLevelsWithAndWithoutPadding) {
  TestTable table;
  table.Int("id").Varchar("s", 10, Utf8mb4AsCs()).Nullable().Varchar("t", 10, Utf8mb4NoPadAsCs());
  table.Nullable().PrimaryKey(0x100, {"id"}).Key(0x101, {"s"}).Key(0x102, {"t"});
  table.CairnFormat([] { return false; });
  const Record record(table, {1, "Ab ", "Ab "});
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x101u), record, {}).key),
            "00000101"
            "01"
            "2075208f0209020902"
            "002000200020002002"
            "000800020002000202"
            "80000001");
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x102u), record, {}).key),
            "00000102"
            "01"
            "2075208f0209000006"
            "002000200020002002"
            "000800020002000202"
            "80000001");
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x102u), record, {}).value),
            "020000"
            "03416220");
}

TEST(CairnVectors, NoPadBytesAndPrefixesOfBlobs) {
  TestTable table;
  table.Int("id").Varchar("b", 5, Utf8mb4NoPadBin()).Nullable().Blob("t", 2, Utf8mb4General());
  table.Nullable().Blob("x", 2, Binary()).Nullable().PrimaryKey(0x100, {"id"});
  table.Key(0x101, {"b"}).Key(0x102, {Part("t", 3)}).Key(0x103, {Part("x", 3)});
  table.CairnFormat([] { return false; });
  const Record record(table, {1, "a ",
                              "\xc3\xa9"
                              "abc",
                              "abcd"});
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x101u), record, {}).key),
            "00000101"
            "01612000000000000002"
            "80000001");
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x102u), record, {}).key),
            "00000102"
            "01004500410042002002"
            "80000001");
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x103u), record, {}).key),
            "00000103"
            "01616263000000000003"
            "80000001");
  for (const uint32_t index : {0x101u, 0x102u, 0x103u}) {
    EXPECT_EQ(Encode(*table.Codec(index), record, {}).value, "");
  }
}

// --- Rows ----------------------------------------

TestTable TableWithChars() {
  TestTable table;
  table.Int("id").Char("c", 3, Utf8mb4General()).Char("n", 2, Utf8mb4NoPadBin()).Nullable();
  table.Char("w", 64, Utf8mb4Bin()).Char("l", 33, Latin1Swedish()).Char("s", 4, Latin1Swedish());
  table.Char("b", 40, Binary()).Char("u", 3, Ucs2());
  table.PrimaryKey(0x100, {"id"}).CairnFormat([] { return false; });
  return table;
}

// 3 characters of 2 bytes: TestTable would fill it up with single bytes.
const std::string kUcs2Text("\0a\0 \0 ", 6);

TEST(CairnVectors, CharsOfARowWithoutTrailingSpaces) {
  TestTable table = TableWithChars();
  table.TrimmedChars();
  const auto codec = table.Codec(0x100u);
  const std::string rest = ToHex("x   " + std::string(40, '\0') + kUcs2Text);
  const std::string bytes(40, '\0');
  EXPECT_EQ(
      ToHex(Encode(*codec, Record(table, {1, "\xc3\xa9 ", "a", "", "z", "x", bytes, kUcs2Text}), {})
                .value),
      "00"
      "02c3a9"
      "0161"
      "0000"
      "017a" +
          rest);
  EXPECT_EQ(ToHex(Encode(*codec,
                         Record(table, {1, "", nullptr, std::string(256, 'w'), "y z", "x", bytes,
                                        kUcs2Text}),
                         {})
                      .value),
            "01"
            "00"
            "0001" +
                ToHex(std::string(256, 'w')) + "0379207a" + rest);
}

TEST(CairnFormat, CharsOfARowComeBackFilledUp) {
  for (const bool trims : {false, true}) {
    TestTable table = TableWithChars();
    if (trims) table.TrimmedChars();
    const auto codec = table.Codec(0x100u);
    for (size_t length = 0; length <= 33; ++length) {
      SCOPED_TRACE(length);
      // Spaces within and at the end, and other bytes that look like parts of words of spaces.
      std::string text(length, ' ');
      for (size_t i = 0; i < length; i += 9) text[i] = 'x';
      const Record record(table, {7, text.substr(0, 3), text.substr(0, 2), text, text,
                                  text.substr(0, 4), std::string(40, ' '), kUcs2Text});
      ExpectEntryDecodes(table, *codec, Encode(*codec, record, {}), record, {});
    }
  }
}

TEST(CairnFormat, IsAskedForByCharsThatTheRowWouldHaveFilledUp) {
  const auto features = [](TestTable table) {
    return IndexFeaturesOf(table.layout(), table.indexes()[0]);
  };
  const auto with_char = [](uint32_t chars, const Collation& collation) {
    TestTable table;
    return table.Int("id").Char("c", chars, collation).PrimaryKey(256, {"id"});
  };
  EXPECT_EQ(features(with_char(1, Utf8mb4Bin())), kFeatureTrimmedChar);
  EXPECT_EQ(features(with_char(33, Latin1Swedish())), kFeatureTrimmedChar);
  EXPECT_EQ(features(with_char(32, Latin1Swedish())), 0u);
  EXPECT_EQ(features(with_char(100, Binary())), 0u);
  EXPECT_EQ(features(with_char(100, Ucs2())), 0u);
  TestTable hidden;
  EXPECT_EQ(features(hidden.Char("c", 1, Utf8mb4Bin()).HiddenKey(256)), kFeatureTrimmedChar);
  // What the key gives back is not in the row, but a prefix gives nothing back.
  TestTable key;
  EXPECT_EQ(features(key.Char("c", 40, Latin1Bin()).PrimaryKey(256, {"c"})), 0u);
  TestTable prefix;
  EXPECT_EQ(features(prefix.Char("c", 40, Latin1Bin()).PrimaryKey(256, {Part("c", 4)})),
            kFeatureTrimmedChar);
  TestTable table;
  table.Int("id").Char("c", 40, Latin1Bin()).PrimaryKey(256, {"id"}).Key(257, {"c"});
  EXPECT_EQ(IndexFeaturesOf(table.layout(), table.indexes()[1]), 0u);
}

TEST(CairnFormat, OnlyItsRowsHaveCharsWithoutTrailingSpaces) {
  TestTable table;
  table.Int("id").Char("c", 3, Utf8mb4Bin()).PrimaryKey(256, {"id"}).TrimmedChars();
  EXPECT_EQ(IndexCodec::Make(table.layout(), table.primary(), table.primary()).status().code(),
            StatusCode::kInvalidArgument);
  table.CairnFormat([] { return false; });
  EXPECT_TRUE(IndexCodec::Make(table.layout(), table.primary(), table.primary()).ok());
}

TEST(CairnFormat, ALengthBeyondTheCharsColumnIsCorruption) {
  TestTable table;
  table.Int("id").Char("c", 3, Utf8mb4General()).PrimaryKey(0x100, {"id"});
  table.CairnFormat([] { return false; }).TrimmedChars();
  const auto codec = table.Codec(0x100u);
  const auto plan =
      std::move(codec->MakePlan(ColumnSet(2, true), IndexCodec::Checksums::kIgnore)).value();
  Record record(table);
  const std::string key = Hex("00000100 80000001");
  EXPECT_TRUE(codec->Decode(*plan, key, Hex("0c") + std::string(12, 'a'), record.data()).ok());
  EXPECT_EQ(codec->Decode(*plan, key, Hex("0d") + std::string(13, 'a'), record.data()).code(),
            StatusCode::kCorruption);
  EXPECT_EQ(codec->Decode(*plan, key, Hex("0c") + std::string(11, 'a'), record.data()).code(),
            StatusCode::kCorruption);
}

TEST(CairnFormat, TheStockFormatHasNoDescendingParts) {
  TestTable table;
  table.Int("a").PrimaryKey(256, {"a"}).CairnFormat([] { return true; }).FormatVersion(13);
  const auto codec = IndexCodec::Make(table.layout(), table.indexes()[0], table.indexes()[0]);
  EXPECT_EQ(codec.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cairn::testing
