#include "engine/codec/foreign_key_value.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "tests/unit/codec/foreign_key_columns.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

ForeignKeyColumns ColumnsOf(const TestTable& table) {
  std::vector<uint32_t> columns;
  for (uint32_t i = 0; i < table.layout().columns.size(); ++i) columns.push_back(i);
  Result<ForeignKeyColumns> made = ForeignKeyColumns::Make(table.layout(), columns);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return std::move(made).value();
}

TestTable OneColumn(const std::function<void(TestTable*)>& add) {
  TestTable table;
  add(&table);
  return table;
}

uint64_t HashOf(const TestTable& table, const Row& row) {
  return ColumnsOf(table).Hash(Record(table, row).data());
}

std::string CanonicalOf(const TestTable& table, const Row& row) {
  std::string bytes;
  ColumnsOf(table).WriteCanonical(Record(table, row).data(), &bytes);
  return ToHex(bytes);
}

bool AreEqual(const TestTable& a, const Row& row, const TestTable& b, const Row& other_row) {
  return HaveEqualValues(ColumnsOf(a), Record(a, row).data(), ColumnsOf(b),
                         Record(b, other_row).data());
}

TEST(ForeignKeyValue, HashesAndBytesAreEqualExactlyWhereValuesAre) {
  Random random;
  int equal_values = 0;
  for (int i = 0; i < 1500 && !::testing::Test::HasFailure(); ++i) {
    const ForeignKeyType type = RandomForeignKeyType(&random);
    TestTable a;
    TestTable b;
    AddForeignKeyColumn(type, "a", &a, &random);
    AddForeignKeyColumn(type, "b", &b, &random);
    const ForeignKeyColumns columns_a = ColumnsOf(a);
    const ForeignKeyColumns columns_b = ColumnsOf(b);
    for (int j = 0; j < 40 && !::testing::Test::HasFailure(); ++j) {
      const Record x(a, {RandomForeignKeyValue(a.layout().columns[0], &random)});
      const Record y(b, {RandomForeignKeyValue(b.layout().columns[0], &random)});
      const bool equal =
          EqualInSql(a.layout().columns[0], x.Data(0), b.layout().columns[0], y.Data(0));
      equal_values += equal;
      SCOPED_TRACE(Describe(a) + Describe(b) + ToHex(x.Data(0)) + " " + ToHex(y.Data(0)));
      EXPECT_EQ(HaveEqualValues(columns_a, x.data(), columns_b, y.data()), equal);
      EXPECT_EQ(columns_a.Hash(x.data()) == columns_b.Hash(y.data()), equal);
    }
  }
  EXPECT_GT(equal_values, 1000) << "values that are never equal show nothing";
}

TEST(ForeignKeyValue, AValueThatFitsIsTheSameWhereItIsAssigned) {
  Random random;
  int fitted = 0;
  for (int i = 0; i < 1500 && !::testing::Test::HasFailure(); ++i) {
    const ForeignKeyType type = RandomForeignKeyType(&random);
    TestTable a;
    TestTable b;
    AddForeignKeyColumn(type, "a", &a, &random);
    AddForeignKeyColumn(type, "b", &b, &random);
    const ForeignKeyColumns columns_a = ColumnsOf(a);
    const ForeignKeyColumns columns_b = ColumnsOf(b);
    for (int j = 0; j < 20 && !::testing::Test::HasFailure(); ++j) {
      const Record from(a, {RandomForeignKeyValue(a.layout().columns[0], &random)});
      Record to(b, {RandomForeignKeyValue(b.layout().columns[0], &random)});
      if (!columns_b.Assign(columns_a, from.data(), to.data())) continue;
      ++fitted;
      SCOPED_TRACE(Describe(a) + Describe(b) + ToHex(from.Data(0)) + " " + ToHex(to.Data(0)));
      // NO PAD: a VARCHAR that ends in spaces is another value in a CHAR, which has them anyway.
      const bool keeps_spaces = type.collation == nullptr ||
                                type.collation->TrimmedLength(from.Data(0)) == from.Data(0).size();
      if (keeps_spaces || b.layout().columns[0].type == ColumnType::kVarchar) {
        EXPECT_EQ(HaveEqualValues(columns_a, from.data(), columns_b, to.data()), true);
      }
    }
  }
  EXPECT_GT(fitted, 1000);
}

TEST(ForeignKeyValue, AValueThatDoesNotFitIsNotAssigned) {
  const TestTable longer = OneColumn([](TestTable* t) { t->Varchar("c", 40, Utf8mb4General()); });
  const TestTable text = OneColumn([](TestTable* t) { t->Varchar("c", 5, Utf8mb4General()); });
  const TestTable fixed = OneColumn([](TestTable* t) { t->Char("c", 5, Utf8mb4General()); });
  const TestTable nullable =
      OneColumn([](TestTable* t) { t->Varchar("c", 40, Utf8mb4General()).Nullable(); });
  const auto assign = [](const TestTable& from, const Row& row, const TestTable& to) {
    Record record(to, {"old"});
    return ColumnsOf(to).Assign(ColumnsOf(from), Record(from, row).data(), record.data());
  };
  EXPECT_TRUE(assign(longer, {"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"}, text));
  EXPECT_FALSE(assign(longer, {"123456"}, text)) << "characters count, not bytes";
  EXPECT_FALSE(assign(longer, {"123456"}, fixed));
  EXPECT_FALSE(assign(nullable, {nullptr}, text));
  EXPECT_TRUE(assign(nullable, {nullptr}, nullable));
  Record record(nullable, {"old"});
  EXPECT_TRUE(ColumnsOf(nullable).SetNull(record.data()));
  EXPECT_TRUE(ColumnsOf(nullable).HasNull(record.data()));
  EXPECT_TRUE(
      ColumnsOf(nullable).Assign(ColumnsOf(longer), Record(longer, {"new"}).data(), record.data()));
  EXPECT_TRUE(AreEqual(nullable, {"new"}, longer, {"new"}));
  EXPECT_FALSE(ColumnsOf(nullable).HasNull(record.data()));
  EXPECT_FALSE(ColumnsOf(text).SetNull(Record(text, {"old"}).data()));
  const TestTable three = OneColumn([](TestTable* t) { t->Char("c", 3, Binary()); });
  const TestTable four = OneColumn([](TestTable* t) { t->Char("c", 4, Binary()); });
  EXPECT_FALSE(assign(three, {"ab"}, four));
  EXPECT_TRUE(assign(three, {"ab"}, three));
}

TEST(ForeignKeyValue, CharAndVarcharOfAnyLengthHoldTheSameValues) {
  const TestTable text = OneColumn([](TestTable* t) { t->Char("c", 5, Utf8mb4General()); });
  const TestTable other = OneColumn([](TestTable* t) { t->Varchar("c", 300, Utf8mb4General()); });
  EXPECT_TRUE(AreEqual(text, {"ab"}, other, {"AB  "}));
  EXPECT_EQ(HashOf(text, {"ab"}), HashOf(other, {"AB  "}));
  EXPECT_FALSE(AreEqual(text, {"ab"}, other, {"abc"}));
}

TEST(ForeignKeyValue, AVarcharWithTrailingSpacesEqualsNoCharOfANoPadCollation) {
  const TestTable text = OneColumn([](TestTable* t) { t->Char("c", 5, Utf8mb4NoPadBin()); });
  const TestTable longer = OneColumn([](TestTable* t) { t->Char("c", 8, Utf8mb4NoPadBin()); });
  const TestTable other = OneColumn([](TestTable* t) { t->Varchar("c", 9, Utf8mb4NoPadBin()); });
  EXPECT_TRUE(AreEqual(text, {"ab"}, longer, {"ab"}));
  EXPECT_TRUE(AreEqual(text, {"ab"}, other, {"ab"}));
  EXPECT_FALSE(AreEqual(text, {"ab"}, other, {"ab "}));
  EXPECT_FALSE(AreEqual(other, {"ab"}, other, {"ab "}));
}

TEST(ForeignKeyValue, BinaryColumnsCompareByteByByte) {
  const TestTable three = OneColumn([](TestTable* t) { t->Char("c", 3, Binary()); });
  const TestTable four = OneColumn([](TestTable* t) { t->Char("c", 4, Binary()); });
  const TestTable any = OneColumn([](TestTable* t) { t->Varchar("c", 9, Binary()); });
  EXPECT_TRUE(AreEqual(three, {"ab "}, any, {"ab "}));
  EXPECT_TRUE(AreEqual(three, {"ab"}, any, {std::string("ab\0", 3)}));
  EXPECT_FALSE(AreEqual(three, {"ab"}, any, {"ab"}));
  EXPECT_FALSE(AreEqual(three, {"ab"}, four, {"ab"}));
}

TEST(ForeignKeyValue, NegativeZeroIsZero) {
  const TestTable table = OneColumn([](TestTable* t) { t->Column("d", ColumnType::kDouble, 8); });
  EXPECT_TRUE(AreEqual(table, {Cell::Double(-0.0)}, table, {Cell::Double(0.0)}));
  EXPECT_EQ(HashOf(table, {Cell::Double(-0.0)}), HashOf(table, {Cell::Double(0.0)}));
  EXPECT_FALSE(AreEqual(table, {Cell::Double(-1.0)}, table, {Cell::Double(1.0)}));
}

TEST(ForeignKeyValue, AnyNullIsNoValue) {
  TestTable table;
  table.Int("a").Int("b").Nullable();
  const ForeignKeyColumns columns = ColumnsOf(table);
  EXPECT_TRUE(columns.HasNull(Record(table, {1, nullptr}).data()));
  EXPECT_FALSE(columns.HasNull(Record(table, {1, 2}).data()));
  EXPECT_FALSE(AreEqual(table, {1, nullptr}, table, {1, nullptr}));
}

TEST(ForeignKeyValue, ColumnsAreNotTakenForOneAnother) {
  TestTable table;
  table.Varchar("a", 10, Binary()).Varchar("b", 10, Binary());
  EXPECT_FALSE(AreEqual(table, {"ab", "c"}, table, {"a", "bc"}));
  EXPECT_NE(HashOf(table, {"ab", "c"}), HashOf(table, {"a", "bc"}));
}

TEST(ForeignKeyValue, BytesDifferWhereTheImageOrTheNullDoes) {
  TestTable table;
  table.Varchar("a", 10, Latin1Swedish()).Nullable().Int("b").Nullable();
  const ForeignKeyColumns columns = ColumnsOf(table);
  const auto differ = [&](const Row& a, const Row& b) {
    return columns.BytesDiffer(Record(table, a).data(), Record(table, b).data());
  };
  EXPECT_FALSE(differ({"x", 1}, {"x", 1}));
  EXPECT_TRUE(differ({"x", 1}, {"X", 1})) << "an equal value in other bytes";
  EXPECT_TRUE(differ({"x", 1}, {"x ", 1}));
  EXPECT_TRUE(differ({"x", 1}, {"x", nullptr}));
  EXPECT_TRUE(differ({"x", 0}, {"x", nullptr})) << "zeros lie behind the NULL";
  EXPECT_FALSE(differ({"x", nullptr}, {"x", nullptr}));
  Record old_record(table, {"x", 1});
  Record new_record(table, {"x", 1});
  new_record.data()[table.layout().columns[0].offset + 5] = 'z';
  EXPECT_FALSE(columns.BytesDiffer(old_record.data(), new_record.data()))
      << "what lies behind the end does not count";
}

TEST(ForeignKeyValue, BlobsVirtualAndMissingColumnsAreRefused) {
  TestTable table;
  table.Blob("a", 2, Binary()).Int("b");
  table.mutable_layout().columns[1].is_virtual = true;
  for (const uint32_t column : {0u, 1u, 2u}) {
    EXPECT_EQ(ForeignKeyColumns::Make(table.layout(), {column}).status().code(),
              StatusCode::kInvalidArgument);
  }
}

// docs/on-disk-format.md, Values of foreign keys.
TEST(ForeignKeyValue, HashesAreThoseOfTheFormatPage) {
  const TestTable number = OneColumn([](TestTable* t) { t->Int("c"); });
  EXPECT_EQ(CanonicalOf(number, {7}), "0000000407000000");
  EXPECT_EQ(HashOf(number, {7}), 0x0ccc521c61cc7c9e);
  TestTable two;
  two.Int("a").Varchar("b", 20, Latin1Swedish());
  EXPECT_EQ(CanonicalOf(two, {7, "ab "}),
            "0000000407000000"
            "00000009414220202020202002");
  EXPECT_EQ(HashOf(two, {7, "ab "}), 0x5ca97c4625d1f19d);
  const TestTable text = OneColumn([](TestTable* t) { t->Char("c", 5, Utf8mb4Bin()); });
  EXPECT_EQ(CanonicalOf(text, {"\xc3\x9f"}), "00000009c39f20202020202002");
  EXPECT_EQ(HashOf(text, {"\xc3\x9f"}), 0x68c4de8271d89caf);
  const TestTable bytes = OneColumn([](TestTable* t) { t->Varchar("c", 5, Binary()); });
  EXPECT_EQ(CanonicalOf(bytes, {""}), "00000000");
  EXPECT_EQ(HashOf(bytes, {""}), 0x9c60c22591400851);
}

}  // namespace
}  // namespace cairn::testing
