#include "engine/codec/value_sample.h"

#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;

// The sample of the values from `first` to before `end`.
ValueSample SampleOf(int first, int end) {
  ValueSample sample;
  for (int i = first; i < end; ++i) {
    AddToSample(SampledHash(HashValue(0, std::to_string(i))), &sample);
  }
  return sample;
}

int64_t EstimateOf(const std::vector<std::pair<int, int>>& places) {
  SharedValues values;
  for (const auto& [first, end] : places) values.Add(end - first, SampleOf(first, end));
  return values.Estimate();
}

TEST(SharedValues, AreExactWhenTheyAreFewOrInOnePlace) {
  EXPECT_EQ(EstimateOf({}), 0);
  EXPECT_EQ(EstimateOf({{0, 100}, {50, 150}, {0, 200}}), 200);
  EXPECT_EQ(EstimateOf({{0, 70'000}}), 70'000);
}

TEST(SharedValues, AreNearTheTruthHoweverPlacesOverlap) {
  EXPECT_EQ(EstimateOf({{0, 20'000}, {20'000, 50'000}}), 50'000) << "nothing in common";
  EXPECT_EQ(EstimateOf({{0, 20'000}, {0, 20'000}, {0, 20'000}}), 20'000) << "all in common";
  EXPECT_NEAR(static_cast<double>(EstimateOf({{0, 20'000}, {10'000, 30'000}})), 30'000, 3000);
  EXPECT_NEAR(static_cast<double>(EstimateOf({{0, 40'000}, {0, 1000}, {39'500, 40'500}})), 40'500,
              2000);
  EXPECT_NEAR(static_cast<double>(EstimateOf({{0, 9000}, {3000, 12'000}, {6000, 15'000}})), 15'000,
              1500);
}

TEST(SharedValues, APlaceLookedAtHereAndThereIsTakenToOverlapAsFarAsItWasSeen) {
  SharedValues few;
  few.Add(100, SampleOf(0, 100));
  few.AddSeen(1000, SampleOf(50, 150));
  EXPECT_EQ(few.Estimate(), 600);
  SharedValues many;
  many.Add(20'000, SampleOf(0, 20'000));
  many.AddSeen(5000, SampleOf(17'500, 22'500));
  EXPECT_NEAR(static_cast<double>(many.Estimate()), 22'500, 1500);
  SharedValues none;
  none.AddSeen(70, SampleOf(0, 10));
  EXPECT_EQ(none.Estimate(), 70);
}

TEST(ValueSamples, HaveThisLayout) {
  const IndexSamples samples = {{256, {{1, 0xfedcba98}, {}}}, {257, {}}};
  const std::string bytes = EncodeValueSamples(samples);
  EXPECT_EQ(ToHex(bytes),
            "0001"
            "00000100"
            "02"
            "0002"
            "00000001"
            "fedcba98"
            "0000");
  EXPECT_EQ(*DecodeValueSamples(bytes), (IndexSamples{{256, {{1, 0xfedcba98}, {}}}}));
}

TEST(ValueSamples, HashesArePersisted) {
  EXPECT_EQ(HashValue(0, ""), 0x9C60C22591400851U);
  EXPECT_EQ(HashValue(0, Hex("80000001")), 0x2297921B1C69CDD0U);
  EXPECT_EQ(HashValue(HashValue(0, "abcdefgh"), "abcdefghi"), 0x64AE9622D4C3C6B6U);
}

TEST(ValueSamples, DamageAndOtherVersionsAreRefused) {
  EXPECT_EQ(DecodeValueSamples(Hex("0002")).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeValueSamples(Hex("00")).status().code(), StatusCode::kCorruption);
  const std::string bytes = EncodeValueSamples({{256, {{1, 2}}}});
  for (size_t size = 3; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeValueSamples(bytes.substr(0, size)).status().code(), StatusCode::kCorruption);
  }
  EXPECT_EQ(DecodeValueSamples(Hex("0001 00000100 01 0002 00000002 00000002")).status().code(),
            StatusCode::kCorruption)
      << "not ascending";
}

}  // namespace
}  // namespace cairn
