// The test vectors of the format page, 18.1 to 18.12: each entry is encoded from its row, compared
// byte by byte with what a stock server wrote, and read back.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/test_collations.h"
#include "tests/unit/codec/test_table.h"

namespace cairn::testing {
namespace {

// Expects the row's entries to be `lines`: "key => value" each, "-" for an empty value; the key's
// first four bytes say which index it belongs to.
void ExpectEntries(const TestTable& table, const Row& row, const std::vector<std::string>& lines,
                   const EntryOptions& options = {}) {
  const Record record(table, row);
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    const size_t arrow = line.find(" => ");
    const std::string key = Hex(line.substr(0, arrow));
    const std::string value = line.substr(arrow + 4) == "-" ? "" : Hex(line.substr(arrow + 4));
    const auto codec = table.Codec(LoadBigEndian<uint32_t>(key.data()));
    ASSERT_NE(codec, nullptr);
    const Entry entry = Encode(*codec, record, options);
    EXPECT_EQ(ToHex(entry.key), ToHex(key));
    EXPECT_EQ(ToHex(entry.value), ToHex(value));
    ExpectEntryDecodes(table, *codec, {.key = key, .value = value}, record, options);
  }
}

const std::vector<std::string>& SixStrings() {
  static const std::vector<std::string> strings = {"",         "a",         "abc ",
                                                   "ABCDEFGH", "abcdefghi", "abcdefgh  x"};
  return strings;
}

// A table of one column `a`, its primary key, and the six strings with the entries they give.
void ExpectSixStrings(TestTable table, uint32_t number, const std::vector<std::string>& lines) {
  table.PrimaryKey(number, {"a"});
  for (size_t i = 0; i < lines.size(); ++i) ExpectEntries(table, {SixStrings()[i]}, {lines[i]});
}

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

TEST(BinaryVectors, B1VarbinaryTakesVariableSegments) {
  TestTable table;
  table.Varchar("a", 20, Binary());
  ExpectSixStrings(table, 0x10c,
                   {"0000010c000000000000000000 => -", "0000010c610000000000000001 => -",
                    "0000010c616263200000000004 => -", "0000010c414243444546474808 => -",
                    "0000010c616263646566676809690000000000000001 => -",
                    "0000010c616263646566676809202078000000000003 => -"});
}

TEST(BinaryVectors, B2FormatVersion11TakesLegacySegments) {
  for (uint16_t version : {10, 11}) {
    TestTable table;
    table.Varchar("a", 20, Binary()).Varchar("b", 20, Binary()).Nullable();
    table.PrimaryKey(0x100, {"a"}).Key(0x101, {"b"}).FormatVersion(version);
    ExpectEntries(table, {"", "a"},
                  {"000001000000000000000000f7 => 000161",
                   "00000101016100000000000000f80000000000000000f7 => -"});
    ExpectEntries(table, {"abc", "abcdefgh"},
                  {"000001006162630000000000fa => 00086162636465666768",
                   "00000101016162636465666768ff0000000000000000f76162630000000000fa => -"});
    ExpectEntries(table, {"12345678", "123456789"},
                  {"000001003132333435363738ff0000000000000000f7 => 0009313233343536373839",
                   "00000101013132333435363738ff3900000000000000f83132333435363738ff000000000000000"
                   "0f7 => -"});
    ExpectEntries(table, {"1234567890123456", ""},
                  {"000001003132333435363738ff3930313233343536ff0000000000000000f7 => 0000",
                   "00000101010000000000000000f73132333435363738ff3930313233343536ff000000000000000"
                   "0f7 => -"});
  }
}

TEST(BinaryVectors, B3BinaryColumnsAreFixed) {
  TestTable table;
  table.Int("id").Char("a", 6, Binary()).Nullable().PrimaryKey(0x131, {"id"}).Key(0x132, {"a"});
  ExpectEntries(table, {1, ""},
                {"0000013180000001 => 00000000000000", "000001320100000000000080000001 => -"});
  ExpectEntries(table, {3, "aBc "},
                {"0000013180000003 => 00614263200000", "000001320161426320000080000003 => -"});
  ExpectEntries(table, {5, nullptr}, {"0000013180000005 => 01", "000001320080000005 => -"});
}

TEST(VarcharVectors, P1Latin1SwedishCiHasCountersAndCodes) {
  TestTable table;
  table.Varchar("a", 20, Latin1Swedish());
  ExpectSixStrings(
      table, 0x10d,
      {"0000010d202020202020202002 => 02000400", "0000010d412020202020202002 => 0200050101",
       "0000010d414243202020202002 => 0200050431", "0000010d414243444546474802 => 020006080000",
       "0000010d414243444546474803492020202020202002 => 0200070131e301",
       "0000010d414243444546474803202058202020202002 => 0200070331e301"});
}

TEST(VarcharVectors, P2Latin1BinHasCounters) {
  TestTable table;
  table.Varchar("a", 20, Latin1Bin());
  ExpectSixStrings(
      table, 0x10e,
      {"0000010e202020202020202002 => 02000400", "0000010e612020202020202002 => 02000401",
       "0000010e616263202020202002 => 02000404", "0000010e414243444546474802 => 02000408",
       "0000010e616263646566676803692020202020202002 => 02000401",
       "0000010e616263646566676803202078202020202002 => 02000403"});
}

TEST(VarcharVectors, P3Utf8mb3BinHasCounters) {
  TestTable table;
  table.Varchar("a", 20, Utf8mb3Bin());
  ExpectSixStrings(
      table, 0x10f,
      {"0000010f002000200020002002 => 02000404", "0000010f006100200020002002 => 02000405",
       "0000010f006100620063002002 => 02000408",
       "0000010f004100420043004403004500460047004802 => 02000408",
       "0000010f006100620063006403006500660067006803006900200020002002 => 02000405",
       "0000010f006100620063006403006500660067006803002000200078002002 => 02000407"});
}

TEST(VarcharVectors, P4OtherCollationsStoreTheColumnInTheValue) {
  const std::vector<std::string> general_ci = {
      "00000111002000200020002002 => 00",
      "00000111004100200020002002 => 0161",
      "00000111004100420043002002 => 0461626320",
      "00000111004100420043004403004500460047004802 => 084142434445464748",
      "00000111004100420043004403004500460047004803004900200020002002 => 09616263646566676869",
      "00000111004100420043004403004500460047004803002000200058002002 => "
      "0b6162636465666768202078"};
  for (const Collation* collation : {&Utf8mb3General(), &Utf8mb4General()}) {
    TestTable table;
    table.Varchar("a", 20, *collation);
    ExpectSixStrings(table, 0x111, general_ci);
  }
  TestTable unicode_ci;
  unicode_ci.Varchar("a", 20, Utf8mb4Unicode());
  ExpectSixStrings(
      unicode_ci, 0x112,
      {"00000112020902090209020902 => 00", "000001120e3302090209020902 => 0161",
       "000001120e330e4a0e60020902 => 0461626320",
       "000001120e330e4a0e600e6d030e8b0eb90ec10ee102 => 084142434445464748",
       "000001120e330e4a0e600e6d030e8b0eb90ec10ee1030efb02090209020902 => 09616263646566676869",
       "000001120e330e4a0e600e6d030e8b0eb90ec10ee10302090209105a020902 => "
       "0b6162636465666768202078"});
  TestTable utf8mb4_bin;
  utf8mb4_bin.Varchar("a", 20, Utf8mb4Bin());
  ExpectSixStrings(
      utf8mb4_bin, 0x113,
      {"0000011300002000002000002002 => 00", "0000011300006100002000002002 => 0161",
       "0000011300006100006200006302 => 0461626320",
       "00000113000041000042000043030000440000450000460300004700004800002002 => "
       "084142434445464748",
       "00000113000061000062000063030000640000650000660300006700006800006902 => "
       "09616263646566676869",
       "0000011300006100006200006303000064000065000066030000670000680000200300002000007800002002 "
       "=> 0b6162636465666768202078"});
}

TEST(VarcharVectors, P5PrefixPrimaryKeyIsSuffixOfKeysWithAnotherLength) {
  TestTable table;
  table.Varchar("a", 20, Latin1Swedish()).Int("b").Nullable();
  table.PrimaryKey(0x493, {Part("a", 3)}).Key(0x494, {"a"});
  table.Key(0x495, {Part("a", 3)}).Key(0x496, {Part("a", 2)});
  ExpectEntries(
      table, {"AbcdeF", 7},
      {"00000493414243202020202002 => 000641626364654607000000",
       "00000494414243444546202002414243202020202002 => 020000063003",
       "00000495414243202020202002 => -", "00000496414220202020202002414243202020202002 => -"});
}

TEST(VarcharVectors, P6ManyCollationsInOnePrimaryKey) {
  TestTable table;
  table.Varchar("a", 5, Utf8mb4General()).Varchar("b", 5, Utf8mb4Bin());
  table.Varchar("c", 5, Utf8mb3Bin()).Varchar("d", 5, Utf8mb4Unicode());
  table.PrimaryKey(0x4a0, {"a", "b", "c", "d"});
  const std::string face = "\xf0\x9f\x98\x80\xc3\xa9";
  ExpectEntries(table, {face, face, "\xc3\xa9\xe4\xb8\xad", face},
                {"000004a0fffd0045002000200201f6000000e90000200200e94e2d0020002002fffd0e8b020902090"
                 "2 => 0200070607060606f09f9880c3a906f09f9880c3a906f09f9880c3a9"});
}

TEST(SecondaryVectors, S1MarkersCompareWithSpaces) {
  TestTable table;
  table.Int("id").Varchar("a", 40, Latin1Bin()).Nullable();
  table.PrimaryKey(0x4a1, {"id"}).Key(0x4a2, {"a"});
  const std::string eight = "abcdefgh";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {eight + "\t", "000004a20161626364656667680109202020202020200280000001 => 02000001"},
      {eight, "000004a20161626364656667680280000002 => 02000008"},
      {eight + "        x",
       "000004a20161626364656667680320202020202020200378202020202020200280000003 => 02000001"},
      {eight + "        \t",
       "000004a20161626364656667680120202020202020200109202020202020200280000004 => 02000001"},
      {eight + "                ", "000004a20161626364656667680280000005 => 02000018"},
      {"abcdefghijklmnop", "000004a201616263646566676803696a6b6c6d6e6f700280000006 => 02000008"},
      {"abcdefghijklmnop   ", "000004a201616263646566676803696a6b6c6d6e6f700280000007 => 0200000b"},
      {"\t", "000004a20109202020202020200280000008 => 02000001"}};
  for (size_t i = 0; i < rows.size(); ++i) {
    ExpectEntries(table, {static_cast<int>(i + 1), rows[i].first}, {rows[i].second});
  }
}

TEST(SecondaryVectors, S2LengthFieldIsZeroAndNullHasNoBlock) {
  TestTable table;
  table.Int("id").Varchar("a", 20, Latin1Swedish()).Nullable();
  table.PrimaryKey(0x121, {"id"}).Key(0x122, {"a"});
  ExpectEntries(table, {1, ""}, {"000001220120202020202020200280000001 => 02000000"});
  ExpectEntries(table, {2, "a"}, {"000001220141202020202020200280000002 => 0200000101"});
  ExpectEntries(table, {3, "abc "}, {"000001220141424320202020200280000003 => 0200000431"});
  ExpectEntries(table, {4, "abcdefghi"},
                {"000001220141424344454647480349202020202020200280000004 => 0200000131e301"});
  ExpectEntries(table, {5, nullptr}, {"000001220080000005 => -"});
  ExpectEntries(table, {6, "aBc         "}, {"000001220141424320202020200280000006 => 0200000c21"});
}

TEST(SecondaryVectors, S3LongColumnsHaveTwoByteCounters) {
  for (uint32_t chars : {248u, 300u}) {
    TestTable table;
    table.Int("id").Varchar("a", chars, Latin1Swedish()).Nullable();
    table.PrimaryKey(0x129, {"id"}).Key(0x12a, {"a"});
    ExpectEntries(table, {2, "a"}, {"0000012a0141202020202020200280000002 => 020000000101"});
    ExpectEntries(table, {3, "abc "}, {"0000012a0141424320202020200280000003 => 020000000431"});
    ExpectEntries(table, {6, "aBc         "},
                  {"0000012a0141424320202020200280000006 => 020000000c21"});
  }
  TestTable table;
  table.Int("id").Varchar("a", 247, Latin1Swedish()).Nullable();
  table.PrimaryKey(0x129, {"id"}).Key(0x12a, {"a"});
  ExpectEntries(table, {2, "a"}, {"0000012a0141202020202020200280000002 => 0200000101"});
}

TEST(SecondaryVectors, S4NonRestorableVarcharHasItsCounterOnly) {
  TestTable table;
  table.Int("id").Varchar("a", 20, Utf8mb4General()).Nullable();
  table.PrimaryKey(0x127, {"id"}).Key(0x128, {"a"});
  ExpectEntries(table, {3, "aBc "}, {"000001280100410042004300200280000003 => 02000008"});
  ExpectEntries(table, {4, "abcdefghi"},
                {"000001280100410042004300440300450046004700480300490020002000200280000004 => "
                 "02000005"});
  ExpectEntries(table, {5, nullptr}, {"000001280080000005 => -"});
  ExpectEntries(table, {6, "aBc         "}, {"000001280100410042004300200280000006 => 02000010"});
}

TEST(SecondaryVectors, S5CharOfASimpleCollationHasCodes) {
  TestTable table;
  table.Int("id").Char("a", 6, Latin1Swedish()).Nullable();
  table.PrimaryKey(0x134, {"id"}).Key(0x135, {"a"});
  ExpectEntries(table, {1, ""}, {"000001350120202020202080000001 => -"});
  ExpectEntries(table, {2, "a"}, {"000001350141202020202080000002 => 02000001"});
  ExpectEntries(table, {3, "aBc "}, {"000001350141424320202080000003 => 02000021"});
  ExpectEntries(table, {5, nullptr}, {"000001350080000005 => -"});
  TestTable primary;
  primary.Char("a", 6, Latin1Swedish()).PrimaryKey(0x136, {"a"});
  ExpectEntries(primary, {""}, {"00000136202020202020 => 020003"});
  ExpectEntries(primary, {"a"}, {"00000136412020202020 => 02000401"});
  ExpectEntries(primary, {"aBc "}, {"00000136414243202020 => 02000421"});
}

TEST(SecondaryVectors, S6CharPrimaryKeysHaveNoBlock) {
  const std::string padded = "614263202020202020202020202020202020202020202020";
  const auto expect = [](uint32_t number, const Collation& collation, const std::string& line) {
    TestTable table;
    table.Char("a", 6, collation).PrimaryKey(number, {"a"});
    ExpectEntries(table, {"aBc "}, {line});
  };
  expect(0x139, Latin1Bin(), "00000139614263202020 => -");
  expect(0x13c, Utf8mb3Bin(), "0000013c006100420063002000200020 => -");
  expect(0x142, Utf8mb4General(), "00000142004100420043002000200020 => " + padded);
  expect(0x148, Utf8mb4Bin(), "00000148000061000042000063000020000020000020 => " + padded);
}

TEST(SecondaryVectors, S7SeveralLevelsTakeVariableSegments) {
  TestTable table;
  table.Int("id").Varchar("a", 20, Utf8mb4AsCs()).Nullable();
  table.PrimaryKey(0x47a, {"id"}).Key(0x47b, {"a"});
  ExpectEntries(table, {2, "a"}, {"0000047b0120750020000200000680000002 => -"});
  ExpectEntries(table, {3, "aBc "},
                {"0000047b012075208f20a902090900200020002000200900020008000200020880000003 => -"});
  TestTable single;
  single.Int("id").Varchar("a", 20, Utf8mb4AiCi()).Nullable();
  single.PrimaryKey(0x477, {"id"}).Key(0x478, {"a"});
  ExpectEntries(single, {3, "aBc "}, {"00000478012075208f20a902090280000003 => 02000008"});
}

TEST(SecondaryVectors, S8ExpansionsAreCutAtTheDeclaredLength) {
  TestTable table;
  table.Varchar("a", 3, Utf8mb4Unicode()).PrimaryKey(0x49e, {"a"});
  ExpectEntries(table, {"\xc3\x9f\xc3\x9f\xc3\x9f"},
                {"0000049e0fea0fea0fea020902 => 06c39fc39fc39f"});
  EXPECT_EQ(ToHex(Encode(*table.Codec(0x49eu), Record(table, {"sss"}), {}).key),
            "0000049e0fea0fea0fea020902");
}

TestTable MixedTable() {
  TestTable table;
  table.Int("a").Varchar("b", 10, Utf8mb4General()).Varchar("c", 10, Latin1Swedish());
  table.Image("d", 4).Char("e", 4, Latin1Swedish()).Int("z").Nullable();
  return table;
}

TEST(MixedVectors, M1BlockHoldsTheCountersOfNonRestorableParts) {
  TestTable table = MixedTable();
  table.PrimaryKey(0x15d, {"a", "b", "c", "d", "e"});
  ExpectEntries(table, {1, "Ab ", "Cd  ", Hex("80000132"), "Ef", 9},
                {"0000015d8000000100410042002000200243442020202020200280000132 45462020 => "
                 "00020007070404100341622009000000"});
}

TEST(MixedVectors, M2SecondaryKeysMixCountersAndCodes) {
  // All columns but the primary key's are nullable here.
  TestTable table;
  table.Int("a").Nullable().Varchar("b", 10, Utf8mb4General());
  table.Varchar("c", 10, Latin1Swedish()).Nullable().Image("d", 4).Nullable();
  table.Char("e", 4, Latin1Swedish()).Nullable().Int("z").Nullable();
  table.PrimaryKey(0x15e, {"b"}).Key(0x15f, {"z", "c", "e", "b"}).Key(0x160, {"c", "a"});
  ExpectEntries(
      table, {1, "Ab ", "Cd  ", Hex("80013245"), "Ef", 9},
      {"0000015e004100420020002002 => 0001000000034162200443642020800132454566202009000000",
       "0000015f0180000009014344202020202020020145462020004100420020002002 => 02000004041007",
       "00000160014344202020202020020180000001004100420020002002 => 020000040407"});
}

TEST(MixedVectors, M3PrefixPartsAreFollowedByTheWholePrimaryKey) {
  TestTable table;
  table.Int("a").Nullable().Varchar("b", 10, Utf8mb4General());
  table.PrimaryKey(0x161, {"b"}).UniqueKey(0x162, {Part("b", 3), "a"});
  table.Key(0x163, {"a", Part("b", 2)});
  ExpectEntries(
      table, {1, "Abcdef "},
      {"00000161004100420043004403004500460020002002 => 00010000000741626364656620",
       "000001620041004200430020020180000001004100420043004403004500460020002002 => 02000007",
       "000001630180000001004100420020002002004100420043004403004500460020002002 => 02000007"});
}

TEST(MixedVectors, M4UniqueAndOrdinarySecondaryKeysLookAlike) {
  TestTable table;
  table.Int("id").Int("a").Nullable().Int("b");
  table.PrimaryKey(0x11b, {"id"}).UniqueKey(0x11c, {"b"}).UniqueKey(0x11d, {"a", "b"});
  table.Key(0x11e, {"a"});
  ExpectEntries(table, {1, 10, 100},
                {"0000011b80000001 => 000a00000064000000", "0000011c8000006480000001 => -",
                 "0000011d018000000a8000006480000001 => -", "0000011e018000000a80000001 => -"});
  ExpectEntries(table, {2, nullptr, 200},
                {"0000011b80000002 => 01c8000000", "0000011c800000c880000002 => -",
                 "0000011d00800000c880000002 => -", "0000011e0080000002 => -"});
}

TEST(PrefixVectors, K1SecondaryPrefixKeys) {
  TestTable table;
  table.Int("id")
      .Varchar("a", 20, Latin1Swedish())
      .Nullable()
      .Varchar("b", 20, Binary())
      .Nullable();
  table.Char("c", 10, Latin1Swedish()).Nullable().Blob("t", 2, Latin1Swedish()).Nullable();
  table.Blob("bl", 2, Binary()).Nullable().PrimaryKey(0x149, {"id"});
  uint32_t number = 0x14a;
  for (const char* column : {"a", "b", "c", "t", "bl"}) table.Key(number++, {Part(column, 4)});
  ExpectEntries(
      table, {1, "abcdef", "abcdef", "abcdef", "abcdef", "abcdef"},
      {"0000014980000001 => 000661626364656606616263646566616263646566202020200600616263646"
       "5660600616263646566",
       "0000014a0141424344202020200280000001 => -", "0000014b0161626364000000000480000001 => -",
       "0000014c014142434480000001 => -", "0000014d014142434480000001 => -",
       "0000014e0161626364000680000001 => -"});
  ExpectEntries(table, {2, "ab", "ab", "ab", "ab", "ab"},
                {"0000014a0141422020202020200280000002 => -",
                 "0000014b0161620000000000000280000002 => -", "0000014c014142202080000002 => -",
                 "0000014d014142202080000002 => -", "0000014e0161620000000280000002 => -"});
}

TEST(PrefixVectors, K2PrefixPrimaryKeys) {
  TestTable varchar;
  varchar.Varchar("a", 20, Latin1Bin()).Varchar("b", 20, Binary());
  varchar.PrimaryKey(0x14f, {Part("a", 4), "b"});
  ExpectEntries(varchar, {"abcdef", "xyz"},
                {"0000014f61626364202020200278797a000000000003 => 06616263646566"});
  TestTable text;
  text.Blob("t", 2, Utf8mb4General()).Varchar("b", 20, Binary()).Nullable();
  text.PrimaryKey(0x150, {Part("t", 4)});
  ExpectEntries(text, {"abcdef", "xyz"},
                {"0000015000410042004300440045004600200020 => 0006006162636465660378797a"});
  TestTable blob;
  blob.Blob("t", 2, Binary()).Int("b").Nullable().PrimaryKey(0x151, {Part("t", 4)});
  ExpectEntries(blob, {"abcdef", 1}, {"00000151616263640006 => 00060061626364656601000000"});
  TestTable blobs;
  blobs.Blob("t", 4, Binary()).Blob("b", 1, Binary()).Blob("c", 3, Binary());
  blobs.PrimaryKey(0x152, {Part("t", 4), Part("b", 4), Part("c", 4)});
  ExpectEntries(blobs, {"abcdef", "abc", "abcdefg"},
                {"000001526162636400000006616263000361626364000007 => "
                 "060000006162636465660361626307000061626364656667"});
}

TEST(PrefixVectors, K3BlobValues) {
  TestTable table;
  table.Int("id").Blob("a", 1, Binary()).Nullable().Blob("b", 2, Binary()).Nullable();
  table.Blob("c", 3, Latin1Swedish()).Nullable().Blob("d", 4, Latin1Swedish()).Nullable();
  table.Blob("j", 4, Utf8mb4Bin()).Nullable().PrimaryKey(0x153, {"id"});
  ExpectEntries(table, {1, "a", "bb", "ccc", "dddd", "{\"a\":1}"},
                {"0000015380000001 => "
                 "000161020062620300006363630400000064646464070000007b2261223a317d"});
  ExpectEntries(table, {2, nullptr, "", nullptr, "", nullptr},
                {"0000015380000002 => 15000000000000"});
}

TEST(PrefixVectors, K4CompressedColumnsAreStoredAsTheyAre) {
  TestTable table;
  table.Int("id").Varchar("v", 21, Latin1Swedish()).Nullable();
  table.Blob("t", 2, Latin1Swedish()).Nullable().PrimaryKey(0x1a7, {"id"});
  ExpectEntries(table, {1, Hex("00616263"), Hex("00616263")},
                {"000001a780000001 => 000400616263040000616263"});
  ExpectEntries(table, {2, nullptr, nullptr}, {"000001a780000002 => 03"});
  ExpectEntries(table, {3, "", ""}, {"000001a780000003 => 00000000"});
}

TEST(HiddenKeyVectors, H1HiddenKeyIsEightBytes) {
  TestTable table;
  table.Int("a").Nullable().Varchar("b", 10, Latin1Swedish()).Nullable();
  table.Key(0x154, {"a"}).HiddenKey(0x155);
  ExpectEntries(
      table, {1, "x"},
      {"000001550000000000000001 => 00010000000178", "0000015401800000010000000000000001 => -"},
      {.hidden_key = 1});
  ExpectEntries(table, {nullptr, nullptr},
                {"000001550000000000000002 => 03", "00000154000000000000000002 => -"},
                {.hidden_key = 2});
  ExpectEntries(table, {1, "zz"}, {"000001550000000000000001 => 0001000000027a7a"},
                {.hidden_key = 1});
}

TEST(HiddenKeyVectors, H2SecondaryKeysOfATableWithoutPrimaryKey) {
  TestTable table;
  table.Varchar("a", 5, Latin1Swedish()).Nullable().Varchar("b", 5, Utf8mb4General()).Nullable();
  table.Key(0x4a6, {"a", "b"}).HiddenKey(0x4a7);
  ExpectEntries(
      table, {"Ab", "Cd "},
      {"000004a70000000000000001 => 0002416203436420",
       "000004a601414220202020202002010043004400200020020000000000000001 => 020000021007"},
      {.hidden_key = 1});
  ExpectEntries(table, {nullptr, nullptr},
                {"000004a70000000000000002 => 03", "000004a600000000000000000002 => -"},
                {.hidden_key = 2});
}

TEST(ColumnFamilyVectors, R1BytesDoNotDependOnTheDirection) {
  TestTable table;
  table.Int("id").Int("a").Nullable().Int("b").Nullable();
  table.PrimaryKey(0x15a, {"id"}).Key(0x15b, {"a"}).Key(0x15c, {"b"});
  ExpectEntries(table, {1, 2, 3},
                {"0000015a80000001 => 000200000003000000", "0000015b018000000280000001 => -",
                 "0000015c018000000380000001 => -"});
}

TEST(TtlVectors, L1StampsPrecedeAllValues) {
  TestTable table;
  table.Int("id")
      .Int("a")
      .Nullable()
      .Varchar("b", 10, Latin1Swedish())
      .Nullable()
      .Int("c")
      .Nullable();
  table.PrimaryKey(0x164, {"id"}).Key(0x165, {"a"}).Key(0x166, {"b"}).TtlStamps();
  const EntryOptions stamp = {.ttl_stamp = 0x6b01ee15};
  ExpectEntries(table, {1, 10, "Ab", nullptr},
                {"0000016480000001 => 000000006b01ee15040a000000024162",
                 "00000165018000000a80000001 => 000000006b01ee15",
                 "000001660141422020202020200280000001 => 000000006b01ee150200000210"},
                stamp);
  ExpectEntries(table, {1, 10, "Ab", 5},
                {"0000016480000001 => 000000006b01ee15000a00000002416205000000"}, stamp);
  ExpectEntries(table, {1, 11, "Ab", 5},
                {"0000016480000001 => 000000006b01ee15000b00000002416205000000",
                 "00000165018000000b80000001 => 000000006b01ee15"},
                stamp);
}

TEST(TtlVectors, L2TheTtlColumnIsStoredAsWell) {
  TestTable table;
  table.Int("id")
      .Int("a")
      .Nullable()
      .Unsigned("ts", 8)
      .Varchar("b", 10, Latin1Swedish())
      .Nullable();
  table.PrimaryKey(0x167, {"id"}).Key(0x168, {"a"}).Key(0x169, {"b"}).TtlStamps();
  ExpectEntries(table, {1, 10, 0x7680c480, "Ab"},
                {"0000016780000001 => 000000007680c480000a00000080c4807600000000024162",
                 "00000168018000000a80000001 => 000000007680c480",
                 "000001690141422020202020200280000001 => 000000007680c4800200000210"},
                {.ttl_stamp = 0x7680c480});
  ExpectEntries(table, {1, 10, 0x7680c481, "Ab"},
                {"0000016780000001 => 000000007680c481000a00000081c4807600000000024162",
                 "00000168018000000a80000001 => 000000007680c481",
                 "000001690141422020202020200280000001 => 000000007680c4810200000210"},
                {.ttl_stamp = 0x7680c481});
}

TEST(TtlVectors, L3StampNullBitsAndBlockComeInThisOrder) {
  TestTable table;
  table.Varchar("id", 10, Latin1Swedish()).Unsigned("ts", 8).Int("x").Nullable();
  table.PrimaryKey(0x16a, {"id"}).TtlStamps();
  ExpectEntries(table, {"Ab", 0x7680c480, nullptr},
                {"0000016a414220202020202002 => 000000007680c48001020005021080c4807600000000"},
                {.ttl_stamp = 0x7680c480});
  TestTable in_key;
  in_key.Int("id").Unsigned("ts", 8).Int("x").Nullable();
  in_key.PrimaryKey(0x16b, {"id", "ts"}).TtlStamps();
  ExpectEntries(in_key, {1, 0x7680c480, 3},
                {"0000016b80000001000000007680c480 => 000000007680c4800003000000"},
                {.ttl_stamp = 0x7680c480});
}

TEST(ChecksumVectors, C1ChunksEndTheValues) {
  TestTable table;
  table.Int("id").Int("a").Nullable().Varchar("b", 10, Latin1Swedish()).Nullable();
  table.PrimaryKey(0x16c, {"id"}).Key(0x16d, {"a"}).Key(0x16e, {"b"});
  ExpectEntries(table, {1, 10, "Ab"},
                {"0000016c80000001 => 000a0000000241620168e2102d88082a79",
                 "0000016d018000000a80000001 => 017e4d191700000000",
                 "0000016e0141422020202020200280000001 => 020000021001ddbb06e89363d69b"},
                {.checksums = true});
}

TEST(ChecksumVectors, C2ChunksCoverStampsAndBlocks) {
  TestTable hidden;
  hidden.Int("a").Nullable().Key(0x16f, {"a"}).HiddenKey(0x170);
  ExpectEntries(hidden, {1},
                {"000001700000000000000001 => 00010000000113b35e127e9e9078",
                 "0000016f01800000010000000000000001 => 017770833a00000000"},
                {.checksums = true});
  TestTable ttl;
  ttl.Int("id").Int("a").Nullable().PrimaryKey(0x171, {"id"}).Key(0x172, {"a"}).TtlStamps();
  ExpectEntries(ttl, {1, 10},
                {"0000017180000001 => 000000006b01ee16000a00000001f092431ef44585cd",
                 "00000172018000000a80000001 => 000000006b01ee1601a8e8c372bceeae6f"},
                {.ttl_stamp = 0x6b01ee16, .checksums = true});
  TestTable block;
  block.Varchar("a", 5, Latin1Swedish()).Int("b").Nullable().PrimaryKey(0x4a8, {"a"});
  ExpectEntries(block, {"Ab", 7},
                {"000004a8414220202020202002 => 00020005021007000000014d56120f2fbb6167"},
                {.checksums = true});
}

}  // namespace
}  // namespace cairn::testing
