#include "engine/codec/unpack_info.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;

TEST(UnpackInfo, PrimaryLengthCountsTheHeaderAndEmptyBlocksStay) {
  std::string value;
  AppendPrimaryUnpackInfo("", &value);
  AppendPrimaryUnpackInfo("ab", &value);
  EXPECT_EQ(ToHex(value),
            "020003"
            "0200056162");
  ByteReader reader(value);
  std::string_view data;
  EXPECT_EQ(ReadPrimaryUnpackInfo(&reader, &data), Damage::kNone);
  EXPECT_EQ(data, "");
  EXPECT_EQ(ReadPrimaryUnpackInfo(&reader, &data), Damage::kNone);
  EXPECT_EQ(data, "ab");
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(UnpackInfo, SecondaryLengthIsZeroAndEmptyBlocksAreDropped) {
  std::string value;
  AppendSecondaryUnpackInfo("", &value);
  EXPECT_EQ(value, "");
  AppendSecondaryUnpackInfo("ab", &value);
  EXPECT_EQ(ToHex(value), "0200006162");
}

TEST(UnpackInfo, TheSecondaryLengthFieldIsIgnored) {
  for (const char* text : {"02000061", "0200ff61", "02000461"}) {
    const std::string value = Hex(text);
    ByteReader reader(value);
    bool present;
    EXPECT_EQ(ReadSecondaryUnpackInfoHeader(&reader, &present), Damage::kNone);
    EXPECT_TRUE(present);
    EXPECT_EQ(reader.rest(), "a");
  }
}

TEST(UnpackInfo, ASecondaryValueWithoutTheTagHasNoBlock) {
  for (const char* text : {"", "01ffffffffffffffff"}) {
    const std::string value = Hex(text);
    ByteReader reader(value);
    bool present;
    EXPECT_EQ(ReadSecondaryUnpackInfoHeader(&reader, &present), Damage::kNone);
    EXPECT_FALSE(present);
    EXPECT_EQ(reader.rest(), value);
  }
}

TEST(UnpackInfo, DamagedBlocksAreFound) {
  std::string_view data;
  for (const char* text : {"", "02", "0200", "020004", "020002", "020000"}) {
    const std::string value = Hex(text);
    ByteReader reader(value);
    EXPECT_EQ(ReadPrimaryUnpackInfo(&reader, &data), Damage::kShortUnpackInfo) << text;
  }
  const std::string covered_bitmap = Hex("0300050000");
  ByteReader reader(covered_bitmap);
  EXPECT_EQ(ReadPrimaryUnpackInfo(&reader, &data), Damage::kBadUnpackInfoTag);
  const std::string short_header = Hex("0200");
  reader = ByteReader(short_header);
  bool present;
  EXPECT_EQ(ReadSecondaryUnpackInfoHeader(&reader, &present), Damage::kShortUnpackInfo);
}

TEST(SpaceCounter, IsOneByteUpTo247AndTwoFrom248) {
  EXPECT_EQ(SpaceCounterBytes(247), 1);
  EXPECT_EQ(SpaceCounterBytes(248), 2);
  std::string data;
  AppendSpaceCounter(247, 0, 1, &data);
  AppendSpaceCounter(500, 0, 2, &data);
  EXPECT_EQ(ToHex(data),
            "ff"
            "01fc");
}

TEST(SpaceCounter, OnlyTheDifferenceOfTrimmedAndPaddedComesBack) {
  const auto round_trip = [](size_t trimmed, size_t padding, uint8_t bytes) {
    std::string data;
    AppendSpaceCounter(trimmed, padding, bytes, &data);
    ByteReader reader(data);
    SpaceCounter counter;
    EXPECT_EQ(ReadSpaceCounter(&reader, bytes, &counter), Damage::kNone);
    EXPECT_EQ(reader.remaining(), 0u);
    return counter;
  };
  for (uint8_t bytes : {1, 2}) {
    EXPECT_EQ(round_trip(0, 8, bytes).padding_chars, 8u);
    EXPECT_EQ(round_trip(1, 5, bytes).padding_chars, 4u);
    EXPECT_EQ(round_trip(9, 5, bytes).trimmed_chars, 4u);
    EXPECT_EQ(round_trip(9, 5, bytes).padding_chars, 0u);
  }
}

TEST(SpaceCounter, AMissingCounterIsDamage) {
  SpaceCounter counter;
  ByteReader empty("");
  EXPECT_EQ(ReadSpaceCounter(&empty, 1, &counter), Damage::kShortUnpackInfo);
  ByteReader one("x");
  EXPECT_EQ(ReadSpaceCounter(&one, 2, &counter), Damage::kShortUnpackInfo);
}

}  // namespace
}  // namespace cairn
