#include "engine/codec/integer_key.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "engine/base/bytes.h"
#include "tests/unit/codec/random.h"

namespace cairn {
namespace {

std::string SignedKey(int64_t number, size_t bytes) {
  std::string key(bytes, '\0');
  EncodeSignedKey(reinterpret_cast<const uint8_t*>(&number), bytes,
                  reinterpret_cast<uint8_t*>(key.data()));
  return key;
}

std::string UnsignedKey(uint64_t number, size_t bytes) {
  std::string key(bytes, '\0');
  EncodeUnsignedKey(reinterpret_cast<const uint8_t*>(&number), bytes,
                    reinterpret_cast<uint8_t*>(key.data()));
  return key;
}

// The little-endian record image.
std::string Image(int64_t number, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&number), bytes);
}

constexpr size_t kWidths[] = {1, 2, 3, 4, 8};

TEST(IntegerKey, IsBigEndianWithTheSignFlipped) {
  EXPECT_EQ(ToHex(SignedKey(1, 3)), "800001");
  EXPECT_EQ(ToHex(SignedKey(-1, 8)), "7fffffffffffffff");
  EXPECT_EQ(ToHex(UnsignedKey(0x010203, 3)), "010203");
}

TEST(IntegerKey, SignedKeysOrderAsNumbersDoAndComeBack) {
  testing::Random random;
  for (size_t bytes : kWidths) {
    const int shift = static_cast<int>(64 - 8 * bytes);
    for (int i = 0; i < 2000; ++i) {
      const int64_t a = static_cast<int64_t>(random.Bits()) >> (shift + random.Below(8 * bytes));
      const int64_t b = random.OneIn(4) ? a : static_cast<int64_t>(random.Bits()) >> shift;
      EXPECT_EQ(SignedKey(a, bytes) < SignedKey(b, bytes), a < b) << a << " " << b;
      const std::string key = SignedKey(a, bytes);
      std::string image(bytes, '\0');
      DecodeSignedKey(reinterpret_cast<const uint8_t*>(key.data()), image.size(),
                      reinterpret_cast<uint8_t*>(image.data()));
      EXPECT_EQ(image, Image(a, bytes));
    }
  }
}

TEST(IntegerKey, UnsignedKeysOrderAsNumbersDoAndComeBack) {
  testing::Random random;
  for (size_t bytes : kWidths) {
    const int shift = static_cast<int>(64 - 8 * bytes);
    for (int i = 0; i < 2000; ++i) {
      const uint64_t a = random.Bits() >> (shift + random.Below(8 * bytes));
      const uint64_t b = random.OneIn(4) ? a : random.Bits() >> shift;
      EXPECT_EQ(UnsignedKey(a, bytes) < UnsignedKey(b, bytes), a < b) << a << " " << b;
      const std::string key = UnsignedKey(a, bytes);
      std::string image(bytes, '\0');
      DecodeUnsignedKey(reinterpret_cast<const uint8_t*>(key.data()), image.size(),
                        reinterpret_cast<uint8_t*>(image.data()));
      EXPECT_EQ(image, Image(static_cast<int64_t>(a), bytes));
    }
  }
}

}  // namespace
}  // namespace cairn
