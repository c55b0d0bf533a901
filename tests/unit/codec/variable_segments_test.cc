#include "engine/codec/variable_segments.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/codec/random.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;

constexpr SegmentFormat kFormats[] = {SegmentFormat::kCurrent, SegmentFormat::kLegacy};

std::string Write(std::string_view value, SegmentFormat format) {
  std::string key(MaxVariableSegmentBytes(value.size(), format), '\0');
  auto* const begin = reinterpret_cast<uint8_t*>(key.data());
  EXPECT_EQ(WriteVariableSegments(value, format, begin), begin + key.size());
  return key;
}

Damage Read(std::string_view key, SegmentFormat format, std::string* value,
            size_t capacity = 1000) {
  value->assign(capacity, '\0');
  size_t value_bytes = 0;
  ByteReader reader(key);
  const Damage damage = ReadVariableSegments(
      &reader, format, reinterpret_cast<uint8_t*>(value->data()), capacity, &value_bytes);
  value->resize(value_bytes);
  return damage;
}

TEST(VariableSegments, AFullLastChunkEndsTheValueUnlessLegacy) {
  EXPECT_EQ(ToHex(Write("12345678", SegmentFormat::kCurrent)), "313233343536373808");
  EXPECT_EQ(ToHex(Write("12345678", SegmentFormat::kLegacy)),
            "3132333435363738ff0000000000000000f7");
}

TEST(VariableSegments, SegmentsOrderAsBytesDoAndComeBack) {
  testing::Random random;
  const auto random_value = [&] {
    std::string value(random.Below(40), '\0');
    for (char& byte : value) byte = static_cast<char>(random.OneIn(2) ? 0 : random.Below(3) + 254);
    return value;
  };
  for (SegmentFormat format : kFormats) {
    for (int i = 0; i < 5000; ++i) {
      const std::string a = random_value();
      const std::string b = random.OneIn(3) ? a + random_value() : random_value();
      EXPECT_EQ(Write(a, format) < Write(b, format), a < b) << ToHex(a) << " " << ToHex(b);
      std::string back;
      EXPECT_EQ(Read(Write(a, format), format, &back), Damage::kNone);
      EXPECT_EQ(back, a);
    }
  }
}

TEST(VariableSegments, SkippingStopsBehindTheLastSegment) {
  for (SegmentFormat format : kFormats) {
    for (size_t size : {0u, 1u, 7u, 8u, 9u, 16u, 17u}) {
      const std::string key = Write(std::string(size, 'x'), format) + "next";
      ByteReader reader(key);
      EXPECT_EQ(SkipVariableSegments(&reader, format), Damage::kNone);
      EXPECT_EQ(reader.rest(), "next");
    }
  }
}

TEST(VariableSegments, TruncationIsDamage) {
  for (SegmentFormat format : kFormats) {
    const std::string key = Write("1234567890123456789", format);
    for (size_t size = 0; size < key.size(); ++size) {
      std::string value;
      EXPECT_EQ(Read(key.substr(0, size), format, &value), Damage::kShortKey);
      const std::string cut = key.substr(0, size);
      ByteReader reader(cut);
      EXPECT_EQ(SkipVariableSegments(&reader, format), Damage::kShortKey);
    }
  }
}

TEST(VariableSegments, MarkersWithoutMeaningAreDamage) {
  for (int marker = 0; marker < 256; ++marker) {
    std::string key = Write("abc", SegmentFormat::kCurrent);
    key.back() = static_cast<char>(marker);
    std::string value;
    const Damage current = Read(key, SegmentFormat::kCurrent, &value);
    EXPECT_EQ(current, marker <= 8   ? Damage::kNone
                       : marker == 9 ? Damage::kShortKey
                                     : Damage::kBadSegmentMarker);
    const Damage legacy = Read(key, SegmentFormat::kLegacy, &value);
    EXPECT_EQ(legacy, marker == 255   ? Damage::kShortKey
                      : marker >= 247 ? Damage::kNone
                                      : Damage::kBadSegmentMarker);
  }
}

TEST(VariableSegments, ValuesLongerThanTheColumnAreDamage) {
  for (SegmentFormat format : kFormats) {
    std::string value;
    EXPECT_EQ(Read(Write("123456789", format), format, &value, 8), Damage::kTooLongColumn);
    EXPECT_EQ(Read(Write("123456789", format), format, &value, 9), Damage::kNone);
  }
}

}  // namespace
}  // namespace cairn
