#include "engine/codec/foreign_key_record.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "engine/codec/dictionary_record.h"
#include "engine/codec/index_feature.h"
#include "tests/unit/codec/random.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;
using testing::Random;

std::string Checksummed(std::string body) {
  AppendBigEndian(Crc32c(body), &body);
  return body;
}

// The examples of the format page.
const char kActiveExample[] =
    "0001 00 02 03 01 00000000 0008 635f6962666b5f31 0004 64622e63 0004 64622e70"
    "0002 0001 61 0001 78 0001 62 0001 79";
const char kToDropExample[] =
    "0001 02 00 00 00 00000107 0000 000f 64622e2373716c2d616c7465722d31 0000 0000";

ForeignKeyRecord ActiveExample() {
  return {.on_delete = ForeignKeyAction::kCascade,
          .on_update = ForeignKeyAction::kSetNull,
          .name_is_generated = true,
          .name = "c_ibfk_1",
          .child = "db.c",
          .parent = "db.p",
          .columns = {{"a", "x"}, {"b", "y"}}};
}

ForeignKeyRecord ToDropExample() {
  return {.state = ForeignKeyState::kToDrop, .other = 0x107, .child = "db.#sql-alter-1"};
}

TEST(ForeignKeyRecordTest, HasTheBytesOfTheFormatPage) {
  EXPECT_EQ(ToHex(ForeignKeyKey(0x104)), "0000004600000104");
  EXPECT_EQ(*DecodeForeignKeyKey(Hex("0000004600000104")), 0x104u);
  EXPECT_EQ(ToHex(EncodeForeignKey(ActiveExample())), ToHex(Hex(kActiveExample)) + "c4a03c4a");
  EXPECT_EQ(ToHex(EncodeForeignKey(ToDropExample())), ToHex(Hex(kToDropExample)) + "43808c79");
  for (const ForeignKeyRecord& record : {ActiveExample(), ToDropExample()}) {
    const auto decoded = DecodeForeignKey(EncodeForeignKey(record));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(*decoded, record);
  }
}

TEST(ForeignKeyRecordTest, NumbersOfStatesAndActionsAreThoseOfTheFormatPage) {
  EXPECT_EQ(static_cast<int>(ForeignKeyState::kActive), 0);
  EXPECT_EQ(static_cast<int>(ForeignKeyState::kToAdd), 1);
  EXPECT_EQ(static_cast<int>(ForeignKeyState::kToDrop), 2);
  EXPECT_EQ(static_cast<int>(ForeignKeyState::kReplaces), 3);
  EXPECT_EQ(static_cast<int>(ForeignKeyState::kPutAside), 4);
  EXPECT_EQ(static_cast<int>(ForeignKeyAction::kRestrict), 0);
  EXPECT_EQ(static_cast<int>(ForeignKeyAction::kNoAction), 1);
  EXPECT_EQ(static_cast<int>(ForeignKeyAction::kCascade), 2);
  EXPECT_EQ(static_cast<int>(ForeignKeyAction::kSetNull), 3);
}

TEST(ForeignKeyRecordTest, GuardsAreOfPrimaryKeysOfAnyFormat) {
  const IndexInfo child{.features = kFeatureForeignKeyChild};
  EXPECT_EQ(ToHex(EncodeIndexInfo(child)), "430201000d00000000000000000000000000000200");
  const IndexInfo both{.features = kForeignKeyGuards | kFeatureRowLayouts};
  EXPECT_EQ(ToHex(EncodeIndexInfo(both)), "430201000d00000000000000000000000000000700");
  const IndexInfo cairn{.kind = IndexKind::kHiddenPrimary,
                        .format_version = kCairnFormatVersion,
                        .features = kFeatureForeignKeyParent | kFeatureTrimmedChar};
  for (const IndexInfo& info : {child, both, cairn}) {
    EXPECT_EQ(*DecodeIndexInfo(EncodeIndexInfo(info)), info);
  }
  for (const uint32_t guard : {kFeatureForeignKeyChild, kFeatureForeignKeyParent}) {
    const IndexInfo secondary{
        .kind = IndexKind::kSecondary, .format_version = kCairnFormatVersion, .features = guard};
    EXPECT_EQ(DecodeIndexInfo(EncodeIndexInfo(secondary)).status().code(), StatusCode::kCorruption);
  }
  EXPECT_EQ(NameFeatures(kForeignKeyGuards), "foreign key, referenced by foreign key");
}

TEST(ForeignKeyRecordTest, AnyOtherByteIsAnErrorWithAReason) {
  for (const ForeignKeyRecord& record : {ActiveExample(), ToDropExample()}) {
    const std::string value = EncodeForeignKey(record);
    for (size_t i = 0; i < value.size(); ++i) {
      std::string altered = value;
      altered[i] = static_cast<char>(altered[i] ^ 0x10);
      const auto decoded = DecodeForeignKey(altered);
      ASSERT_FALSE(decoded.ok()) << i;
      EXPECT_EQ(decoded.status().code(),
                i < 2 ? StatusCode::kNotSupported : StatusCode::kCorruption);
      EXPECT_FALSE(TablesOfDamagedForeignKey(altered).ok()) << i;
      EXPECT_FALSE(DecodeForeignKey(value.substr(0, i)).ok()) << i;
      const bool is_whole = i + sizeof(uint32_t) == value.size();
      EXPECT_EQ(DecodeForeignKey(Checksummed(value.substr(0, i))).ok(), is_whole) << i;
    }
    EXPECT_FALSE(DecodeForeignKey(value + '\0').ok());
    EXPECT_FALSE(DecodeForeignKey(Checksummed(value.substr(0, value.size() - 4) + "x")).ok());
  }
}

// With its checksum, so that its tables can be told.
void ExpectRefused(const std::string& body, const std::string& reason) {
  const auto decoded = DecodeForeignKey(Checksummed(Hex(body)));
  ASSERT_FALSE(decoded.ok()) << body;
  EXPECT_EQ(decoded.status().code(), StatusCode::kCorruption);
  EXPECT_NE(decoded.status().ToString().find(reason), std::string::npos)
      << decoded.status().ToString();
}

TEST(ForeignKeyRecordTest, WhatMakesNoSenseIsCorruption) {
  const std::string texts = "0001 6e 0003 642e63 0003 642e70";  // n, d.c, d.p
  const std::string column = "0001 0001 61 0001 78";
  ExpectRefused("0001 05 00 00 00 00000000" + texts + column, "unknown state");
  ExpectRefused("0001 00 04 00 00 00000000" + texts + column, "unknown action");
  ExpectRefused("0001 00 00 04 00 00000000" + texts + column, "unknown action");
  ExpectRefused("0001 00 00 00 02 00000000" + texts + column, "unknown flags");
  ExpectRefused("0001 00 00 00 00 00000001" + texts + column, "names another one");
  ExpectRefused("0001 02 00 00 00 00000000 0000 0003 642e63 0000 0000", "names another one");
  ExpectRefused("0001 00 00 00 00 00000000 0001 6e 0002 6463 0003 642e70" + column, "no child");
  ExpectRefused("0001 00 00 00 00 00000000 0001 6e 0002 2e63 0003 642e70" + column, "no child");
  ExpectRefused("0001 00 00 00 00 00000000 0001 6e 0003 642e63 0002 642e" + column, "wrong parent");
  ExpectRefused("0001 00 00 00 00 00000000 0001 6e 0003 642e63 0000" + column, "wrong parent");
  ExpectRefused("0001 02 00 00 00 00000001 0000 0003 642e63 0003 642e70 0000", "wrong parent");
  ExpectRefused("0001 00 00 00 00 00000000 0000 0003 642e63 0003 642e70" + column, "no name");
  ExpectRefused("0001 03 00 00 00 00000000" + texts + "0000", "no name");
  ExpectRefused("0001 00 00 00 00 00000000" + texts + "0000", "number of columns");
  ExpectRefused("0001 03 00 00 00 00000000 0000 0003 642e63 0003 642e70" + column,
                "number of columns");
  ExpectRefused("0001 00 00 00 00 00000000" + texts + "0001 0000 0001 78", "without a name");
  ExpectRefused("0001 00 00 00 00 00000000" + texts + "0001 0001 61 0000", "without a name");
  ForeignKeyRecord wide = ActiveExample();
  wide.columns.assign(kMostForeignKeyColumns, {"a", "b"});
  EXPECT_TRUE(DecodeForeignKey(EncodeForeignKey(wide)).ok());
  wide.columns.emplace_back(wide.columns.front());
  EXPECT_FALSE(DecodeForeignKey(EncodeForeignKey(wide)).ok());
}

TEST(ForeignKeyRecordTest, TablesOfARecordThatMakesNoSenseCanBeTold) {
  const auto tables = TablesOfDamagedForeignKey(
      Checksummed(Hex("0001 05 00 00 00 00000000 0001 6e 0003 642e63 0003 642e70 0000")));
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(tables->child, "d.c");
  EXPECT_EQ(tables->parent, "d.p");
  EXPECT_FALSE(TablesOfDamagedForeignKey(
                   Checksummed(Hex("0001 05 00 00 00 00000000 0001 6e 0000 0003 642e70 0000")))
                   .ok());
}

TEST(ForeignKeyRecordTest, OtherKeysAreCorruption) {
  for (const char* key : {"", "00000046", "000000460000010400", "0000004500000104"}) {
    EXPECT_EQ(DecodeForeignKeyKey(Hex(key)).status().code(), StatusCode::kCorruption) << key;
  }
}

std::string RandomText(Random* random, size_t least) {
  std::string text;
  for (size_t size = random->Between(least, 70); size != 0; --size) {
    text.push_back(static_cast<char>(random->Between(1, 255)));
  }
  return text;
}

TEST(ForeignKeyRecordTest, RandomRecordsComeBack) {
  Random random;
  for (int round = 0; round < 2000; ++round) {
    ForeignKeyRecord record;
    record.state = static_cast<ForeignKeyState>(random.Below(5));
    record.on_delete = static_cast<ForeignKeyAction>(random.Below(4));
    record.on_update = static_cast<ForeignKeyAction>(random.Below(4));
    record.name_is_generated = random.OneIn(2);
    record.child = "d" + RandomText(&random, 0) + "." + RandomText(&random, 1);
    if (record.state == ForeignKeyState::kToDrop) {
      record.other = static_cast<uint32_t>(random.Between(1, UINT32_MAX));
    } else {
      record.parent = "d" + RandomText(&random, 0) + "." + RandomText(&random, 1);
    }
    if (record.is_constraint()) {
      record.name = RandomText(&random, 1);
      for (size_t i = random.Between(1, kMostForeignKeyColumns); i != 0; --i) {
        record.columns.push_back({RandomText(&random, 1), RandomText(&random, 1)});
      }
    }
    const auto decoded = DecodeForeignKey(EncodeForeignKey(record));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    ASSERT_EQ(*decoded, record);
  }
}

}  // namespace
}  // namespace cairn
