// The test vectors of the format page of whole tables, 18.7 to 18.12: keys of several kinds of
// parts, prefixes and BLOBs, hidden primary keys, families, TTL, checksums.
#include <gtest/gtest.h>

#include "tests/unit/codec/entry_vectors.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

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
