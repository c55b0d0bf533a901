// Properties of all tables: what is encoded decodes to itself, and keys order as values do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

TEST(IndexCodecProperties, EveryEntryOfARandomTableDecodesToItsRow) {
  Random random;
  for (int i = 0; i < 150 && !::testing::Test::HasFailure(); ++i) {
    const TestTable table = RandomTable(&random);
    SCOPED_TRACE(Describe(table));
    for (int j = 0; j < 6; ++j) {
      const Record record(table, RandomRow(table, &random));
      SCOPED_TRACE(record.ToString(ColumnSet(table.layout().columns.size(), true)));
      const EntryOptions options = {
          .hidden_key = random.Bits(), .ttl_stamp = random.Bits(), .checksums = random.OneIn(3)};
      for (const IndexLayout& index : table.indexes()) {
        SCOPED_TRACE(index.index_number);
        const auto codec = table.Codec(index);
        ASSERT_NE(codec, nullptr);
        ExpectEntryDecodes(table, *codec, Encode(*codec, record, options), record, options);
      }
    }
  }
}

TEST(IndexCodecProperties, EntriesThatMayNotDifferAreTheSame) {
  Random random;
  int same = 0;
  int other = 0;
  for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) {
    const TestTable table = RandomTable(&random);
    SCOPED_TRACE(Describe(table));
    const Row row = RandomRow(table, &random);
    Row changed = row;
    const size_t column = random.Below(row.size());
    changed[column] = RandomRow(table, &random)[column];
    const Record record(table, row);
    const Record changed_record(table, changed);
    for (const IndexLayout& index : table.indexes()) {
      const auto codec = table.Codec(index);
      const bool may_differ = codec->MayDiffer(record.data(), changed_record.data());
      EXPECT_FALSE(codec->MayDiffer(record.data(), Record(table, row).data()));
      std::string keys[2];
      std::string infos[2];
      codec->EncodeKey(record.data(), 7, &keys[0], &infos[0]);
      codec->EncodeKey(changed_record.data(), 7, &keys[1], &infos[1]);
      const bool is_same = keys[0] == keys[1] && infos[0] == infos[1];
      EXPECT_TRUE(may_differ || is_same) << index.index_number;
      ++(may_differ ? other : same);
    }
  }
  EXPECT_GT(same, 50);
  EXPECT_GT(other, 50);
}

// --- Order ----------------------------------------

// A column type and how the server compares its values: negative, zero, positive.
struct OrderedType {
  std::string name;
  std::function<void(TestTable*)> add_column;
  std::function<int(const ColumnLayout&, const std::string&, const std::string&)> compare;
  uint32_t prefix_chars = 0;
};

int Sign(int number) { return (number > 0) - (number < 0); }

template <typename Number>
int CompareNumbers(const ColumnLayout&, const std::string& a, const std::string& b) {
  Number x;
  Number y;
  std::memcpy(&x, a.data(), sizeof x);
  std::memcpy(&y, b.data(), sizeof y);
  return (x > y) - (x < y);
}

int CompareReversed(const ColumnLayout&, const std::string& a, const std::string& b) {
  return Sign(std::string(a.rbegin(), a.rend()).compare(std::string(b.rbegin(), b.rend())));
}

int CompareOldTime(const ColumnLayout& column, std::string a, std::string b) {
  a.back() = static_cast<char>(a.back() ^ 0x80);
  b.back() = static_cast<char>(b.back() ^ 0x80);
  return CompareReversed(column, a, b);
}

int CompareOldTimeFraction(const ColumnLayout&, std::string a, std::string b) {
  a[0] = static_cast<char>(a[0] ^ 0x80);
  b[0] = static_cast<char>(b[0] ^ 0x80);
  return Sign(a.compare(b));
}

int CompareBytes(const ColumnLayout&, const std::string& a, const std::string& b) {
  return Sign(a.compare(b));
}

std::string WeightsOf(const Collation& collation, std::string_view text, size_t max_weights) {
  std::string weights(4096, '\0');
  text = text.substr(0, collation.TrimmedLength(text));
  weights.resize(collation.WriteWeights(text, max_weights, Collation::Padding::kNone,
                                        reinterpret_cast<uint8_t*>(weights.data()),
                                        weights.size()));
  return weights;
}

// PAD SPACE: the shorter weight string continues with spaces.
int ComparePadSpace(const Collation& collation, const std::string& a, const std::string& b,
                    size_t max_weights) {
  std::string x = WeightsOf(collation, a, max_weights);
  std::string y = WeightsOf(collation, b, max_weights);
  const std::string_view space = collation.traits().space_weight;
  while (x.size() < y.size()) x += space;
  while (y.size() < x.size()) y += space;
  return Sign(x.compare(y));
}

int CompareText(const ColumnLayout& column, const std::string& a, const std::string& b) {
  const Collation& collation = *column.collation;
  return ComparePadSpace(collation, a, b, column.max_bytes / collation.traits().max_char_bytes);
}

std::vector<OrderedType> OrderedTypes() {
  std::vector<OrderedType> types;
  const auto fixed = [&](std::string name, ColumnType type, uint32_t bytes, auto compare) {
    types.push_back({std::move(name), [=](TestTable* t) { t->Column("c", type, bytes); }, compare});
  };
  fixed("TINYINT", ColumnType::kSignedInteger, 1, CompareNumbers<int8_t>);
  fixed("SMALLINT", ColumnType::kSignedInteger, 2, CompareNumbers<int16_t>);
  fixed("MEDIUMINT", ColumnType::kSignedInteger, 3, CompareOldTime);
  fixed("INT", ColumnType::kSignedInteger, 4, CompareNumbers<int32_t>);
  fixed("BIGINT", ColumnType::kSignedInteger, 8, CompareNumbers<int64_t>);
  fixed("INT UNSIGNED", ColumnType::kUnsignedInteger, 4, CompareNumbers<uint32_t>);
  fixed("BIGINT UNSIGNED", ColumnType::kUnsignedInteger, 8, CompareNumbers<uint64_t>);
  fixed("FLOAT", ColumnType::kFloat, 4, CompareNumbers<float>);
  fixed("DOUBLE", ColumnType::kDouble, 8, CompareNumbers<double>);
  fixed("DECIMAL", ColumnType::kFixedImage, 5, CompareBytes);
  fixed("DATE", ColumnType::kDate, 3, CompareReversed);
  fixed("old TIMESTAMP", ColumnType::kOldTimestamp, 4, CompareReversed);
  fixed("old TIME", ColumnType::kOldTime, 3, CompareOldTime);
  fixed("old TIME(3)", ColumnType::kOldTimeFraction, 5, CompareOldTimeFraction);
  fixed("BIT", ColumnType::kOpaqueFixed, 2, CompareBytes);
  fixed("ENUM", ColumnType::kEnum, 2, CompareNumbers<uint16_t>);
  fixed("SET", ColumnType::kEnum, 8, CompareNumbers<uint64_t>);
  types.push_back({"BINARY", [](TestTable* t) { t->Char("c", 5, Binary()); },
                   [](const ColumnLayout&, std::string a, std::string b) {
                     a.resize(5);
                     b.resize(5);
                     return Sign(a.compare(b));
                   }});
  types.push_back({"VARBINARY", [](TestTable* t) { t->Varchar("c", 20, Binary()); }, CompareBytes});
  types.push_back({"BLOB", [](TestTable* t) { t->Blob("c", 2, Binary()); },
                   [](const ColumnLayout&, const std::string& a, const std::string& b) {
                     return Sign(a.substr(0, 20).compare(b.substr(0, 20)));
                   },
                   20});
  for (const Collation* collation : {&Latin1Bin(), &Latin1Swedish(), &Utf8mb3Bin(), &Utf8mb4Bin(),
                                     &Utf8mb4General(), &Utf8mb4Unicode(), &Gbk(), &Ucs2()}) {
    const std::string name(collation->traits().name);
    types.push_back(
        {"VARCHAR " + name, [=](TestTable* t) { t->Varchar("c", 12, *collation); }, CompareText});
    if (collation->traits().space_char_bytes == 1) {
      types.push_back({"CHAR " + name, [=](TestTable* t) { t->Char("c", 6, *collation); },
                       [](const ColumnLayout& column, const std::string& a, const std::string& b) {
                         return ComparePadSpace(*column.collation, a, b, 1000);
                       }});
    }
    types.push_back({"TEXT " + name, [=](TestTable* t) { t->Blob("c", 2, *collation); },
                     [](const ColumnLayout& column, const std::string& a, const std::string& b) {
                       return ComparePadSpace(*column.collation, a, b, 1000);
                     },
                     60});
  }
  return types;
}

TEST(IndexCodecProperties, KeysOrderAsTheServerComparesValuesAndNullComesFirst) {
  Random random;
  for (const OrderedType& type : OrderedTypes()) {
    SCOPED_TRACE(type.name);
    TestTable table;
    type.add_column(&table);
    table.Nullable().Key(257, {Part("c", type.prefix_chars)}).HiddenKey(256);
    const ColumnLayout& column = table.layout().columns[0];
    const auto codec = table.Codec(257u);
    ASSERT_NE(codec, nullptr);
    const auto key_of = [&](const Cell& value) {
      return Encode(*codec, Record(table, {value}), {.hidden_key = 0}).key;
    };
    // Without the length behind a BLOB's indexed bytes, which are filled up with zeros. It orders a
    // shorter value before one that goes on with zeros, and also what is equal as far as it is
    // indexed.
    const auto indexed_part = [&](std::string key) {
      if (type.name == "BLOB") key.resize(key.size() - kHiddenKeyBytes - 2);
      return key;
    };
    const std::string null_key = Encode(*codec, Record(table, {nullptr}), {.hidden_key = 0}).key;
    for (int i = 0; i < 1500 && !::testing::Test::HasFailure(); ++i) {
      const Cell a = RandomValue(column, &random);
      const Cell b = RandomValue(column, &random);
      const int expected = type.compare(column, *a.data, *b.data);
      if (expected == 0) {
        EXPECT_EQ(indexed_part(key_of(a)), indexed_part(key_of(b)))
            << ToHex(*a.data) << " " << ToHex(*b.data);
      } else {
        EXPECT_EQ(Sign(key_of(a).compare(key_of(b))), expected)
            << ToHex(*a.data) << " " << ToHex(*b.data);
      }
      EXPECT_LT(null_key, key_of(a));
    }
  }
}

TEST(IndexCodecProperties, KeysOfSeveralPartsOrderByTheFirstPartThatDiffers) {
  Random random;
  TestTable table;
  table.Varchar("a", 20, Latin1Bin()).Nullable().Int("b").Varchar("c", 20, Binary());
  table.Key(257, {"a", "c", "b"}).HiddenKey(256);
  const auto codec = table.Codec(257u);
  const auto short_text = [&] { return std::string(random.Below(10), "a \t"[random.Below(3)]); };
  const auto trimmed = [](std::string text) {
    while (text.ends_with(' ')) text.pop_back();
    return text;
  };
  for (int i = 0; i < 5000; ++i) {
    const std::string a[2] = {short_text(), short_text()};
    const int b[2] = {static_cast<int>(random.Below(3)), static_cast<int>(random.Below(3))};
    const std::string c[2] = {short_text(), short_text()};
    const auto key_of = [&](int row) {
      return Encode(*codec, Record(table, {a[row], b[row], c[row]}), {.hidden_key = 7}).key;
    };
    int expected = ComparePadSpace(Latin1Bin(), trimmed(a[0]), trimmed(a[1]), 100);
    if (expected == 0) expected = Sign(c[0].compare(c[1]));
    if (expected == 0) expected = (b[0] > b[1]) - (b[0] < b[1]);
    EXPECT_EQ(Sign(key_of(0).compare(key_of(1))), expected);
  }
}

}  // namespace
}  // namespace cairn::testing
