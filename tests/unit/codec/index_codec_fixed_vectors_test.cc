// The test vectors of the format page of types of one size, 18.1 to 18.3: numbers, dates and times,
// BIT, ENUM, SET, UUID.
#include <gtest/gtest.h>

#include <string>

#include "engine/base/bytes.h"
#include "tests/unit/codec/entry_vectors.h"

namespace cairn::testing {
namespace {

TEST(IntegerVectors, I1SignedKeysOrderLikeNumbers) {
  TestTable table;
  table.Int("a", 1).Int("b", 2).Int("c", 3).Int("d", 4).Int("e", 8);
  table.PrimaryKey(0x102, {"a", "b", "c", "d", "e"});
  ExpectEntries(table, {1, 1, 1, 1, 1}, {"00000102818001800001800000018000000000000001 => -"});
  ExpectEntries(table, {-1, -1, -1, -1, -1}, {"000001027f7fff7fffff7fffffff7fffffffffffffff => -"});
  ExpectEntries(table, {127, 32767, 8388607, 2147483647, INT64_MAX},
                {"00000102ffffffffffffffffffffffffffffffffffff => -"});
  ExpectEntries(table, {-128, -32768, -8388608, INT32_MIN, INT64_MIN},
                {"00000102000000000000000000000000000000000000 => -"});
}

TEST(IntegerVectors, I2UnsignedKeysAreBigEndian) {
  TestTable table;
  table.Unsigned("a", 1).Unsigned("b", 2).Unsigned("c", 3).Unsigned("d", 4).Unsigned("e", 8);
  table.PrimaryKey(0x103, {"a", "b", "c", "d", "e"});
  ExpectEntries(table, {1, 1, 1, 1, 1}, {"00000103010001000001000000010000000000000001 => -"});
  ExpectEntries(table, {-1, -1, -1, -1, -1}, {"00000103ffffffffffffffffffffffffffffffffffff => -"});
}

TEST(IntegerVectors, I3ValuesHoldLittleEndianImagesWithoutNulls) {
  TestTable table;
  table.Int("id").Int("a", 1).Nullable().Unsigned("b", 2).Nullable().Int("c", 3).Nullable();
  table.Int("d").Nullable().Int("e", 8).Nullable().Unsigned("f", 1);
  table.PrimaryKey(0x104, {"id"});
  ExpectEntries(table, {1, -1, 65534, -2, 3, -4, 5},
                {"0000010480000001 => 00fffefffeffff03000000fcffffffffffffff05"});
  ExpectEntries(table, {2, nullptr, nullptr, nullptr, nullptr, nullptr, 6},
                {"0000010480000002 => 1f06"});
  ExpectEntries(table, {3, 1, nullptr, 3, nullptr, 5, 7},
                {"0000010480000003 => 0a01030000050000000000000007"});
}

TEST(IntegerVectors, I4NineNullableColumnsTakeTwoNullBytes) {
  TestTable table;
  table.Int("id");
  for (int i = 1; i <= 9; ++i) table.Int("c" + std::to_string(i), 1).Nullable();
  table.PrimaryKey(0x4a5, {"id"});
  ExpectEntries(table, {1, 1, 2, 3, 4, 5, 6, 7, nullptr, nullptr},
                {"000004a580000001 => 800101020304050607"});
  ExpectEntries(table, {2, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                {"000004a580000002 => 0000010203040506070809"});
}

TEST(FloatVectors, F1KeysOrderLikeNumbers) {
  TestTable table;
  table.Column("a", ColumnType::kFloat, 4).Column("b", ColumnType::kDouble, 8);
  table.PrimaryKey(0x105, {"a", "b"});
  const auto row = [](float a, double b) { return Row{Cell::Float(a), Cell::Double(b)}; };
  ExpectEntries(table, row(1, 1), {"00000105c0000000c000000000000000 => -"});
  ExpectEntries(table, row(-1, -1), {"00000105407fffff400fffffffffffff => -"});
  ExpectEntries(table, row(1.5, 2.5), {"00000105c0400000c014000000000000 => -"});
  ExpectEntries(table, row(-1.5, -2.5), {"00000105403fffff3ffbffffffffffff => -"});
  ExpectEntries(table, row(3.4e38f, 1.7e308), {"00000105ffffc99efffe42d130773b76 => -"});
  ExpectEntries(table, row(1e-40f, 1e-310), {"00000105808116c2801012688b70e62b => -"});
  ExpectEntries(table, row(0, 0), {"00000105800000008000000000000000 => -"});
  const Entry negative_zero = Encode(*table.Codec(0x105u), Record(table, row(-0.0f, -0.0)), {});
  EXPECT_EQ(ToHex(negative_zero.key), "00000105800000008000000000000000");
}

TEST(FloatVectors, F2ValuesHoldIeeeImagesAndBinaryDecimals) {
  TestTable table;
  table.Int("id").Column("a", ColumnType::kFloat, 4).Nullable();
  table.Column("b", ColumnType::kDouble, 8).Nullable().Image("c", 5).Nullable();
  table.PrimaryKey(0x10b, {"id"});
  ExpectEntries(table, {1, Cell::Float(-1.5), Cell::Double(2.5), Hex("7ffffb2dc7")},
                {"0000010b80000001 => 000000c0bf00000000000004407ffffb2dc7"});
}

TEST(DecimalVectors, F3KeysAreTheBinaryDecimals) {
  TestTable table;
  table.Image("a", 5).Image("b", 10).PrimaryKey(0x106, {"a", "b"});
  ExpectEntries(table, {Hex("800004d238"), Hex("8000622d9f912501e240")},
                {"00000106800004d2388000622d9f912501e240 => -"});
  ExpectEntries(table, {Hex("7ffffb2dc7"), Hex("7fff9dd2606edafe1dbf")},
                {"000001067ffffb2dc77fff9dd2606edafe1dbf => -"});
  ExpectEntries(table, {Hex("8000000000"), Hex("80000000000000000000")},
                {"00000106800000000080000000000000000000 => -"});
}

TEST(TemporalVectors, T1KeysAreTheImagesAndDateIsReversed) {
  TestTable table;
  table.Column("d", ColumnType::kDate, 3).Image("dt", 5).Image("dt3", 7).Image("dt6", 8);
  table.Image("tm", 3).Image("tm2", 4).Image("tm6", 6).Image("ts", 4).Image("ts4", 6);
  table.Image("ts6", 7).Image("y", 1);
  table.PrimaryKey(0x107, {"d", "dt", "dt3", "dt6", "tm", "tm2", "tm6", "ts", "ts4", "ts6", "y"});
  ExpectEntries(
      table,
      {Hex("5dd00f"), Hex("99b2bac8b8"), Hex("99b2bac8b8 1ed2"), Hex("99b2bac8b8 0c0a14"),
       Hex("80c8b8"), Hex("7f3747b2"), Hex("80c8b80c0a14"), Hex("65e079f0"), Hex("65e079f0 1ed2"),
       Hex("65e079f0 0c0a14"), Hex("7c")},
      {"000001070fd05d99b2bac8b899b2bac8b81ed299b2bac8b80c0a1480c8b87f3747b280c8b80c0a1465e0"
       "79f065e079f01ed265e079f00c0a147c => -"});
  ExpectEntries(
      table,
      {Hex("000000"), Hex("8000000000"), Hex("80000000000000"), Hex("8000000000000000"),
       Hex("800000"), Hex("4b910500"), Hex("7fffffffffff"), Hex("00000001"), Hex("000000010000"),
       Hex("00000001000000"), Hex("00")},
      {"0000010700000080000000008000000000000080000000000000008000004b9105007fffffffffff0000"
       "00010000000100000000000100000000 => -"});
}

TEST(TemporalVectors, T2ValuesDifferFromKeysOnlyForDate) {
  TestTable table;
  table.Int("id").Column("d", ColumnType::kDate, 3).Nullable().Image("dt", 5).Nullable();
  table.Image("dt3", 7).Nullable().Image("tm", 3).Nullable().Image("tm2", 4).Nullable();
  table.Image("ts", 4).Nullable().Image("ts4", 6).Nullable().Image("y", 1).Nullable();
  table.PrimaryKey(0x108, {"id"});
  ExpectEntries(table,
                {1, Hex("5dd00f"), Hex("99b2bac8b8"), Hex("99b2bac8b81ed2"), Hex("80c8b8"),
                 Hex("7f3747b2"), Hex("65e079f0"), Hex("65e079f01ed2"), Hex("7c")},
                {"0000010880000001 => "
                 "005dd00f99b2bac8b899b2bac8b81ed280c8b87f3747b265e079f065e079f01ed27c"});
}

TEST(TemporalVectors, T3BitEnumAndSetAreStoredAgainInTheValue) {
  TestTable table;
  table.Column("a", ColumnType::kOpaqueFixed, 1).Column("b", ColumnType::kOpaqueFixed, 1);
  table.Column("c", ColumnType::kOpaqueFixed, 2).Column("d", ColumnType::kOpaqueFixed, 8);
  table.Column("e", ColumnType::kEnum, 1).Column("f", ColumnType::kEnum, 1);
  table.PrimaryKey(0x109, {"a", "b", "c", "d", "e", "f"});
  ExpectEntries(table, {Hex("01"), Hex("aa"), Hex("02ff"), Hex("0123456789abcdef"), 2, 5},
                {"0000010901aa02ff0123456789abcdef0205 => 01aa02ff0123456789abcdef0205"});
}

TEST(TemporalVectors, T4BitEnumAndSetAsValues) {
  TestTable table;
  table.Int("id").Column("a", ColumnType::kOpaqueFixed, 1).Nullable();
  table.Column("b", ColumnType::kOpaqueFixed, 1).Nullable();
  table.Column("c", ColumnType::kOpaqueFixed, 2).Nullable();
  table.Column("d", ColumnType::kOpaqueFixed, 8).Nullable();
  table.Column("e", ColumnType::kEnum, 1).Nullable().Column("f", ColumnType::kEnum, 2).Nullable();
  table.PrimaryKey(0x10a, {"id"});
  ExpectEntries(table, {1, Hex("01"), Hex("aa"), Hex("02ff"), Hex("0123456789abcdef"), 2, 0x105},
                {"0000010a80000001 => 0001aa02ff0123456789abcdef020501"});
}

TEST(TemporalVectors, T5SecondaryKeysOfFixedTypes) {
  TestTable table;
  table.Image("a", 8).Nullable().Image("b", 5).Nullable().Image("c", 5).Image("d", 3).Nullable();
  table.Image("e", 1).Nullable().Column("f", ColumnType::kDouble, 8).Nullable();
  table.Column("g", ColumnType::kFloat, 4).Nullable();
  table.Column("h", ColumnType::kOpaqueFixed, 2).Nullable().Int("id");
  table.PrimaryKey(0x4a9, {"id"});
  uint32_t number = 0x4aa;
  for (const char* column : {"a", "b", "c", "d", "e", "f", "g", "h"}) table.Key(number++, {column});
  ExpectEntries(table,
                {Hex("99b2bac8b80c0a14"), Hex("7ffffeec78"), Hex("65e079f04e"), Hex("7ff3fc"),
                 Hex("63"), Cell::Double(-0.5), Cell::Float(0.5), Hex("0155"), 1},
                {"000004a980000001 => "
                 "0099b2bac8b80c0a147ffffeec7865e079f04e7ff3fc63000000000000e0bf0000003f0155",
                 "000004aa0199b2bac8b80c0a1480000001 => -", "000004ab017ffffeec7880000001 => -",
                 "000004ac65e079f04e80000001 => -", "000004ad017ff3fc80000001 => -",
                 "000004ae016380000001 => -", "000004af01401fffffffffffff80000001 => -",
                 "000004b001bf80000080000001 => -", "000004b101015580000001 => -"});
}

TEST(TemporalVectors, T6UuidAndInet6AreOpaque) {
  TestTable table;
  table.Column("u", ColumnType::kOpaqueFixed, 16).Column("i", ColumnType::kOpaqueFixed, 16);
  table.PrimaryKey(0x1a3, {"u", "i"});
  ExpectEntries(table,
                {Hex("426655440000a45612d3e89b123e4567"), Hex("20010db8000000000000000000000001")},
                {"000001a3426655440000a45612d3e89b123e456720010db8000000000000000000000001 => "
                 "426655440000a45612d3e89b123e456720010db8000000000000000000000001"});
}

TEST(TemporalVectors, T7OldTemporalFormats) {
  TestTable table;
  table.Int("id").Column("a", ColumnType::kOldTime, 3).Nullable();
  table.Column("b", ColumnType::kOldTimestamp, 8).Nullable();
  table.Column("c", ColumnType::kOldTimestamp, 4);
  table.Column("a3", ColumnType::kOldTimeFraction, 5).Nullable();
  table.Column("b3", ColumnType::kOpaqueFixed, 7).Nullable();
  table.Column("c3", ColumnType::kOpaqueFixed, 6);
  table.PrimaryKey(0x1aa, {"id"});
  uint32_t number = 0x1ab;
  for (const char* column : {"a", "b", "c", "a3", "b3", "c3"}) table.Key(number++, {column});
  ExpectEntries(
      table,
      {1, Hex("40e201"), Hex("80c5aa8b68120000"), Hex("f079e065"), Hex("00b6bad215"),
       Hex("00422bb59e9895"), Hex("65e079f00315")},
      {"000001aa80000001 => 0040e20180c5aa8b68120000f079e06500b6bad21500422bb59e989565e079f00315",
       "000001ab0181e24080000001 => -", "000001ac01000012688baac58080000001 => -",
       "000001ad65e079f080000001 => -", "000001ae0180b6bad21580000001 => -",
       "000001af0100422bb59e989580000001 => -", "000001b065e079f0031580000001 => -"});
}

TEST(TemporalVectors, T8SystemVersioningAddsTimestampColumns) {
  TestTable table;
  table.Int("id").Int("a").Nullable().Image("row_start", 7).Image("row_end", 7);
  table.PrimaryKey(0x1a8, {"id", "row_end"});
  ExpectEntries(table, {1, 5, Hex("6b01ee4a0733f6"), Hex("7fffffff0f423f")},
                {"000001a8800000017fffffff0f423f => 00050000006b01ee4a0733f6"});
}

}  // namespace
}  // namespace cairn::testing
