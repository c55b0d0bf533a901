#include "engine/codec/float_key.h"

#include <concepts>
#include <cstring>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

template <std::unsigned_integral Bits, int exponent_shift>
struct FloatKey {
  static constexpr Bits kTopBit = Bits{1} << (sizeof(Bits) * 8 - 1);
  static constexpr Bits kOneExponent = Bits{1} << exponent_shift;

  static void Encode(const uint8_t* image, uint8_t* key) {
    Bits bits;
    std::memcpy(&bits, image, sizeof bits);
    if ((bits & ~kTopBit) == 0) {
      bits = kTopBit;
    } else if (bits & kTopBit) {
      bits = ~bits;
    } else {
      bits = (bits | kTopBit) + kOneExponent;
    }
    StoreBigEndian(key, bits);
  }

  static void Decode(const uint8_t* key, uint8_t* image) {
    Bits bits = LoadBigEndian<Bits>(key);
    if (bits == kTopBit) {
      bits = 0;
    } else if (bits & kTopBit) {
      bits = (bits - kOneExponent) & ~kTopBit;
    } else {
      bits = ~bits;
    }
    std::memcpy(image, &bits, sizeof bits);
  }
};

using SingleKey = FloatKey<uint32_t, 23>;
using DoubleKey = FloatKey<uint64_t, 52>;

}  // namespace

void EncodeFloatKey(const uint8_t* image, uint8_t* key) { SingleKey::Encode(image, key); }
void DecodeFloatKey(const uint8_t* key, uint8_t* image) { SingleKey::Decode(key, image); }
void EncodeDoubleKey(const uint8_t* image, uint8_t* key) { DoubleKey::Encode(image, key); }
void DecodeDoubleKey(const uint8_t* key, uint8_t* image) { DoubleKey::Decode(key, image); }

}  // namespace cairn
