// Search keys and unique prefixes: what they must find, and what they must not miss.
#include <gtest/gtest.h>

#include <string>

#include "engine/base/bytes.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

constexpr uint32_t kIndex = 0x102;

// The prefix for a search with all own parts taken from `row`.
std::string SearchPrefix(const TestTable& table, const Row& row) {
  const auto codec = table.Codec(kIndex);
  const Record record(table, row);
  const auto parts = static_cast<uint32_t>(codec->layout().parts.size());
  const std::string search_key = SearchKey(table, *codec, record, parts);
  std::string prefix;
  codec->EncodeSearchKey(reinterpret_cast<const uint8_t*>(search_key.data()), parts, &prefix);
  return prefix;
}

std::string StoredKey(const TestTable& table, const Row& row) {
  return Encode(*table.Codec(kIndex), Record(table, row), {}).key;
}

// An index on a prefix of column `c`, whose collation or type the caller sets.
TestTable TextTable(const Collation& collation, uint32_t chars, uint32_t length_bytes = 2) {
  TestTable table;
  table.Blob("c", length_bytes, collation).Key(kIndex, {Part("c", chars)}).HiddenKey(0x101);
  return table;
}

TEST(SearchKey, TextPrefixIsTheWeightsOfTheIndexedCharacters) {
  const TestTable table = TextTable(Utf8mb4General(), 4);
  EXPECT_EQ(ToHex(SearchPrefix(table, {"abcdef"})),
            "00000102"
            "0041004200430044");
  EXPECT_EQ(ToHex(SearchPrefix(table, {"ab"})),
            "00000102"
            "0041004200200020");
  EXPECT_TRUE(StoredKey(table, {"abcdXYZ"}).starts_with(SearchPrefix(table, {"ABCDother"})));
  EXPECT_TRUE(StoredKey(table, {"ab  XYZ"}).starts_with(SearchPrefix(table, {"ab"})));
  EXPECT_FALSE(StoredKey(table, {"abXYZ"}).starts_with(SearchPrefix(table, {"ab"})));
}

TEST(SearchKey, TextPrefixOfManyByteCharactersIsNoLongerThanThePart) {
  const TestTable table = TextTable(Utf8mb4Bin(), 4);
  EXPECT_EQ(SearchPrefix(table, {"abcdef"}).size(), kIndexNumberBytes + 12);
}

TEST(SearchKey, TextPrefixOfWeightsOfSeveralSizesLeavesTrailingSpacesOut) {
  const TestTable table = TextTable(Gbk(), 4);
  EXPECT_EQ(ToHex(SearchPrefix(table, {"a\xb0\xa1"})),
            "00000102"
            "41b0a1");
  EXPECT_TRUE(StoredKey(table, {"a\xb0\xa1  zz"}).starts_with(SearchPrefix(table, {"a\xb0\xa1"})));
}

TEST(SearchKey, TextPrefixWithoutContractionsLeavesTrailingSpacesOut) {
  const TestTable table = TextTable(Utf8mb4Unicode(), 4);
  EXPECT_EQ(ToHex(SearchPrefix(table, {"ab  "})),
            "00000102"
            "0e330e4a");
  // U+00AD weighs nothing: the first four characters of the stored value compare equal to "ab".
  EXPECT_TRUE(StoredKey(table, {"a\xc2\xad"
                                "b\xc2\xadzz"})
                  .starts_with(SearchPrefix(table, {"ab"})));
  // ß has two weights: both characters and weights may end the prefix.
  const std::string eszetts = "\xc3\x9f\xc3\x9f\xc3\x9f\xc3\x9f";
  EXPECT_TRUE(StoredKey(table, {eszetts + "x"}).starts_with(SearchPrefix(table, {eszetts})));
  EXPECT_EQ(SearchPrefix(table, {eszetts}).size(), kIndexNumberBytes + 16);
}

TEST(SearchKey, TextPrefixThatMayBeContractedWithWhatFollowsIsEmpty) {
  const TestTable table = TextTable(Utf8mb4Traditional(), 4);
  const std::string prefix = SearchPrefix(table, {"abcc"});
  EXPECT_TRUE(StoredKey(table, {"abcch"}).starts_with(prefix));
  EXPECT_EQ(prefix.size(), kIndexNumberBytes);
}

TEST(SearchKey, TextPrefixOfSeveralLevelsIsEmpty) {
  EXPECT_EQ(SearchPrefix(TextTable(Utf8mb4AsCs(), 4), {"ab"}).size(), kIndexNumberBytes);
}

TEST(SearchKey, BlobPrefixIsExactForShortValuesOnly) {
  const TestTable table = TextTable(Binary(), 4);
  EXPECT_EQ(ToHex(SearchPrefix(table, {"abcdef"})),
            "00000102"
            "61626364");
  EXPECT_EQ(ToHex(SearchPrefix(table, {"ab"})),
            "00000102"
            "61620000"
            "0002");
  EXPECT_TRUE(StoredKey(table, {"abcdXYZ"}).starts_with(SearchPrefix(table, {"abcd"})));
  EXPECT_EQ(StoredKey(table, {"ab"}).substr(0, 10), SearchPrefix(table, {"ab"}));
  EXPECT_FALSE(StoredKey(table, {std::string("ab\0", 3)}).starts_with(SearchPrefix(table, {"ab"})));
}

TEST(SearchKey, EncodingStopsAfterATextPart) {
  TestTable table;
  table.Int("a").Blob("t", 2, Latin1Swedish()).Nullable().Int("b");
  table.Key(kIndex, {"a", Part("t", 2), "b"}).HiddenKey(0x101);
  const auto codec = table.Codec(kIndex);
  const auto encode = [&](const Row& row, uint32_t count, std::string* prefix) {
    const std::string key = SearchKey(table, *codec, Record(table, row), count);
    return codec->EncodeSearchKey(reinterpret_cast<const uint8_t*>(key.data()), count, prefix);
  };
  std::string prefix;
  EXPECT_EQ(encode({1, "xyz", 2}, 3, &prefix), 2u);
  EXPECT_EQ(ToHex(prefix),
            "00000102"
            "80000001"
            "01"
            "5859");
  EXPECT_EQ(encode({1, nullptr, 2}, 3, &prefix), 3u) << "a NULL is exact";
  EXPECT_EQ(ToHex(prefix),
            "00000102"
            "80000001"
            "00"
            "80000002");
  EXPECT_EQ(encode({1, "xyz", 2}, 1, &prefix), 1u);
  EXPECT_EQ(ToHex(prefix),
            "00000102"
            "80000001");
}

TEST(SearchKey, AnyNonZeroNullByteMeansNull) {
  TestTable table;
  table.Int("a").Nullable().Key(kIndex, {"a"}).HiddenKey(0x101);
  std::string prefix;
  const std::string key = Hex("ff 01020304");
  EXPECT_EQ(table.Codec(kIndex)->EncodeSearchKey(reinterpret_cast<const uint8_t*>(key.data()), 1,
                                                 &prefix),
            1u);
  EXPECT_EQ(ToHex(prefix),
            "00000102"
            "00");
}

TEST(SearchKey, CharPrefixOfOneWeightACharacterIsExact) {
  TestTable table;
  table.Char("c", 10, Utf8mb4General()).Key(kIndex, {Part("c", 3)}).HiddenKey(0x101);
  const std::string prefix = SearchPrefix(table, {"abcdef"});
  EXPECT_EQ(ToHex(prefix),
            "00000102"
            "004100420043");
  EXPECT_TRUE(StoredKey(table, {"abcXYZ"}).starts_with(prefix));
}

TEST(SearchKey, CharPrefixOfSeveralWeightsACharacterIsCutToWhatIsShared) {
  TestTable table;
  table.Char("c", 10, Utf8mb4Unicode()).Key(kIndex, {Part("c", 3)}).HiddenKey(0x101);
  const std::string prefix = SearchPrefix(table, {"abcdef"});
  EXPECT_EQ(ToHex(prefix),
            "00000102"
            "0e330e4a0e60");
  EXPECT_TRUE(StoredKey(table, {"abcXYZ"}).starts_with(prefix));
}

TEST(SearchKey, PartsBeyondTheOwnOnesAreThoseOfTheSuffix) {
  TestTable table;
  table.Int("a").Varchar("b", 10, Latin1Bin()).Int("c");
  table.PrimaryKey(0x101, {"b", "a"}).Key(kIndex, {"a"});
  const auto codec = table.Codec(kIndex);
  const Record record(table, {1, "xy", 3});
  EXPECT_EQ(codec->key_part_count(), 2u) << "a, b: the primary key's a is there already";
  const std::string key = SearchKey(table, *codec, record, 2);
  std::string prefix;
  EXPECT_EQ(codec->EncodeSearchKey(reinterpret_cast<const uint8_t*>(key.data()), 2, &prefix), 2u);
  EXPECT_EQ(prefix, Encode(*codec, record, {}).key);
}

TEST(SearchKey, HiddenKeysCannotBeSearched) {
  TestTable table;
  table.Int("a").Key(kIndex, {"a"}).HiddenKey(0x101);
  const Record record(table, {1});
  const std::string key = SearchKey(table, *table.Codec(kIndex), record, 1) + "something";
  std::string prefix;
  EXPECT_EQ(table.Codec(kIndex)->EncodeSearchKey(reinterpret_cast<const uint8_t*>(key.data()), 2,
                                                 &prefix),
            1u);
  EXPECT_EQ(ToHex(prefix),
            "00000102"
            "80000001");
  EXPECT_EQ(table.Codec(0x101u)->EncodeSearchKey(nullptr, 1, &prefix), 0u);
  EXPECT_EQ(ToHex(prefix), "00000101");
}

// Values whose indexed prefixes the collation calls equal are found by each other's search keys.
TEST(SearchKey, PrefixesOfRandomTextsFindAllThatShareThem) {
  Random random;
  for (const Collation* collation :
       {&Binary(), &Latin1Bin(), &Latin1Swedish(), &Utf8mb3Bin(), &Utf8mb4Bin(), &Utf8mb4General(),
        &Utf8mb4Unicode(), &Utf8mb4Traditional(), &Utf8mb4AsCs(), &Gbk(), &Ucs2()}) {
    SCOPED_TRACE(collation->traits().name);
    for (int i = 0; i < 1500; ++i) {
      const auto chars = static_cast<uint32_t>(random.Between(1, 6));
      const TestTable table = TextTable(*collation, chars);
      const std::string a = *RandomValue(table.layout().columns[0], &random).data;
      const std::string b = *RandomValue(table.layout().columns[0], &random).data;
      const std::string shared = a.substr(0, collation->CharPrefixLength(a, chars));
      // `a` continued otherwise, if it is long enough to be continued behind the prefix.
      const bool whole = collation->CharPrefixLength(a, chars) == a.size();
      const std::string stored = whole ? a : shared + b;
      EXPECT_TRUE(StoredKey(table, {stored}).starts_with(SearchPrefix(table, {a})))
          << ToHex(stored) << " " << ToHex(a);
    }
  }
}

// --- Unique values ----------------------------------------

struct UniqueAnswer {
  bool starts_with_prefix = false;
  bool has_unique_value = false;
};

UniqueAnswer AskUnique(const TestTable& table, const Row& stored, const Row& inserted) {
  const auto codec = table.Codec(kIndex);
  const Record record(table, inserted);
  std::string prefix;
  EXPECT_TRUE(codec->EncodeUniquePrefix(record.data(), &prefix));
  const std::string key = Encode(*codec, Record(table, stored), {}).key;
  const Result<bool> same = codec->HasUniqueValueOf(record.data(), key);
  EXPECT_TRUE(same.ok());
  const UniqueAnswer answer = {key.starts_with(prefix), same.ok() && *same};
  EXPECT_TRUE(answer.starts_with_prefix || !answer.has_unique_value);
  if (codec->UniquePrefixIsExact()) {
    EXPECT_EQ(answer.starts_with_prefix, answer.has_unique_value);
  }
  return answer;
}

TEST(UniquePrefix, NullInAnyPartMeansThatNothingCollides) {
  TestTable table;
  table.Blob("t", 2, Binary())
      .Int("a")
      .Nullable()
      .UniqueKey(kIndex, {Part("t", 2), "a"})
      .HiddenKey(0x101);
  std::string prefix;
  EXPECT_FALSE(
      table.Codec(kIndex)->EncodeUniquePrefix(Record(table, {"abc", nullptr}).data(), &prefix));
}

TEST(UniquePrefix, OwnPartsAreComparedAndTheSuffixIsNot) {
  TestTable table;
  table.Int("id")
      .Varchar("a", 10, Latin1Swedish())
      .PrimaryKey(0x101, {"id"})
      .UniqueKey(kIndex, {"a"});
  EXPECT_TRUE(table.Codec(kIndex)->UniquePrefixIsExact());
  EXPECT_TRUE(AskUnique(table, {1, "abc"}, {2, "ABC "}).has_unique_value);
  EXPECT_FALSE(AskUnique(table, {1, "abc"}, {2, "abcd"}).has_unique_value);
}

TEST(UniquePrefix, TextsCollideInTheirIndexedCharacters) {
  for (const Collation* collation :
       {&Latin1Swedish(), &Utf8mb4General(), &Utf8mb4Unicode(), &Gbk()}) {
    SCOPED_TRACE(collation->traits().name);
    TestTable table;
    table.Blob("t", 2, *collation).UniqueKey(kIndex, {Part("t", 4)}).HiddenKey(0x101);
    EXPECT_TRUE(AskUnique(table, {"abcdef"}, {"ABCDxyz"}).has_unique_value);
    EXPECT_TRUE(AskUnique(table, {"ab"}, {"ab  xyz"}).has_unique_value);
    EXPECT_TRUE(AskUnique(table, {"ab  xyz"}, {"ab"}).has_unique_value);
    EXPECT_FALSE(AskUnique(table, {"abcef"}, {"abcdef"}).has_unique_value);
    EXPECT_FALSE(AskUnique(table, {"ab"}, {"abxyz"}).has_unique_value);
  }
}

TEST(UniquePrefix, BlobsCollideInTheirIndexedBytesAndShortOnesOnlyWithThemselves) {
  TestTable table;
  table.Blob("t", 2, Binary()).UniqueKey(kIndex, {Part("t", 4)}).HiddenKey(0x101);
  const std::string zero_ended("ab\0", 3);
  const std::string two_zeros("ab\0\0x", 5);
  EXPECT_FALSE(table.Codec(kIndex)->UniquePrefixIsExact());
  EXPECT_TRUE(AskUnique(table, {"abcdef"}, {"abcd"}).has_unique_value);
  EXPECT_TRUE(AskUnique(table, {"ab"}, {"ab"}).has_unique_value);
  EXPECT_FALSE(AskUnique(table, {"ab"}, {zero_ended}).has_unique_value);
  EXPECT_FALSE(AskUnique(table, {zero_ended}, {"ab"}).has_unique_value);
  EXPECT_FALSE(AskUnique(table, {"ab"}, {two_zeros}).has_unique_value);
  EXPECT_TRUE(AskUnique(table, {two_zeros}, {two_zeros + "yz"}).has_unique_value);
}

TEST(UniquePrefix, PartsBehindABlobAreComparedByHasUniqueValueOf) {
  TestTable table;
  table.Blob("t", 2, Latin1Bin()).Int("a").Nullable();
  table.UniqueKey(kIndex, {Part("t", 2), "a"}).HiddenKey(0x101);
  EXPECT_FALSE(table.Codec(kIndex)->UniquePrefixIsExact());
  const UniqueAnswer other = AskUnique(table, {"abX", 1}, {"abY", 2});
  EXPECT_TRUE(other.starts_with_prefix);
  EXPECT_FALSE(other.has_unique_value);
  EXPECT_TRUE(AskUnique(table, {"abX", 2}, {"abY", 2}).has_unique_value);
  EXPECT_FALSE(AskUnique(table, {"abX", nullptr}, {"abY", 2}).has_unique_value);
}

TEST(UniquePrefix, DamagedKeysAreCorruption) {
  TestTable table;
  table.Int("a").UniqueKey(kIndex, {"a"}).HiddenKey(0x101);
  EXPECT_EQ(table.Codec(kIndex)
                ->HasUniqueValueOf(Record(table, {1}).data(), Hex("0000010280"))
                .status()
                .code(),
            StatusCode::kCorruption);
}

TEST(MostKeysBetween, AreAsManyAsTheIntegersOfTheLastPart) {
  TestTable table;
  table.Int("a").Int("b").PrimaryKey(kIndex, {"a", "b"});
  const auto codec = table.Codec(kIndex);
  const std::string before = Hex("00000102 80000007");
  const auto between = [&](std::string_view first, std::string_view end) {
    return codec->MostKeysBetween(before + Hex(first), before + Hex(end));
  };
  EXPECT_EQ(between("80000001", "80000005"), 4u);
  EXPECT_EQ(between("7fffffff", "80000001"), 2u) << "from -1 to 0";
  EXPECT_EQ(between("", "80000001"), 0x80000001u) << "from the first one";
  EXPECT_EQ(between("80000000", "800001"), 0x100u) << "what follows 800000ff";
  EXPECT_EQ(between("80000001", "8000000500"), 5u) << "behind the key itself";
  EXPECT_EQ(between("80000005", "80000001"), 0u);
  EXPECT_EQ(
      codec->MostKeysBetween(Hex("00000102 80000007 80000001"), Hex("00000102 80000008 80000001")),
      std::nullopt)
      << "another value of the part before";
}

TEST(MostKeysBetween, IsKnownOfUniqueIntegersAlone) {
  TestTable table;
  table.Int("a").Varchar("c", 10, Latin1Bin()).Key(kIndex, {"a"}).HiddenKey(0x101);
  const std::string first = Hex("00000102 80000001");
  const std::string end = Hex("00000102 80000005");
  EXPECT_EQ(table.Codec(kIndex)->MostKeysBetween(first, end), std::nullopt);
}

}  // namespace
}  // namespace cairn::testing
