#include "engine/codec/space_padded_segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/codec/random.h"

namespace cairn {
namespace {

PaddedSegmentFormat Format(std::string_view space, uint8_t payload_bytes) {
  PaddedSegmentFormat format;
  format.payload_bytes = payload_bytes;
  format.space_bytes = static_cast<uint8_t>(space.size());
  std::copy(space.begin(), space.end(), format.space);
  return format;
}

std::vector<PaddedSegmentFormat> Formats() {
  return {Format(" ", 8), Format(std::string_view("\0 ", 2), 8),
          Format(std::string_view("\0\0 ", 3), 9)};
}

std::string_view Space(const PaddedSegmentFormat& format) {
  return {reinterpret_cast<const char*>(format.space), format.space_bytes};
}

std::string Write(std::string_view weights, const PaddedSegmentFormat& format,
                  size_t* padding = nullptr) {
  std::string key(MaxPaddedSegmentBytes(weights.size(), format.payload_bytes), '\0');
  auto* const begin = reinterpret_cast<uint8_t*>(key.data());
  size_t padding_bytes = 0;
  key.resize(
      static_cast<size_t>(WritePaddedSegments(weights, format, begin, &padding_bytes) - begin));
  if (padding != nullptr) *padding = padding_bytes;
  return key;
}

TEST(SpacePaddedSegments, AnEmptyValueIsOneSegmentOfSpaces) {
  size_t padding;
  EXPECT_EQ(ToHex(Write("", Formats()[0], &padding)), "202020202020202002");
  EXPECT_EQ(padding, 8u);
}

TEST(SpacePaddedSegments, WeightsThatEqualSpacesToTheEndAreDropped) {
  size_t padding;
  EXPECT_EQ(ToHex(Write("abcdefgh   ", Formats()[0], &padding)), "616263646566676802");
  EXPECT_EQ(padding, 0u);
}

TEST(SpacePaddedSegments, MarkersSayHowTheRestComparesWithSpaces) {
  EXPECT_EQ(Write("abcdefgh  \t", Formats()[0])[8], 1);
  EXPECT_EQ(Write("abcdefgh", Formats()[0])[8], 2);
  EXPECT_EQ(Write("abcdefgh  x", Formats()[0])[8], 3);
}

// Compares as PAD SPACE demands: the shorter string behaves as if followed by spaces.
int ComparePadSpace(std::string a, std::string b, std::string_view space) {
  while (a.size() < b.size()) a += space;
  while (b.size() < a.size()) b += space;
  return a.compare(b) < 0 ? -1 : a == b ? 0 : 1;
}

TEST(SpacePaddedSegments, KeysCompareAsPadSpaceDemands) {
  testing::Random random;
  for (const PaddedSegmentFormat& format : Formats()) {
    const std::string space(Space(format));
    const auto random_weights = [&] {
      std::string weights;
      for (size_t count = random.Below(20); count != 0; --count) {
        std::string weight = space;
        if (random.OneIn(3)) weight.back() = static_cast<char>(random.Between(0x1f, 0x21));
        weights += weight;
      }
      return weights;
    };
    for (int i = 0; i < 5000; ++i) {
      const std::string a = random_weights();
      const std::string b = random_weights();
      const int expected = ComparePadSpace(a, b, space);
      const std::string key_a = Write(a, format);
      const std::string key_b = Write(b, format);
      EXPECT_EQ(key_a < key_b, expected < 0) << ToHex(a) << " " << ToHex(b);
      EXPECT_EQ(key_a == key_b, expected == 0) << ToHex(a) << " " << ToHex(b);
    }
  }
}

TEST(SpacePaddedSegments, SkippingStopsBehindTheLastSegment) {
  for (const PaddedSegmentFormat& format : Formats()) {
    const std::string key = Write(std::string(36, 'x'), format) + "next";
    ByteReader reader(key);
    EXPECT_EQ(SkipPaddedSegments(&reader, format.payload_bytes), Damage::kNone);
    EXPECT_EQ(reader.rest(), "next");
  }
}

TEST(SpacePaddedSegments, TruncationAndStrangeMarkersAreDamage) {
  const PaddedSegmentFormat format = Formats()[0];
  const std::string key = Write(std::string(20, 'x'), format);
  for (size_t size = 0; size < key.size(); ++size) {
    const std::string cut = key.substr(0, size);
    ByteReader reader(cut);
    EXPECT_EQ(SkipPaddedSegments(&reader, format.payload_bytes), Damage::kShortKey);
  }
  for (int marker = 0; marker < 256; ++marker) {
    std::string altered = key;
    altered[8] = static_cast<char>(marker);
    ByteReader reader(altered);
    EXPECT_EQ(SkipPaddedSegments(&reader, format.payload_bytes),
              marker >= 1 && marker <= 3 ? Damage::kNone : Damage::kBadSegmentMarker);
  }
}

}  // namespace
}  // namespace cairn
