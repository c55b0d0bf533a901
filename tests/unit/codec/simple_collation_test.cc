#include "engine/codec/simple_collation.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/codec/random.h"
#include "tests/unit/codec/test_collations.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;

const SimpleCollation& Swedish() {
  static const SimpleCollation collation(testing::Latin1Swedish().traits().sort_order);
  return collation;
}

std::string Codes(const SimpleCollation& collation, std::string_view text) {
  std::string codes;
  collation.AppendCodes(text, &codes);
  return codes;
}

std::string WeightsOf(const SimpleCollation& collation, std::string_view text) {
  std::string weights(text.size(), '\0');
  collation.WriteWeights(text, reinterpret_cast<uint8_t*>(weights.data()));
  return weights;
}

Damage Restore(const SimpleCollation& collation, std::string* weights, ByteReader* codes) {
  return CharacterCodeReader(collation, codes)
      .Restore(reinterpret_cast<uint8_t*>(weights->data()), weights->size());
}

TEST(SimpleCollation, WidthsAreThoseOfTheFormatPage) {
  for (char letter : std::string("AEIO")) EXPECT_EQ(Swedish().CodeBits(letter), 4) << letter;
  for (char letter : std::string("CDN[")) EXPECT_EQ(Swedish().CodeBits(letter), 2) << letter;
  for (char letter : std::string("UY]")) {
    EXPECT_EQ(Swedish().CodeBits(letter), letter == ']' ? 2 : 3) << letter;
  }
  EXPECT_EQ(Swedish().CodeBits('\\'), 3);
  for (int weight : {0xd8, 0xde}) EXPECT_EQ(Swedish().CodeBits(static_cast<uint8_t>(weight)), 1);
  for (char letter : std::string("BFGHJKLMPQRSTVWXZ")) {
    EXPECT_EQ(Swedish().CodeBits(letter), 1) << letter;
  }
  for (char other : std::string(" 0123456789_")) EXPECT_EQ(Swedish().CodeBits(other), 0) << other;
}

TEST(SimpleCollation, ACodeThatDoesNotFitPutsItsHighBitsFirst) {
  EXPECT_EQ(ToHex(Codes(Swedish(), "AbcdeF")), "3003");
}

TEST(SimpleCollation, BytesWithAWeightOfTheirOwnTakeNoBits) {
  EXPECT_EQ(Codes(Swedish(), "  123  "), "");
}

TEST(SimpleCollation, RandomTextsComeBackFromWeightsAndCodes) {
  testing::Random random;
  const SimpleCollation ukrainian(testing::Latin1Ukrainian().traits().sort_order);
  for (const SimpleCollation* collation : {&Swedish(), &ukrainian}) {
    for (int i = 0; i < 3000; ++i) {
      std::string text(random.Below(30), '\0');
      for (char& byte : text) byte = static_cast<char>(random.Below(256));
      std::string codes = Codes(*collation, text) + "next";
      std::string weights = WeightsOf(*collation, text);
      ByteReader reader(codes);
      EXPECT_EQ(CharacterCodeReader(*collation, &reader).Skip(weights), Damage::kNone);
      EXPECT_EQ(reader.rest(), "next");
      reader = ByteReader(codes);
      EXPECT_EQ(Restore(*collation, &weights, &reader), Damage::kNone);
      EXPECT_EQ(weights, text);
      EXPECT_EQ(reader.rest(), "next");
    }
  }
}

TEST(SimpleCollation, OneWeightForAllBytesTakesEightBits) {
  const uint8_t all_equal[256] = {};
  const SimpleCollation collation(all_equal);
  EXPECT_EQ(collation.CodeBits(0), 8);
  EXPECT_EQ(Codes(collation, "xyz"), "xyz");
}

TEST(SimpleCollation, MissingCodesAreDamage) {
  std::string weights = "AAA";
  const std::string codes = Hex("00");
  ByteReader reader(codes);
  EXPECT_EQ(Restore(Swedish(), &weights, &reader), Damage::kShortUnpackInfo);
}

TEST(SimpleCollation, CodesAndWeightsThatNoByteHasAreDamage) {
  std::string weights = "A";
  const std::string codes = Hex("0f");  // Ten bytes sort as A: codes 0 to 9.
  ByteReader reader(codes);
  EXPECT_EQ(Restore(Swedish(), &weights, &reader), Damage::kBadCharacterCode);
  weights = "a";  // The weight of no byte.
  reader = ByteReader(codes);
  EXPECT_EQ(Restore(Swedish(), &weights, &reader), Damage::kBadCharacterCode);
}

}  // namespace
}  // namespace cairn
