// Damaged entries: whatever the bytes are, decoding answers kCorruption or a row that is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/damage.h"
#include "tests/unit/codec/damaged_entry.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

TEST(DamagedEntries, TruncationAtAnyLengthIsCorruption) {
  Random random;
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    const TestTable table = RandomTable(&random);
    SCOPED_TRACE(Describe(table));
    const Record record(table, RandomRow(table, &random));
    for (const IndexLayout& index : table.indexes()) {
      SCOPED_TRACE(index.index_number);
      const auto codec = table.Codec(index);
      const Entry entry = Encode(*codec, record, {});
      const auto plan =
          std::move(codec->MakePlan(table.Covered(*codec), IndexCodec::Checksums::kVerify)).value();
      ForEachTruncation(entry.key, [&](const std::string& key) {
        EXPECT_EQ(DecodeAnyBytes(table, *codec, *plan, key, entry.value), StatusCode::kCorruption)
            << ToHex(entry.key) << " cut to " << key.size();
      });
      EXPECT_EQ(DecodeAnyBytes(table, *codec, *plan, entry.key + '\0', entry.value),
                StatusCode::kCorruption);
      ForEachTruncation(entry.value, [&](const std::string& value) {
        EXPECT_EQ(DecodeAnyBytes(table, *codec, *plan, entry.key, value), StatusCode::kCorruption)
            << ToHex(entry.value) << " cut to " << value.size();
      });
      EXPECT_EQ(DecodeAnyBytes(table, *codec, *plan, entry.key, entry.value + '\0'),
                StatusCode::kCorruption);
    }
  }
}

TEST(DamagedEntries, AnyAlteredByteGivesCorruptionOrAnotherRow) {
  Random random;
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    const TestTable table = RandomTable(&random);
    SCOPED_TRACE(Describe(table));
    const Record record(table, RandomRow(table, &random));
    for (const IndexLayout& index : table.indexes()) {
      const auto codec = table.Codec(index);
      const Entry entry = Encode(*codec, record, {.checksums = random.OneIn(2)});
      for (IndexCodec::Checksums checksums :
           {IndexCodec::Checksums::kIgnore, IndexCodec::Checksums::kVerify}) {
        const auto plan = std::move(codec->MakePlan(table.Covered(*codec), checksums)).value();
        ForEachAlteredByte(entry.key, &random, [&](const std::string& key) {
          DecodeAnyBytes(table, *codec, *plan, key, entry.value);
        });
        ForEachAlteredByte(entry.value, &random, [&](const std::string& value) {
          DecodeAnyBytes(table, *codec, *plan, entry.key, value);
        });
      }
    }
  }
}

TEST(DamagedEntries, RandomBytesNeverCrash) {
  Random random;
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    const TestTable table = RandomTable(&random);
    for (const IndexLayout& index : table.indexes()) {
      const auto codec = table.Codec(index);
      const auto plan =
          std::move(codec->MakePlan(table.Covered(*codec), IndexCodec::Checksums::kVerify)).value();
      for (int j = 0; j < 50; ++j) {
        std::string key(random.Below(60), '\0');
        std::string value(random.Below(60), '\0');
        for (char& byte : key)
          byte = static_cast<char>(random.OneIn(2) ? random.Below(4) : random.Bits());
        for (char& byte : value)
          byte = static_cast<char>(random.OneIn(2) ? random.Below(4) : random.Bits());
        std::string number(4, '\0');
        StoreBigEndian(number.data(), index.index_number);
        DecodeAnyBytes(table, *codec, *plan, number + key, value);
      }
    }
  }
}

// --- One test for each kind of damage. ----------------------------------------

// Decodes all covered columns of the index's entry; returns the message.
std::string MessageOf(const TestTable& table, uint32_t index_number, const std::string& key,
                      const std::string& value,
                      IndexCodec::Checksums checksums = IndexCodec::Checksums::kIgnore) {
  const auto codec = table.Codec(index_number);
  const auto plan = std::move(codec->MakePlan(table.Covered(*codec), checksums)).value();
  Record record(table);
  const Status status = codec->Decode(*plan, Hex(key), Hex(value), record.data());
  if (!status.ok() && status.code() != StatusCode::kChecksumMismatch) {
    EXPECT_EQ(status.code(), StatusCode::kCorruption);
  }
  return status.ToString();
}

// Matches a message that names the damage, the index and the key.
void ExpectDamage(const std::string& message, Damage damage, const std::string& key) {
  EXPECT_NE(message.find(ToString(damage)), std::string::npos) << message;
  EXPECT_NE(message.find("table test.t, index `"), std::string::npos) << message;
  EXPECT_NE(message.find("key " + key), std::string::npos) << message;
}

const TestTable& LatinTable() {
  static const TestTable table = [] {
    TestTable latin;
    latin.Int("id")
        .Varchar("a", 10, Latin1Swedish())
        .Nullable()
        .Varchar("b", 5, Binary())
        .Nullable();
    latin.PrimaryKey(0x101, {"id"}).Key(0x102, {"a"}).Key(0x103, {"b"});
    return latin;
  }();
  return table;
}

TEST(DamagedEntries, KeyOfAnotherIndexIsNamed) {
  ExpectDamage(MessageOf(LatinTable(), 0x102, "000001030080000001", ""), Damage::kForeignKey,
               "000001030080000001");
}

TEST(DamagedEntries, NullByteMustBeZeroOrOne) {
  ExpectDamage(MessageOf(LatinTable(), 0x102, "000001020280000001", ""), Damage::kBadNullByte,
               "000001020280000001");
}

TEST(DamagedEntries, BytesBehindTheLastPartAreFound) {
  ExpectDamage(MessageOf(LatinTable(), 0x102, "00000102008000000100", ""), Damage::kLongKey,
               "00000102008000000100");
}

TEST(DamagedEntries, MissingUnpackInfoIsFound) {
  const std::string key = "000001020141202020202020200280000001";
  ExpectDamage(MessageOf(LatinTable(), 0x102, key, ""), Damage::kShortUnpackInfo, key);
  ExpectDamage(MessageOf(LatinTable(), 0x102, key, "02000001"), Damage::kShortUnpackInfo, key);
}

TEST(DamagedEntries, CounterLargerThanTheColumnIsFound) {
  const std::string key = "000001020141202020202020200280000001";
  ExpectDamage(MessageOf(LatinTable(), 0x102, key, "020000ff01"), Damage::kTooLongColumn, key);
}

TEST(DamagedEntries, CounterLargerThanItsSegmentIsFound) {
  TestTable table;
  table.Varchar("a", 10, Utf8mb3Bin()).PrimaryKey(0x101, {"a"});
  const std::string key = "00000101006100200020002002";
  ExpectDamage(MessageOf(table, 0x101, key, "02000403"), Damage::kBadSpaceCounter, key);
}

TEST(DamagedEntries, CodeWithoutByteIsFound) {
  const std::string key = "000001020141202020202020200280000001";
  ExpectDamage(MessageOf(LatinTable(), 0x102, key, "020000010f"), Damage::kBadCharacterCode, key);
}

TEST(DamagedEntries, VarcharInTheKeyLongerThanItsColumnIsFound) {
  const std::string key =
      "00000103016162636465660000068000"
      "0001";
  ExpectDamage(MessageOf(LatinTable(), 0x103, key, ""), Damage::kTooLongColumn, key);
}

TEST(DamagedEntries, VarcharInTheValueLongerThanItsColumnIsFound) {
  const std::string key = "0000010180000001";
  ExpectDamage(MessageOf(LatinTable(), 0x101, key, "020b" + std::string(22, '6')),
               Damage::kTooLongColumn, key);
}

TEST(DamagedEntries, BlobLongerThanTheValueIsFound) {
  TestTable table;
  table.Int("id").Blob("b", 4, Binary()).PrimaryKey(0x101, {"id"});
  ExpectDamage(MessageOf(table, 0x101, "0000010180000001", "ffffffff61"), Damage::kShortValue,
               "0000010180000001");
}

TEST(DamagedEntries, PrimaryBlockMustBeThere) {
  TestTable table;
  table.Varchar("a", 10, Latin1Bin()).PrimaryKey(0x101, {"a"});
  const std::string key = "00000101612020202020202002";
  ExpectDamage(MessageOf(table, 0x101, key, "01000401"), Damage::kBadUnpackInfoTag, key);
  ExpectDamage(MessageOf(table, 0x101, key, "02000501"), Damage::kShortUnpackInfo, key);
}

TEST(DamagedEntries, BytesBehindThePrimaryBlocksLastPartAreFoundWhenVerifying) {
  TestTable table;
  table.Varchar("a", 10, Latin1Bin()).PrimaryKey(0x101, {"a"});
  const std::string key = "00000101612020202020202002";
  EXPECT_EQ(MessageOf(table, 0x101, key, "0200050100"), "ok");
  ExpectDamage(MessageOf(table, 0x101, key, "0200050100", IndexCodec::Checksums::kVerify),
               Damage::kLongUnpackInfo, key);
}

TEST(DamagedEntries, StrayNullBitsAreFoundWhenVerifying) {
  const std::string key = "0000010180000001";
  EXPECT_EQ(MessageOf(LatinTable(), 0x101, key, "07"), "ok");
  ExpectDamage(MessageOf(LatinTable(), 0x101, key, "07", IndexCodec::Checksums::kVerify),
               Damage::kBadNullBits, key);
}

TEST(DamagedEntries, LeftoversOfAValueAreAnErrorOnlyWhenVerifying) {
  const std::string key = "0000010180000001";
  EXPECT_EQ(MessageOf(LatinTable(), 0x101, key, "03ff"), "ok");
  ExpectDamage(MessageOf(LatinTable(), 0x101, key, "03ff", IndexCodec::Checksums::kVerify),
               Damage::kLongValue, key);
  const std::string secondary = "000001020080000001";
  EXPECT_EQ(MessageOf(LatinTable(), 0x102, secondary, "ff"), "ok");
  ExpectDamage(MessageOf(LatinTable(), 0x102, secondary, "ff", IndexCodec::Checksums::kVerify),
               Damage::kLongValue, secondary);
}

TEST(DamagedEntries, ChecksumsThatDoNotMatchAreNamedAsSuch) {
  const TestTable table = LatinTable();
  const auto codec = table.Codec(0x101u);
  const auto plan =
      std::move(codec->MakePlan(table.Covered(*codec), IndexCodec::Checksums::kVerify)).value();
  const Entry entry = Encode(*codec, Record(table, {1, "x", nullptr}), {.checksums = true});
  Record record(table);
  for (size_t at = entry.value.size() - 8; at < entry.value.size(); ++at) {
    std::string altered = entry.value;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    const Status status = codec->Decode(*plan, entry.key, altered, record.data());
    EXPECT_EQ(status.code(), StatusCode::kChecksumMismatch);
    EXPECT_NE(status.message().find(ToHex(entry.key)), std::string_view::npos);
  }
  EXPECT_TRUE(codec->Decode(*plan, entry.key, entry.value, record.data()).ok());
}

TEST(DamagedEntries, NoBlobKeepsAPointerToAnEarlierRow) {
  TestTable table;
  table.Int("id").Blob("b", 2, Binary()).Varchar("v", 3, Binary()).Blob("c", 2, Binary());
  table.PrimaryKey(0x101, {"id"});
  const auto codec = table.Codec(0x101u);
  const auto plan =
      std::move(codec->MakePlan(table.Covered(*codec), IndexCodec::Checksums::kIgnore)).value();
  Record record(table, {1, "old", "v", "old"});
  EXPECT_EQ(codec->Decode(*plan, Hex("0000010180000001"), Hex("0100 61 04"), record.data()).code(),
            StatusCode::kCorruption);
  EXPECT_EQ(record.Data(1), "");
  EXPECT_EQ(record.Data(3), "");
}

TEST(DamagedEntries, NoBlobIsLeftWhenTheChecksumsDoNotMatch) {
  TestTable table;
  table.Int("id").Blob("b", 2, Binary());
  table.PrimaryKey(0x101, {"id"});
  const auto codec = table.Codec(0x101u);
  const auto plan =
      std::move(codec->MakePlan(table.Covered(*codec), IndexCodec::Checksums::kVerify)).value();
  Entry entry = Encode(*codec, Record(table, {1, "text"}), {.checksums = true});
  entry.value[3] = 'x';
  Record record(table, {1, "old"});
  EXPECT_EQ(codec->Decode(*plan, entry.key, entry.value, record.data()).code(),
            StatusCode::kChecksumMismatch);
  EXPECT_EQ(record.Data(1), "");
}

TEST(DamagedEntries, ShortStampsAndHiddenKeysAreCorruption) {
  TestTable table;
  table.Int("a").Key(0x101, {"a"}).HiddenKey(0x102).TtlStamps();
  EXPECT_EQ(table.Codec(0x101u)->TtlStamp("1234567").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(table.Codec(0x102u)->HiddenKey(Hex("00000102 00000000000000")).status().code(),
            StatusCode::kCorruption);
  EXPECT_EQ(table.Codec(0x102u)->HiddenKey(Hex("00000102 000000000000000000")).status().code(),
            StatusCode::kCorruption);
  EXPECT_EQ(table.Codec(0x101u)->HiddenKey(Hex("00000101 80000001")).status().code(),
            StatusCode::kCorruption);
}

TEST(Damage, EveryKindHasAPhraseOfItsOwn) {
  std::vector<std::string_view> phrases;
  for (int i = 0; i <= static_cast<int>(Damage::kBadNullBits); ++i) {
    const std::string_view phrase = ToString(static_cast<Damage>(i));
    EXPECT_EQ(std::count(phrases.begin(), phrases.end(), phrase), 0) << phrase;
    EXPECT_NE(phrase, "unknown damage");
    phrases.push_back(phrase);
  }
}

}  // namespace
}  // namespace cairn::testing
