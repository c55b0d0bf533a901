// What decoding looks at, and what it leaves alone.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/bytes.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

using Checksums = IndexCodec::Checksums;

Status DecodeColumns(const TestTable& table, uint32_t index_number,
                     std::initializer_list<const char*> columns, const std::string& key,
                     const std::string& value, Record* record,
                     Checksums checksums = Checksums::kIgnore) {
  const auto codec = table.Codec(index_number);
  Result<std::unique_ptr<DecodePlan>> plan = codec->MakePlan(table.Columns(columns), checksums);
  if (!plan.ok()) return plan.status();
  return codec->Decode(**plan, Hex(key), Hex(value), record->data());
}

const TestTable& WideTable() {
  static const TestTable table = [] {
    TestTable wide;
    wide.Varchar("id", 10, Latin1Swedish()).Int("a").Varchar("b", 10, Binary()).Int("c");
    wide.PrimaryKey(0x101, {"id"}).Key(0x102, {"a", "b"});
    return wide;
  }();
  return table;
}

TEST(Decoding, DoesNotWalkTheKeyWhenNoKeyColumnIsWanted) {
  Record record(WideTable());
  EXPECT_TRUE(
      DecodeColumns(WideTable(), 0x101, {"a"}, "00000101 ff", "020003 05000000", &record).ok());
  EXPECT_EQ(ToHex(record.Data(1)), "05000000");
}

TEST(Decoding, DoesNotLookBehindTheLastWantedColumn) {
  Record record(WideTable());
  EXPECT_TRUE(
      DecodeColumns(WideTable(), 0x101, {"a"}, "00000101", "020003 05000000 ff", &record).ok());
  EXPECT_EQ(
      DecodeColumns(WideTable(), 0x101, {"c"}, "00000101", "020003 05000000 ff", &record).code(),
      StatusCode::kCorruption);
}

TEST(Decoding, PassesOverUnpackInfoByItsLength) {
  Record record(WideTable());
  EXPECT_TRUE(
      DecodeColumns(WideTable(), 0x101, {"a"}, "00000101", "020006 ffffff 05000000", &record).ok());
  EXPECT_EQ(ToHex(record.Data(1)), "05000000");
}

TEST(Decoding, DoesNotLookAtAValueThatIsNotNeeded) {
  Record record(WideTable());
  const std::string key = "00000102 80000005 780000000000000001 41 20202020202020 02";
  EXPECT_TRUE(DecodeColumns(WideTable(), 0x102, {"a", "b"}, key, "0200", &record).ok());
  EXPECT_EQ(record.Data(2), "x");
  EXPECT_EQ(DecodeColumns(WideTable(), 0x102, {"id"}, key, "0200", &record).code(),
            StatusCode::kCorruption);
}

TEST(Decoding, GivesTheImageThatTheServerHasBehindANull) {
  TestTable table;
  table.Int("id")
      .Char("c", 3, Binary())
      .Nullable()
      .Varchar("v", 9, Binary())
      .Nullable()
      .Int("n")
      .Nullable();
  table.PrimaryKey(0x101, {"id"}).Key(0x102, {"c", "v", "n"});
  const auto image = [](const char* bytes) { return std::make_shared<const std::string>(bytes); };
  table.mutable_layout().columns[1].null_image = image("   ");
  table.mutable_layout().columns[2].null_image = image("\x02no");
  const std::string primary_key = "00000101 80000001";
  const std::string secondary_key = "00000102 00 00 00 80000001";
  for (const auto& [index, key, value] :
       {std::tuple(0x101, primary_key, "07"), std::tuple(0x102, secondary_key, "")}) {
    Record record(table);
    EXPECT_TRUE(DecodeColumns(table, index, {"c", "v", "n"}, key, value, &record).ok());
    const uint8_t* const bytes = record.data();
    for (const ColumnLayout& column : table.layout().columns) {
      EXPECT_EQ((bytes[column.null_offset] & column.null_mask) != 0, column.nullable())
          << column.name;
    }
    const auto shown = [&](size_t column, size_t size) {
      return ToHex(
          {reinterpret_cast<const char*>(bytes) + table.layout().columns[column].offset, size});
    };
    EXPECT_EQ(shown(1, 3), "202020");
    EXPECT_EQ(shown(2, 3), "026e6f");
    EXPECT_EQ(shown(3, 4), "00000000");
  }
}

TEST(Decoding, ChecksTheKeysEndWhenTheRestIsOfConstantSize) {
  TestTable table;
  table.Int("id").Varchar("a", 10, Binary()).Int("b");
  table.PrimaryKey(0x101, {"id"}).Key(0x102, {"a", "b"});
  Record record(table);
  const std::string key = "00000102 780000000000000001 80000002 80000001";
  EXPECT_TRUE(DecodeColumns(table, 0x102, {"a"}, key, "", &record).ok());
  EXPECT_EQ(DecodeColumns(table, 0x102, {"a"}, key + "00", "", &record).code(),
            StatusCode::kCorruption);
}

TEST(Decoding, APlanForAnUncoveredColumnIsRefused) {
  Record record(WideTable());
  const Status status = DecodeColumns(WideTable(), 0x102, {"a", "c"}, "", "", &record);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("k258"), std::string_view::npos) << status.ToString();
}

TEST(Decoding, AColumnOutsideTheTableIsRefused) {
  const TestTable table = WideTable();
  EXPECT_EQ(table.Codec(0x101u)->MakePlan(ColumnSet(5, true), Checksums::kIgnore).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Decoding, NullClearsImagesAndValuesClearNullBits) {
  TestTable table;
  table.Int("id")
      .Int("a")
      .Nullable()
      .Varchar("b", 10, Binary())
      .Nullable()
      .Blob("c", 2, Binary())
      .Nullable();
  table.Char("d", 5, Latin1Bin()).Nullable().PrimaryKey(0x101, {"id"}).Key(0x102, {"a", "b", "d"});
  const Row nulls = {1, nullptr, nullptr, nullptr, nullptr};
  const Row values = {1, 2, "x", "y", "z"};
  for (uint32_t number : {0x101u, 0x102u}) {
    const auto codec = table.Codec(number);
    const ColumnSet columns = table.Covered(*codec);
    const auto plan = std::move(codec->MakePlan(columns, Checksums::kIgnore)).value();
    Record record(table, values);
    const Entry null_entry = Encode(*codec, Record(table, nulls), {});
    ASSERT_TRUE(codec->Decode(*plan, null_entry.key, null_entry.value, record.data()).ok());
    for (uint32_t column = 1; column < 5; ++column) {
      if (!columns[column]) continue;
      EXPECT_TRUE(record.IsNull(column));
      EXPECT_EQ(record.Data(column).find_first_not_of('\0'), std::string::npos);
    }
    const Entry entry = Encode(*codec, Record(table, values), {});
    ASSERT_TRUE(codec->Decode(*plan, entry.key, entry.value, record.data()).ok());
    EXPECT_EQ(record.ToString(columns), Record(table, values).ToString(columns));
  }
}

TEST(Decoding, BlobImagesPointIntoTheValue) {
  TestTable table;
  table.Int("id").Blob("b", 2, Binary()).PrimaryKey(0x101, {"id"});
  const auto codec = table.Codec(0x101u);
  const auto plan = std::move(codec->MakePlan(table.Columns({"b"}), Checksums::kIgnore)).value();
  const Entry entry = Encode(*codec, Record(table, {1, "data"}), {});
  Record record(table);
  ASSERT_TRUE(codec->Decode(*plan, entry.key, entry.value, record.data()).ok());
  const char* pointer;
  std::memcpy(&pointer, record.data() + table.layout().columns[1].offset + 2, sizeof pointer);
  EXPECT_EQ(pointer, entry.value.data() + 2);
}

TEST(Decoding, ColumnsWithoutBytesAreFine) {
  TestTable table;
  table.Int("id")
      .Char("a", 0, Latin1Bin())
      .Nullable()
      .Varchar("b", 0, Latin1Bin())
      .Char("c", 0, Latin1Bin());
  table.PrimaryKey(0x101, {"id"});
  const auto codec = table.Codec(0x101u);
  for (const Row& row : {Row{1, nullptr, "", ""}, Row{1, "", "", ""}}) {
    const Record record(table, row);
    ExpectEntryDecodes(table, *codec, Encode(*codec, record, {}), record, {});
  }
}

TEST(Decoding, OtherColumnsOfACoveringIndexMayNotBeRestorable) {
  TestTable table;
  table.Int("id").Varchar("a", 10, Utf8mb4General()).Varchar("b", 10, Latin1Swedish());
  table.PrimaryKey(0x101, {"id"}).Key(0x102, {"a", "b"});
  const auto codec = table.Codec(0x102u);
  EXPECT_FALSE(codec->Covers(1));
  EXPECT_FALSE(codec->PartIsRestorable(0));
  EXPECT_TRUE(codec->PartIsRestorable(1));
  EXPECT_FALSE(codec->PartIsRestorable(2)) << "the suffix is not an own part";
  EXPECT_TRUE(codec->Covers(0));
  const Record record(table, {1, "skipped ", "Found"});
  ExpectEntryDecodes(table, *codec, Encode(*codec, record, {}), record, {});
}

TEST(ExtractingThePrimaryKey, TakesPartsFromWhereverTheyAre) {
  TestTable table;
  table.Int("a").Varchar("b", 10, Latin1Bin()).Int("c").Nullable();
  table.PrimaryKey(0x101, {"b", "a"})
      .Key(0x102, {"a", "c"})
      .Key(0x103, {"c", "b"})
      .Key(0x104, {"a", "b"});
  const Record record(table, {1, "xy", 3});
  for (uint32_t number : {0x101u, 0x102u, 0x103u, 0x104u}) {
    std::string primary_key;
    const Entry entry = Encode(*table.Codec(number), record, {});
    ASSERT_TRUE(table.Codec(number)->ExtractPrimaryKey(entry.key, &primary_key).ok());
    EXPECT_EQ(primary_key, Encode(*table.Codec(0x101u), record, {}).key);
  }
}

// An index that a later plug-in added to an old table: its suffix has the new segments.
TEST(ExtractingThePrimaryKey, ConvertsSegmentsBetweenFormatVersions) {
  for (const std::string value : {"", "abc", "12345678", "123456789"}) {
    for (const auto& [primary, secondary] : {std::pair<int, int>{11, 13}, {13, 11}}) {
      TestTable table;
      table.Varchar("a", 20, Binary()).Int("b").PrimaryKey(0x101, {"a", "b"});
      table.FormatVersion(static_cast<uint16_t>(primary));
      TestTable both = table;
      both.Key(0x102, {"b"});
      const auto versions = [&, first = true]() mutable {
        return static_cast<uint16_t>(std::exchange(first, false) ? primary : secondary);
      };
      both.FormatVersion(std::function<uint16_t()>(versions));
      const Record record(both, {value, 7});
      const auto codec = both.Codec(0x102u);
      ExpectEntryDecodes(both, *codec, Encode(*codec, record, {}), record, {});
    }
  }
}

// Format page, 4.8: where another byte sorts as the space, spaces take bits as well, and bytes that
// sort like spaces are lost at the end of a full segment.
TEST(SharedSpaceWeights, CodesOfTrailingSpacesAreReadWhereTheyWereWritten) {
  TestTable table;
  table.Int("id").Varchar("a", 20, Latin1Ukrainian()).Varchar("b", 20, Latin1Ukrainian());
  table.PrimaryKey(0x101, {"id"}).Key(0x102, {"a", "b"});
  for (const char* a :
       {"", " ", "Ab   ", "abcdefgh    ", "ab`c  ", "````x", "abcdefgh           "}) {
    const Record record(table, {1, a, "`b` "});
    const auto codec = table.Codec(0x102u);
    ExpectEntryDecodes(table, *codec, Encode(*codec, record, {.checksums = true}), record, {});
  }
}

TEST(SharedSpaceWeights, ATrailingByteThatSortsAsASpaceIsLostBehindAFullSegment) {
  TestTable table;
  table.Varchar("a", 20, Latin1Ukrainian()).PrimaryKey(0x101, {"a"});
  const auto codec = table.Codec(0x101u);
  const Entry entry = Encode(*codec, Record(table, {"abcdefgh`"}), {});
  const auto plan = std::move(codec->MakePlan(table.Columns({"a"}), Checksums::kVerify)).value();
  Record record(table);
  ASSERT_TRUE(codec->Decode(*plan, entry.key, entry.value, record.data()).ok());
  EXPECT_EQ(record.Data(0), "abcdefgh");
}

TEST(Describing, PartCountsAndLengthsAreThoseOfTheStoredKey) {
  TestTable table;
  table.Int("id").Varchar("a", 10, Latin1Bin()).Nullable().Int("b");
  table.PrimaryKey(0x101, {"id"}).Key(0x102, {"a"}).Key(0x103, {"b", "id"});
  EXPECT_EQ(table.Codec(0x101u)->key_part_count(), 1u);
  EXPECT_EQ(table.Codec(0x102u)->key_part_count(), 2u);
  EXPECT_EQ(table.Codec(0x103u)->key_part_count(), 2u);
  EXPECT_EQ(table.Codec(0x101u)->max_key_bytes(), 8u);
  EXPECT_EQ(table.Codec(0x102u)->max_key_bytes(), 4u + 1 + 18 + 4);
  EXPECT_EQ(table.Codec(0x102u)->layout().index_number, 0x102u);
}

TEST(Encoding, KeysTooLongForTheStackAreBuiltInPlace) {
  TestTable table;
  table.Int("id").Varchar("a", 3000, Utf8mb4Unicode()).PrimaryKey(0x101, {"id"}).Key(0x102, {"a"});
  const auto codec = table.Codec(0x102u);
  EXPECT_GT(codec->max_key_bytes(), 8192u);
  for (const std::string& text : {std::string("abc"), std::string(3000, 'x')}) {
    const Record record(table, {1, text});
    ExpectEntryDecodes(table, *codec, Encode(*codec, record, {}), record, {});
  }
}

}  // namespace
}  // namespace cairn::testing
