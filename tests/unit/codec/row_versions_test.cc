// Rows of several layouts: bytes by hand (docs/on-disk-format.md), and what damage gives.
#include "engine/codec/row_versions.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/format_version.h"
#include "engine/codec/layout_history.h"
#include "engine/codec/row_codec.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/test_collations.h"
#include "tests/unit/codec/test_table.h"

namespace cairn::testing {
namespace {

using Checksums = IndexCodec::Checksums;

// A table with its history and codec.
struct Versioned {
  TestTable table;
  IndexLayout primary;
  std::unique_ptr<IndexCodec> codec;

  uint16_t version() const { return primary.history == nullptr ? 0 : primary.history->version(); }
};

Versioned Open(TestTable table, std::shared_ptr<const LayoutHistory> history = nullptr) {
  Versioned opened;
  opened.table = std::move(table);
  opened.primary = opened.table.primary();
  opened.primary.history = std::move(history);
  auto codec = IndexCodec::Make(opened.table.layout(), opened.primary, opened.primary);
  EXPECT_TRUE(codec.ok()) << codec.status().ToString();
  opened.codec = *std::move(codec);
  return opened;
}

Versioned Alter(const Versioned& before, TestTable table,
                const std::vector<ColumnOrigin>& origins) {
  const auto begun =
      LayoutHistory::Begin(*IndexCodec::DescribeRow(before.table.layout(), before.table.primary()));
  const LayoutHistory& history =
      before.primary.history != nullptr ? *before.primary.history : *begun;
  auto next = history.Next(*IndexCodec::DescribeRow(table.layout(), table.primary()), origins);
  EXPECT_TRUE(next.ok()) << next.status().ToString();
  return Open(std::move(table), std::make_shared<const LayoutHistory>(*std::move(next)));
}

ColumnOrigin Added(std::string_view hex) {
  return {std::nullopt, {AbsentImage::Kind::kBytes, Hex(hex)}};
}
const ColumnOrigin kAddedAsNull = {std::nullopt, {AbsentImage::Kind::kNull, ""}};

std::string ValueOf(const Versioned& versioned, const Row& row) {
  const Record record(versioned.table, row);
  return ToHex(Encode(*versioned.codec, record, {}).value);
}

Status Read(const Versioned& versioned, const ColumnSet& columns, Checksums checksums,
            std::string_view value, Record* record) {
  const auto plan = versioned.codec->MakePlan(columns, checksums);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return versioned.codec->Decode(**plan, Hex("00000100 80000001"), value, record->data());
}

// That the value, of the key with id 1, is the row.
void ExpectReads(const Versioned& versioned, std::string_view hex, const Row& row) {
  const ColumnSet all(row.size(), true);
  const Record expected(versioned.table, row);
  for (const Checksums checksums : {Checksums::kIgnore, Checksums::kVerify}) {
    Record record(versioned.table);
    const std::string value = Hex(hex);
    const Status status = Read(versioned, all, checksums, value, &record);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(record.ToString(all), expected.ToString(all)) << hex;
  }
}

// The table of the format page and what becomes of it.
class RowVersionVectors : public ::testing::Test {
 protected:
  static TestTable WithKey(TestTable table) { return table.PrimaryKey(0x100, {"id"}); }

  const Versioned v0_ = Open(WithKey(
      TestTable().Int("id").Int("a").Nullable().Varchar("b", 4, Latin1Swedish()).Nullable()));
  const Versioned v1_ = Alter(v0_,
                              WithKey(TestTable()
                                          .Int("id")
                                          .Int("a")
                                          .Nullable()
                                          .Varchar("b", 4, Latin1Swedish())
                                          .Nullable()
                                          .Int("c")
                                          .Varchar("d", 4, Latin1Swedish())
                                          .Nullable()),
                              {{0}, {1}, {2}, Added("05000000"), kAddedAsNull});
  const Versioned v2_ = Alter(v1_,
                              WithKey(TestTable()
                                          .Varchar("d", 4, Latin1Swedish())
                                          .Nullable()
                                          .Int("id")
                                          .Varchar("b", 4, Latin1Swedish())
                                          .Nullable()),
                              {{4}, {0}, {2}});
  const Versioned v3_ = Alter(
      v2_, WithKey(TestTable().Int("id").Varchar("b", 4, Latin1Swedish()).Nullable()), {{1}, {2}});
  const Versioned v4_ =
      Alter(v3_, WithKey(TestTable().Int("id").Varchar("b", 300, Latin1Swedish()).Nullable()),
            {{0}, {1}});
};

TEST_F(RowVersionVectors, RowsHaveTheBytesOfTheFormatPage) {
  EXPECT_EQ(ValueOf(v0_, {1, 7, "xy"}), ToHex(Hex("00 07000000 027879")));
  EXPECT_EQ(v1_.version(), 1);
  EXPECT_EQ(ValueOf(v1_, {1, 7, "xy", 5, nullptr}),
            ToHex(Hex("00 07000000 027879 45 0001 01 05000000")));
  EXPECT_EQ(ValueOf(v1_, {1, nullptr, "xy", 6, "z"}),
            ToHex(Hex("01 027879 45 0001 00 06000000 017a")));
  EXPECT_EQ(v2_.version(), 2);
  EXPECT_EQ(ValueOf(v2_, {"z", 1, "xy"}), ToHex(Hex("01 027879 45 0002 00 017a")));
  EXPECT_EQ(v4_.version(), 4);
  EXPECT_EQ(ValueOf(v4_, {1, "xy"}), ToHex(Hex("03 45 0004 00 02007879")));
  EXPECT_EQ(ValueOf(v4_, {1, nullptr}), ToHex(Hex("03 45 0004 01")));
}

TEST_F(RowVersionVectors, ARowWithoutColumnsInTheExtensionIsOneOfVersionZero) {
  EXPECT_EQ(v3_.version(), 3);
  EXPECT_EQ(ValueOf(v3_, {1, "xy"}), ToHex(Hex("01 027879")));
  EXPECT_EQ(ValueOf(v3_, {1, "xy"}), ValueOf(v0_, {1, nullptr, "xy"}));
}

TEST_F(RowVersionVectors, RowsOfAllVersionsAreRead) {
  ExpectReads(v1_, "00 07000000 027879", {1, 7, "xy", 5, nullptr});
  ExpectReads(v1_, "00 07000000 027879 45 0001 01 06000000", {1, 7, "xy", 6, nullptr});
  ExpectReads(v2_, "00 07000000 027879", {nullptr, 1, "xy"});
  ExpectReads(v2_, "00 07000000 027879 45 0001 00 06000000 017a", {"z", 1, "xy"});
  ExpectReads(v2_, "01 027879 45 0002 00 017a", {"z", 1, "xy"});
  ExpectReads(v3_, "00 07000000 027879 45 0001 00 06000000 017a", {1, "xy"});
  ExpectReads(v4_, "00 07000000 027879 45 0001 00 06000000 017a", {1, "xy"});
  ExpectReads(v4_, "01 027879 45 0002 00 017a", {1, "xy"});
  ExpectReads(v4_, "03", {1, nullptr});
  ExpectReads(v4_, "01 027879", {1, "xy"});
  ExpectReads(v4_, "03 45 0004 00 02007879", {1, "xy"});
}

TEST_F(RowVersionVectors, AChecksumChunkFollowsTheExtensionOrTheBase) {
  for (const char* hex : {"01 027879", "01 027879 45 0002 00 017a"}) {
    std::string value = Hex(hex);
    IndexCodec::AppendChecksums(Hex("00000100 80000001"), &value);
    const ColumnSet all(3, true);
    Record record(v2_.table);
    EXPECT_TRUE(Read(v2_, all, Checksums::kIgnore, value, &record).ok());
    EXPECT_TRUE(Read(v2_, all, Checksums::kVerify, value, &record).ok());
    value.back() = static_cast<char>(value.back() ^ 1);
    EXPECT_EQ(Read(v2_, all, Checksums::kVerify, value, &record).code(),
              StatusCode::kChecksumMismatch);
  }
}

TEST_F(RowVersionVectors, DamageBehindTheBaseColumnsIsCorruption) {
  const struct {
    const char* value;
    const char* what;
  } cases[] = {
      {"01 027879 46 0002 00 017a", "no extension"},
      {"01 027879 00", "no extension"},
      {"01 027879 01 0102030405060708 09", "no extension"},
      {"01 027879 45", "ends inside a column"},
      {"01 027879 45 00", "ends inside a column"},
      {"01 027879 45 0002", "ends inside a column"},
      {"01 027879 45 0002 00", "ends inside a column"},
      {"01 027879 45 0002 00 027a", "ends inside a column"},
      {"01 027879 45 0001 00 060000", "ends inside a column"},
      {"01 027879 45 0000 00 017a", "layout version"},
      {"01 027879 45 0003", "layout version"},
      {"01 027879 45 0005 00 017a", "layout version"},
      {"01 027879 45 ffff 00 017a", "layout version"},
      {"01 027879 45 0002 02 017a", "NULL bit"},
      {"01 027879 45 0001 80 06000000 017a", "NULL bit"},
      {"01 027879 45 0002 00 057a7a7a7a7a", "longer than declared"},
  };
  const Versioned reader = Alter(
      v3_, WithKey(TestTable().Int("id").Varchar("b", 4, Latin1Swedish()).Nullable().Int("e")),
      {{0}, {1}, Added("09000000")});
  for (const auto& [value, what] : cases) {
    Record verified(reader.table);
    const Status status =
        Read(reader, ColumnSet(3, true), Checksums::kVerify, Hex(value), &verified);
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << value;
    EXPECT_NE(status.message().find(what), std::string_view::npos)
        << value << ": " << status.ToString();
    // A reader of a column of the base does not look behind it.
    Record record(reader.table);
    const ColumnSet b = reader.table.Columns({"b"});
    EXPECT_TRUE(Read(reader, b, Checksums::kIgnore, Hex(value), &record).ok()) << value;
    EXPECT_EQ(record.ToString(b), "b=7879 ");
  }
}

TEST_F(RowVersionVectors, BytesBehindTheExtensionAreCorruption) {
  Record record(v2_.table);
  const ColumnSet all(3, true);
  for (const char* value :
       {"01 027879 45 0002 00 017a 00", "01 027879 45 0002 00 017a 45 0002 00"}) {
    EXPECT_EQ(Read(v2_, all, Checksums::kVerify, Hex(value), &record).code(),
              StatusCode::kCorruption);
  }
}

TEST(RowVersions, WhatNoLongerLivesHasThePlaceOfZeros) {
  const Versioned v0 = Open(TestTable()
                                .Int("id")
                                .Int("n", 2)
                                .Varchar("s", 9, Latin1Swedish())
                                .Blob("t", 2, Latin1Swedish())
                                .Int("m", 2)
                                .Column("e", ColumnType::kEnum, 1)
                                .PrimaryKey(0x100, {"id"}));
  EXPECT_EQ(ValueOf(v0, {1, 258, "ab", "c", 3, 1}), ToHex(Hex("0201 026162 010063 0300 01")));
  const Versioned v1 = Alter(
      v0,
      TestTable().Int("id").Int("m", 2).Column("e", ColumnType::kEnum, 2).PrimaryKey(0x100, {"id"}),
      {{0}, {4}, {5}});
  EXPECT_EQ(ValueOf(v1, {1, 3, 1}), ToHex(Hex("0000 00 0000 0300 00 45 0001 0100")));
  ExpectReads(v1, "0201 026162 010063 0300 ff", {1, 3, 255});
  ExpectReads(v1, "0000 00 0000 0300 00 45 0001 0102", {1, 3, 513});
}

TEST(RowVersions, ValuesBecomeThoseOfWiderTypes) {
  const Versioned v0 = Open(TestTable()
                                .Int("id")
                                .Int("i", 1)
                                .Unsigned("u", 1)
                                .Char("c", 2, Latin1Swedish())
                                .Char("x", 2, Binary())
                                .Blob("b", 1, Binary())
                                .PrimaryKey(0x100, {"id"}));
  EXPECT_EQ(ValueOf(v0, {1, -2, 254, "a", "b", "cd"}), ToHex(Hex("fe fe 6120 6200 026364")));
  const Versioned v1 = Alter(v0,
                             TestTable()
                                 .Int("id")
                                 .Int("i", 8)
                                 .Int("u", 4)
                                 .Nullable()
                                 .Char("c", 4, Latin1Swedish())
                                 .Char("x", 4, Binary())
                                 .Blob("b", 3, Binary())
                                 .PrimaryKey(0x100, {"id"}),
                             {{0}, {1}, {2}, {3}, {4}, {5}});
  ExpectReads(v1, "fe fe 6120 6200 026364", {1, -2, 254, "a", "b", "cd"});
  EXPECT_EQ(ValueOf(v1, {1, -2, nullptr, "abcd", "b", "cd"}),
            ToHex(Hex("00 00 0000 0000 00 45 0001 01 feffffffffffffff 61626364 62000000 "
                      "0200006364")));
}

TEST(RowVersions, NullInAColumnThatBecameNotNullIsDamage) {
  const auto table = [](bool a_is_nullable, bool b_is_nullable) {
    TestTable made = TestTable().Int("id").Int("a", 2);
    if (a_is_nullable) made = made.Nullable();
    made = made.Int("b", 1);
    if (b_is_nullable) made = made.Nullable();
    return made.PrimaryKey(0x100, {"id"});
  };
  const Versioned v0 = Open(TestTable().Int("id").Int("a", 2).Nullable().PrimaryKey(0x100, {"id"}));
  const Versioned v1 = Alter(v0, table(true, true), {{0}, {1}, kAddedAsNull});
  const Versioned v2 = Alter(v1, table(false, false), {{0}, {1}, {2}});
  EXPECT_EQ(ValueOf(v2, {1, 2, 3}), ToHex(Hex("01 45 0002 0200 03")));
  ExpectReads(v2, "01 45 0002 0200 03", {1, 2, 3});
  ExpectReads(v2, "00 0200 45 0001 00 03", {1, 2, 3});
  for (const char* const missing : {"00 0200", "01 45 0001 00 03", "00 0200 45 0001 01"}) {
    Record record(v2.table);
    EXPECT_EQ(Read(v2, ColumnSet(3, true), Checksums::kIgnore, Hex(missing), &record).code(),
              StatusCode::kCorruption)
        << missing;
  }
}

TEST(RowVersions, CharsWithoutTrailingSpacesGrowToo) {
  const auto of = [](uint32_t chars) {
    return TestTable()
        .Int("id")
        .Char("c", chars, Utf8mb4General())
        .PrimaryKey(0x100, {"id"})
        .FormatVersion(kCairnFormatVersion)
        .TrimmedChars();
  };
  const Versioned v0 = Open(of(10));
  EXPECT_EQ(ValueOf(v0, {1, "a"}), ToHex(Hex("0161")));
  const Versioned v1 = Alter(v0, of(100), {{0}, {1}});
  EXPECT_EQ(ValueOf(v1, {1, "a"}), ToHex(Hex("00 45 0001 010061")));
  ExpectReads(v1, "0161", {1, "a"});
}

TEST(RowVersions, TheTtlStampStandsInFront) {
  const auto of = [](bool wide) {
    return TestTable().Int("id").Int("a", wide ? 8 : 4).PrimaryKey(0x100, {"id"}).TtlStamps();
  };
  const Versioned v1 = Alter(Open(of(false)), of(true), {{0}, {1}});
  const Record record(v1.table, {1, 2});
  const Entry entry = Encode(*v1.codec, record, {.ttl_stamp = 0x1122});
  EXPECT_EQ(ToHex(entry.value), ToHex(Hex("0000000000001122 00000000 45 0001 0200000000000000")));
  EXPECT_EQ(*v1.codec->TtlStamp(entry.value), 0x1122u);
  ExpectReads(v1, "0000000000001122 07000000", {1, 7});
}

TEST(RowVersions, UnpackInfoStandsBeforeTheBase) {
  const auto of = [](bool wide) {
    return TestTable().Varchar("k", 4, Latin1Bin()).Int("a", wide ? 8 : 4).PrimaryKey(0x100, {"k"});
  };
  const Versioned v0 = Open(of(false));
  const Entry old_entry = Encode(*v0.codec, Record(v0.table, {"x ", 7}), {});
  const Versioned v1 = Alter(v0, of(true), {{0}, {1}});
  const auto plan = v1.codec->MakePlan(ColumnSet(2, true), Checksums::kVerify);
  Record record(v1.table);
  const Status status = v1.codec->Decode(**plan, old_entry.key, old_entry.value, record.data());
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Record expected(v1.table, {"x ", 7});
  EXPECT_EQ(record.ToString(ColumnSet(2, true)), expected.ToString(ColumnSet(2, true)));
}

// More than a reader keeps the steps of.
TEST(RowVersions, AnyNumberOfVersionsIsRead) {
  const TestTable with = TestTable().Int("id").Int("a").Int("b", 1).PrimaryKey(0x100, {"id"});
  const TestTable without = TestTable().Int("id").Int("a").PrimaryKey(0x100, {"id"});
  Versioned now = Open(without);
  std::vector<std::string> values = {ValueOf(now, {1, 0})};
  for (int i = 1; i <= 400; ++i) {
    now = Alter(now, with, {{0}, {1}, Added("2a")});
    values.push_back(ValueOf(now, {1, i, 7}));
    if (i < 400) now = Alter(now, without, {{0}, {1}});
  }
  EXPECT_EQ(now.version(), 799);
  const ColumnSet all(3, true);
  const auto plan = now.codec->MakePlan(all, Checksums::kIgnore);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i <= 400; ++i) {
      Record record(now.table);
      const std::string value = Hex(values[i]);
      ASSERT_TRUE(now.codec->Decode(**plan, Hex("00000100 80000001"), value, record.data()).ok());
      const Record expected(now.table, {1, i, i == 400 ? 7 : 42});
      ASSERT_EQ(record.ToString(all), expected.ToString(all));
    }
  }
}

TEST(RowVersions, ABlobThatRowsLackPointsIntoTheHistory) {
  const TestTable v0 = TestTable().Int("id").PrimaryKey(0x100, {"id"});
  const TestTable v1 =
      TestTable().Int("id").Blob("t", 2, Latin1Swedish()).PrimaryKey(0x100, {"id"});
  const Versioned reader = Alter(Open(v0), v1, {{0}, Added("0300 616263")});
  ExpectReads(reader, "", {1, "abc"});
  // After damage there is none.
  Record record(reader.table);
  EXPECT_EQ(Read(reader, ColumnSet(2, true), Checksums::kVerify, "x", &record).code(),
            StatusCode::kCorruption);
  EXPECT_EQ(record.Data(1), "");
}

TEST(RowVersions, AHistoryOfAnotherTableIsRefused) {
  const TestTable v0 = TestTable().Int("id").Int("a").PrimaryKey(0x100, {"id"});
  const TestTable v1 = TestTable().Int("id").Int("a", 8).PrimaryKey(0x100, {"id"});
  const Versioned altered = Alter(Open(v0), v1, {{0}, {1}});
  EXPECT_TRUE(altered.codec->has_history());
  EXPECT_FALSE(Open(v0).codec->has_history());
  EXPECT_EQ(IndexCodec::Make(v0.layout(), altered.primary, altered.primary).status().code(),
            StatusCode::kMetadataMismatch);
  IndexLayout secondary = altered.primary;
  secondary.kind = IndexKind::kSecondary;
  EXPECT_EQ(IndexCodec::Make(v1.layout(), v1.primary(), secondary).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(AbsentImages, AreValuesAsRowsHaveThem) {
  const TestTable table = TestTable()
                              .Int("i", 2)
                              .Varchar("v", 300, Latin1Swedish())
                              .Nullable()
                              .Blob("b", 2, Latin1Swedish())
                              .Char("c", 40, Latin1Swedish());
  const Record record(table, {258, "ab", "c", "d"});
  const auto image = [&](uint32_t column, bool trims_chars, const Record& of) {
    return AbsentImageOf(table.layout().columns[column], trims_chars, of.data());
  };
  EXPECT_EQ(image(0, false, record)->bytes, Hex("0201"));
  EXPECT_EQ(image(1, false, record)->bytes, Hex("0200 6162"));
  EXPECT_EQ(image(2, false, record)->bytes, Hex("0100 63"));
  EXPECT_EQ(image(3, true, record)->bytes, Hex("01 64"));
  EXPECT_EQ(image(3, false, record)->bytes, "d" + std::string(39, ' '));
  const Record longest(table, {1, nullptr, std::string(4094, 'x'), ""});
  EXPECT_EQ(image(1, false, longest)->kind, AbsentImage::Kind::kNull);
  EXPECT_TRUE(image(2, false, longest).ok());
  const Record longer(table, {1, nullptr, std::string(4095, 'x'), ""});
  EXPECT_EQ(image(2, false, longer).status().code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace cairn::testing
