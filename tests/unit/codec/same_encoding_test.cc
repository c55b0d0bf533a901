#include "engine/codec/same_encoding.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/format_version.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"
#include "tests/unit/codec/test_table.h"

namespace cairn::testing {
namespace {

constexpr uint32_t kNumber = 257;

TestTable Keyed(TestTable table, uint32_t prefix_chars, uint16_t format_version) {
  return table.HiddenKey(256)
      .Key(kNumber, {prefix_chars == 0 ? Part("c") : Part("c", prefix_chars)})
      .FormatVersion(format_version);
}

bool Same(const TestTable& before, const TestTable& after) {
  const uint16_t format = before.indexes()[1].format_version;
  return SameEncoding(before.layout(), before.indexes()[1].parts[0], after.layout(),
                      after.indexes()[1].parts[0], format);
}

bool SameVarchars(uint32_t chars, uint32_t more_chars, const Collation& collation,
                  uint16_t format_version = kStockFormatVersion, uint32_t prefix_chars = 0) {
  return Same(Keyed(TestTable().Varchar("c", chars, collation), prefix_chars, format_version),
              Keyed(TestTable().Varchar("c", more_chars, collation), prefix_chars, format_version));
}

TEST(SameEncodings, OfAVarcharThatGrowsWithinOneCounterByte) {
  for (const Collation* collation : {&Binary(), &Latin1Bin(), &Latin1Swedish()}) {
    EXPECT_TRUE(SameVarchars(10, 50, *collation)) << collation->traits().name;
    EXPECT_TRUE(SameVarchars(10, 50, *collation, kCairnFormatVersion));
  }
  EXPECT_TRUE(SameVarchars(10, 50, Utf8mb3Bin()));
  EXPECT_TRUE(SameVarchars(10, 50, Utf8mb3General()));
  EXPECT_TRUE(SameVarchars(10, 50, Utf8mb4Unicode(), kCairnFormatVersion));
  EXPECT_TRUE(SameVarchars(10, 50, Latin1Bin(), 11));
}

TEST(SameEncodings, NotOfAVarcharThatGrowsPastWhatOneByteCounts) {
  EXPECT_TRUE(SameVarchars(10, 247, Latin1Bin()));
  EXPECT_FALSE(SameVarchars(10, 248, Latin1Bin()));
  EXPECT_FALSE(SameVarchars(10, 300, Utf8mb4Unicode(), kCairnFormatVersion));
  EXPECT_FALSE(SameVarchars(200, 300, Binary())) << "another length in the record";
}

TEST(SameEncodings, NotWhereWeightsAreCutAtTheDeclaredLength) {
  EXPECT_FALSE(SameVarchars(10, 50, Utf8mb4Unicode())) << "characters of several weights";
  EXPECT_FALSE(SameVarchars(10, 50, Utf8mb4AsCs())) << "several levels";
}

TEST(SameEncodings, OfAPrefixWhateverIsBehindIt) {
  EXPECT_TRUE(SameVarchars(10, 50, Utf8mb4Unicode(), kStockFormatVersion, 5));
  EXPECT_FALSE(Same(Keyed(TestTable().Varchar("c", 10, Latin1Bin()), 0, kStockFormatVersion),
                    Keyed(TestTable().Varchar("c", 50, Latin1Bin()), 10, kStockFormatVersion)));
}

TEST(SameEncodings, NotOfAnotherTypeCollationNullabilityOrDirection) {
  const auto of = [](TestTable table) { return Keyed(std::move(table), 0, kCairnFormatVersion); };
  const TestTable integer = of(TestTable().Int("c"));
  EXPECT_TRUE(Same(integer, integer));
  EXPECT_FALSE(Same(integer, of(TestTable().Int("c", 8))));
  EXPECT_FALSE(Same(integer, of(TestTable().Unsigned("c"))));
  EXPECT_FALSE(Same(integer, of(TestTable().Int("c").Nullable())));
  TestTable descending = integer;
  descending.CairnFormat([] { return true; });
  EXPECT_FALSE(Same(integer, descending));
  const TestTable text = of(TestTable().Varchar("c", 10, Utf8mb4General()));
  EXPECT_FALSE(Same(text, of(TestTable().Varchar("c", 10, Utf8mb4Unicode()))));
  EXPECT_FALSE(Same(text, of(TestTable().Varchar("c", 9, Utf8mb4General()))));
  const TestTable chars = of(TestTable().Char("c", 10, Latin1Swedish()));
  EXPECT_FALSE(Same(chars, of(TestTable().Char("c", 11, Latin1Swedish()))));
  EXPECT_FALSE(Same(Keyed(TestTable().Blob("c", 2, Binary()), 4, kStockFormatVersion),
                    Keyed(TestTable().Blob("c", 3, Binary()), 4, kStockFormatVersion)));
}

// Whatever it calls the same has the same bytes for random values.
TEST(SameEncodings, GiveTheSameEntries) {
  Random random;
  int same = 0;
  for (int i = 0; i < 400; ++i) {
    const TestTable before = RandomTable(&random);
    TestTable after = before;
    for (ColumnLayout& column : after.mutable_layout().columns) {
      if (column.type != ColumnType::kVarchar) continue;
      // At the end of the record there is room for it.
      column.max_bytes += 7 * column.collation->traits().max_char_bytes;
      column.length_bytes = column.max_bytes > UINT8_MAX ? 2 : 1;
      column.image_bytes = column.max_bytes + column.length_bytes;
      column.offset = after.layout().record_bytes;
      after.mutable_layout().record_bytes += column.image_bytes;
    }
    const Row row = RandomRow(before, &random);
    for (const IndexLayout& index : before.indexes()) {
      IndexLayout wider = index;
      bool all_same = true;
      for (KeyPartLayout& part : wider.parts) {
        const ColumnLayout& column = after.layout().columns[part.column];
        const KeyPartLayout narrow = part;
        if (column.type == ColumnType::kVarchar && !part.is_prefix) {
          part.length_bytes = column.max_bytes;
        }
        all_same = all_same && SameEncoding(before.layout(), narrow, after.layout(), part,
                                            index.format_version);
      }
      if (!all_same || index.kind != IndexKind::kPrimary) continue;
      ++same;
      const auto codec = IndexCodec::Make(after.layout(), wider, wider);
      ASSERT_TRUE(codec.ok()) << codec.status().ToString();
      std::string keys[2];
      std::string infos[2];
      const Record narrow_record(before, row);
      const Record wide_record(after, row);
      before.Codec(index)->EncodeKey(narrow_record.data(), 0, &keys[0], &infos[0]);
      (*codec)->EncodeKey(wide_record.data(), 0, &keys[1], &infos[1]);
      EXPECT_EQ(ToHex(keys[0]), ToHex(keys[1])) << Describe(before);
      EXPECT_EQ(ToHex(infos[0]), ToHex(infos[1])) << Describe(before);
    }
  }
  EXPECT_GT(same, 50);
}

}  // namespace
}  // namespace cairn::testing
