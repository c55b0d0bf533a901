#include "engine/codec/dictionary_record.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/index_feature.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;
using Type = DictionaryRecordType;

// --- The vectors of the format page, 18.13. ----------------------------------------

TEST(DictionaryVectors, D1ColumnFamilyDefinitionsOfAFirstStart) {
  EXPECT_EQ(ToHex(ColumnFamilyKey(1)), "0000000300000001");
  EXPECT_EQ(ToHex(ColumnFamilyKey(0)), "0000000300000000");
  EXPECT_EQ(ToHex(EncodeColumnFamily(0)), "000100000000");
}

TEST(DictionaryVectors, D2CreateTable) {
  EXPECT_EQ(ToHex(MaxIndexNumberKey()), "00000007");
  EXPECT_EQ(ToHex(EncodeMaxIndexNumber(0x11b)), "00010000011b");
  EXPECT_EQ(ToHex(IndexKey(Type::kIndex, {0, 0x11b})), "00000002000000000000011b");
  EXPECT_EQ(ToHex(EncodeIndexInfo({.kind = IndexKind::kPrimary})),
            "000601000d000000000000000000000000");
  EXPECT_EQ(ToHex(EncodeIndexInfo({.kind = IndexKind::kSecondary})),
            "000602000d000000000000000000000000");
  EXPECT_EQ(ToHex(TableKey("fmt.s1")), "00000001666d742e7331");
  EXPECT_EQ(ToHex(EncodeTable({{0, 0x11b}, {0, 0x11c}, {0, 0x11d}, {0, 0x11e}})),
            "0001000000000000011b000000000000011c000000000000011d000000000000011e");
  EXPECT_EQ(ToHex(TableVersionKey("./fmt/s1")),
            "000000144d6172696144423a7461626c652d76657273696f6e3a2e2f666d742f7331");
  EXPECT_EQ(ToHex(EncodeTableVersion(0)), "0000000000000000");
}

TEST(DictionaryVectors, D3HiddenPrimaryKeyAndTtl) {
  EXPECT_EQ(ToHex(EncodeIndexInfo({.kind = IndexKind::kHiddenPrimary})),
            "000603000d000000000000000000000000");
  EXPECT_EQ(ToHex(EncodeTable({{0, 0x154}, {0, 0x155}})), "000100000000000001540000000000000155");
  const IndexInfo ttl = {.kind = IndexKind::kPrimary, .has_ttl_stamp = true, .ttl_seconds = 3600};
  EXPECT_EQ(ToHex(EncodeIndexInfo(ttl)), "000601000d000000010000000000000e10");
  EXPECT_EQ(*DecodeIndexInfo(EncodeIndexInfo(ttl)), ttl);
}

TEST(DictionaryVectors, D4ColumnFamilyFlags) {
  EXPECT_EQ(ToHex(ColumnFamilyKey(2)), "0000000300000002");
  EXPECT_EQ(ToHex(EncodeColumnFamily(kColumnFamilyReverse)), "000100000001");
  EXPECT_EQ(ToHex(EncodeColumnFamily(kColumnFamilyPerPartition)), "000100000004");
  EXPECT_EQ(ToHex(EncodeColumnFamily(kColumnFamilyReverse | kColumnFamilyPerPartition)),
            "000100000005");
  EXPECT_EQ(*DecodeColumnFamily(Hex("000100000005")),
            kColumnFamilyReverse | kColumnFamilyPerPartition);
}

TEST(DictionaryVectors, D5PartitionsHaveTableEntriesOfTheirOwn) {
  EXPECT_EQ(ToHex(TableKey("fmt.pt2#P#p0")), "00000001666d742e7074322350237030");
  EXPECT_EQ(ToHex(EncodeTable({{5, 0x197}, {0, 0x198}})), "000100000005000001970000000000000198");
  EXPECT_EQ(ToHex(EncodeTable({{6, 0x199}, {0, 0x19a}})), "00010000000600000199000000000000019a");
  EXPECT_EQ(ToHex(TableKey("fmt.pt3#P#p0#SP#p0sp0")),
            "00000001666d742e7074332350237030235350237030737030");
  EXPECT_EQ(ToHex(EncodeTable({{0, 0x183}})), "00010000000000000183");
  EXPECT_EQ(*DecodeTableKey(Hex("00000001666d742e7074322350237030")), "fmt.pt2#P#p0");
  const std::vector<IndexId> indexes = {{5, 0x197}, {0, 0x198}};
  EXPECT_EQ(*DecodeTable(Hex("000100000005000001970000000000000198")), indexes);
}

TEST(DictionaryVectors, D6InPlaceAlter) {
  EXPECT_EQ(ToHex(IndexKey(Type::kIndexCreateOngoing, {0, 0x18d})), "00000008000000000000018d");
  EXPECT_EQ(ToHex(IndexKey(Type::kIndexDropOngoing, {0, 0x18c})), "00000005000000000000018c");
  EXPECT_EQ(ToHex(IndexKey(Type::kIndexStatistics, {0, 0x18c})), "00000006000000000000018c");
  EXPECT_EQ(ToHex(EncodeOngoingMark()), "0001");
  EXPECT_TRUE(DecodeOngoingMark(Hex("0001")).ok());
  EXPECT_EQ(ToHex(EncodeTableVersion(1)), "0000000000000001");
  EXPECT_EQ(*DecodeTableVersion(Hex("0000000000000001")), 1u);
}

TEST(DictionaryVectors, D7AutoIncrement) {
  EXPECT_EQ(ToHex(IndexKey(Type::kAutoIncrement, {0, 0x174})), "000000090000000000000174");
  EXPECT_EQ(ToHex(EncodeAutoIncrement(50)), "00010000000000000032");
  EXPECT_EQ(ToHex(EncodeAutoIncrement(1000)), "000100000000000003e8");
  EXPECT_EQ(*DecodeAutoIncrement(Hex("000100000000000003e9")), 1001u);
}

TEST(DictionaryVectors, D9OlderIndexInfos) {
  EXPECT_EQ(*DecodeIndexInfo(Hex("000401000d")), IndexInfo{});
  EXPECT_EQ(*DecodeIndexInfo(Hex("000302000d")), IndexInfo{.kind = IndexKind::kSecondary});
  EXPECT_EQ(*DecodeIndexInfo(Hex("000501000d0000000000000064")),
            (IndexInfo{.has_ttl_stamp = true, .ttl_seconds = 100}));
}

// --- What the vectors do not show. ----------------------------------------

TEST(IndexInfo, Version5HasStampsOnlyWithTtlAndFormat13) {
  EXPECT_FALSE(DecodeIndexInfo(Hex("000501000d0000000000000000"))->has_ttl_stamp);
  EXPECT_FALSE(DecodeIndexInfo(Hex("000501000c0000000000000064"))->has_ttl_stamp);
}

TEST(IndexInfo, UnknownVersionsFormatsAndFlagsAreNotSupported) {
  for (const char* value :
       {"000201000d", "000701000d000000000000000000000000", "000601000e000000000000000000000000",
        "000602ffff000000000000000000000000", "0006010009000000000000000000000000",
        "000601000d000000020000000000000000"}) {
    EXPECT_EQ(DecodeIndexInfo(Hex(value)).status().code(), StatusCode::kNotSupported) << value;
  }
}

TEST(IndexInfo, TheCairnFormatHasItsOwnVersionAndFeatures) {
  const IndexInfo info = {.kind = IndexKind::kSecondary,
                          .format_version = kCairnFormatVersion,
                          .features = kFeatureDescendingPart | kFeatureNoPadCollation};
  EXPECT_EQ(ToHex(EncodeIndexInfo(info)),
            "430102430100000000000000000000000000"
            "00000a");
  EXPECT_EQ(*DecodeIndexInfo(EncodeIndexInfo(info)), info);
  // Version and kv format belong together; features of a later release are refused.
  EXPECT_EQ(DecodeIndexInfo(Hex("000602430100000000000000000000000000")).status().code(),
            StatusCode::kCorruption);
  EXPECT_EQ(DecodeIndexInfo(Hex("430102000d0000000000000000000000000000000a")).status().code(),
            StatusCode::kCorruption);
  EXPECT_EQ(DecodeIndexInfo(Hex("4301024301000000000000000000000000"
                                "80000000"))
                .status()
                .code(),
            StatusCode::kNotSupported);
  EXPECT_EQ(DecodeIndexInfo(Hex("43010243010000000000000000000000000000")).status().code(),
            StatusCode::kCorruption);
}

TEST(IndexInfo, APrimaryKeyOfTheStockFormatIsGuardedByItsVersion) {
  const IndexInfo info = {.kind = IndexKind::kHiddenPrimary,
                          .format_version = 12,
                          .has_ttl_stamp = true,
                          .ttl_seconds = 100,
                          .features = kFeatureRowLayouts};
  EXPECT_EQ(ToHex(EncodeIndexInfo(info)),
            "430203000c000000010000000000000064"
            "00000100");
  EXPECT_EQ(*DecodeIndexInfo(EncodeIndexInfo(info)), info);
  const IndexInfo cairn = {.format_version = kCairnFormatVersion,
                           .features = kFeatureRowLayouts | kFeatureTrimmedChar};
  EXPECT_EQ(ToHex(EncodeIndexInfo(cairn)),
            "430101430100000000000000000000000000"
            "000180");
  EXPECT_EQ(*DecodeIndexInfo(EncodeIndexInfo(cairn)), cairn);
  EXPECT_EQ(*DecodeIndexInfo(Hex("430201000d00000000000000000000000000000010")),
            IndexInfo{.features = kFeatureGeneratedColumn});
  // No features, those of the Cairn format, its kv format, a secondary index.
  for (const char* value :
       {"430201000d00000000000000000000000000000000", "430201000d00000000000000000000000000000180",
        "430201430100000000000000000000000000000100", "430202000d00000000000000000000000000000100",
        "430102430100000000000000000000000000000100"}) {
    EXPECT_EQ(DecodeIndexInfo(Hex(value)).status().code(), StatusCode::kCorruption) << value;
  }
  for (const char* value :
       {"430201000d00000000000000000000000000000800", "430201000e00000000000000000000000000000100",
        "430301000d00000000000000000000000000000100"}) {
    EXPECT_EQ(DecodeIndexInfo(Hex(value)).status().code(), StatusCode::kNotSupported) << value;
  }
  EXPECT_EQ(NameFeatures(kFeatureRowLayouts), "rows of several layouts");
}

TEST(IndexInfo, UnknownIndexTypesAreCorruption) {
  for (const char* value :
       {"000600000d000000000000000000000000", "000604000d000000000000000000000000"}) {
    EXPECT_EQ(DecodeIndexInfo(Hex(value)).status().code(), StatusCode::kCorruption) << value;
  }
}

TEST(DictionaryKeys, DecodeToWhatTheyWereMadeOf) {
  const IndexId id = {0x01020304, 0xfffefdfc};
  for (Type type : {Type::kIndex, Type::kIndexDropOngoing, Type::kIndexStatistics,
                    Type::kIndexCreateOngoing, Type::kAutoIncrement, Type::kLayoutHistory}) {
    EXPECT_EQ(*DecodeIndexKey(type, IndexKey(type, id)), id);
  }
  EXPECT_EQ(*DecodeColumnFamilyKey(ColumnFamilyKey(7)), 7u);
  EXPECT_EQ(*DecodeTableKey(TableKey("a.b")), "a.b");
}

TEST(DictionaryKeys, OtherTypesAndLengthsAreCorruption) {
  EXPECT_EQ(DecodeTableKey(Hex("00000001")).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeTableKey(Hex("0000000261")).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeTableKey("").status().code(), StatusCode::kCorruption);
  const std::string key = IndexKey(Type::kIndex, {1, 2});
  EXPECT_EQ(DecodeIndexKey(Type::kIndexStatistics, key).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeIndexKey(Type::kIndex, key + "x").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeColumnFamilyKey(ColumnFamilyKey(1) + "x").status().code(),
            StatusCode::kCorruption);
}

TEST(DictionaryKeys, OrderAsIndexIdsDo) {
  EXPECT_LT(IndexKey(Type::kIndex, {0, 0xffffffff}), IndexKey(Type::kIndex, {1, 0}));
  EXPECT_LT(IndexKey(Type::kIndex, {1, 255}), IndexKey(Type::kIndex, {1, 256}));
}

// Every value, cut or lengthened, is refused with a message that shows it.
TEST(DictionaryValues, WrongLengthsAreCorruption) {
  struct Case {
    std::string value;
    std::function<Status(std::string_view)> decode;
  };
  const std::vector<Case> cases = {
      {EncodeTable({{1, 2}, {3, 4}}), [](auto v) { return DecodeTable(v).status(); }},
      {EncodeIndexInfo({}), [](auto v) { return DecodeIndexInfo(v).status(); }},
      {Hex("000501000d0000000000000064"), [](auto v) { return DecodeIndexInfo(v).status(); }},
      {Hex("000401000d"), [](auto v) { return DecodeIndexInfo(v).status(); }},
      {EncodeColumnFamily(1), [](auto v) { return DecodeColumnFamily(v).status(); }},
      {EncodeMaxIndexNumber(256), [](auto v) { return DecodeMaxIndexNumber(v).status(); }},
      {EncodeOngoingMark(), [](auto v) { return DecodeOngoingMark(v); }},
      {EncodeAutoIncrement(1), [](auto v) { return DecodeAutoIncrement(v).status(); }},
      {EncodeTableVersion(1), [](auto v) { return DecodeTableVersion(v).status(); }},
  };
  for (const Case& record : cases) {
    ASSERT_TRUE(record.decode(record.value).ok());
    for (size_t size = 0; size < record.value.size(); ++size) {
      // A table entry without its last index is a shorter table entry.
      if (record.value == cases[0].value && size == 10) continue;
      EXPECT_EQ(record.decode(record.value.substr(0, size)).code(), StatusCode::kCorruption)
          << ToHex(record.value) << " cut to " << size;
    }
    EXPECT_EQ(record.decode(record.value + "x").code(), StatusCode::kCorruption);
  }
}

TEST(DictionaryValues, OtherVersionsAreNotSupported) {
  EXPECT_EQ(DecodeTable(Hex("00020000000000000100")).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeColumnFamily(Hex("000200000000")).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeColumnFamily(Hex("000100000008")).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeMaxIndexNumber(Hex("000000000100")).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeOngoingMark(Hex("0002")).code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeAutoIncrement(Hex("00020000000000000001")).status().code(),
            StatusCode::kNotSupported);
}

TEST(AutoIncrementMerge, TakesTheLargerValue) {
  const std::string small = EncodeAutoIncrement(1);
  const std::string large = EncodeAutoIncrement(uint64_t{1} << 63);
  EXPECT_EQ(*MergeAutoIncrement(small, large), large);
  EXPECT_EQ(*MergeAutoIncrement(large, small), large);
}

TEST(AutoIncrementMerge, RefusesDamagedValues) {
  const std::string good = EncodeAutoIncrement(1);
  EXPECT_EQ(MergeAutoIncrement(good, "").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(MergeAutoIncrement(good.substr(0, 9), good).status().code(), StatusCode::kCorruption);
}

TEST(AutoIncrementMerge, OnlyItsOwnKeysAreMergeable) {
  EXPECT_TRUE(IsMergeableKey(IndexKey(Type::kAutoIncrement, {0, 256})));
  EXPECT_FALSE(IsMergeableKey(IndexKey(Type::kIndex, {0, 256})));
  EXPECT_FALSE(IsMergeableKey(IndexKey(Type::kAutoIncrement, {0, 256}).substr(0, 11)));
  EXPECT_FALSE(IsMergeableKey(IndexKey(Type::kAutoIncrement, {0, 256}) + "x"));
  EXPECT_FALSE(IsMergeableKey(""));
}

}  // namespace
}  // namespace cairn
