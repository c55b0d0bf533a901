#include "engine/codec/float_key.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "engine/base/bytes.h"
#include "tests/unit/codec/random.h"

namespace cairn {
namespace {

std::string Key(float number) {
  std::string key(4, '\0');
  EncodeFloatKey(reinterpret_cast<const uint8_t*>(&number), reinterpret_cast<uint8_t*>(key.data()));
  return key;
}

std::string Key(double number) {
  std::string key(8, '\0');
  EncodeDoubleKey(reinterpret_cast<const uint8_t*>(&number),
                  reinterpret_cast<uint8_t*>(key.data()));
  return key;
}

float DecodeFloat(const std::string& key) {
  float number;
  DecodeFloatKey(reinterpret_cast<const uint8_t*>(key.data()), reinterpret_cast<uint8_t*>(&number));
  return number;
}

double DecodeDouble(const std::string& key) {
  double number;
  DecodeDoubleKey(reinterpret_cast<const uint8_t*>(key.data()),
                  reinterpret_cast<uint8_t*>(&number));
  return number;
}

TEST(FloatKey, BothZerosAreTheTopBitAlone) {
  EXPECT_EQ(ToHex(Key(0.0f)), "80000000");
  EXPECT_EQ(ToHex(Key(-0.0f)), "80000000");
  EXPECT_EQ(ToHex(Key(-0.0)), "8000000000000000");
  EXPECT_FALSE(std::signbit(DecodeFloat(Key(-0.0f))));
  EXPECT_FALSE(std::signbit(DecodeDouble(Key(-0.0))));
}

TEST(FloatKey, ExtremesComeBack) {
  using Float = std::numeric_limits<float>;
  for (float number :
       {Float::max(), Float::lowest(), Float::min(), Float::denorm_min(), -Float::denorm_min()}) {
    EXPECT_EQ(DecodeFloat(Key(number)), number);
  }
  using Double = std::numeric_limits<double>;
  for (double number : {Double::max(), Double::lowest(), Double::min(), Double::denorm_min(),
                        -Double::denorm_min()}) {
    EXPECT_EQ(DecodeDouble(Key(number)), number);
  }
}

TEST(FloatKey, FiniteNumbersOrderAsTheirKeysDoAndComeBack) {
  testing::Random random;
  for (int i = 0; i < 20000; ++i) {
    const auto a = std::bit_cast<float>(static_cast<uint32_t>(random.Bits()));
    const auto b = std::bit_cast<float>(static_cast<uint32_t>(random.Bits()));
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    EXPECT_EQ(Key(a) < Key(b), a < b) << a << " " << b;
    EXPECT_EQ(DecodeFloat(Key(a)), a);
  }
}

TEST(DoubleKey, FiniteNumbersOrderAsTheirKeysDoAndComeBack) {
  testing::Random random;
  for (int i = 0; i < 20000; ++i) {
    const auto a = std::bit_cast<double>(random.Bits());
    const auto b = std::bit_cast<double>(random.Bits());
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    EXPECT_EQ(Key(a) < Key(b), a < b) << a << " " << b;
    EXPECT_EQ(DecodeDouble(Key(a)), a);
  }
}

}  // namespace
}  // namespace cairn
