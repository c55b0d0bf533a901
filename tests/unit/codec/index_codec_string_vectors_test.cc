// The test vectors of the format page of strings in keys, 18.4 to 18.6.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "tests/unit/codec/entry_vectors.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

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

}  // namespace
}  // namespace cairn::testing
