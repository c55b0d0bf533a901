// Character codes: what tells apart the bytes that share a weight in a simple 8-bit collation, so
// that a string can be restored from its weights (docs/stock-format.md, 4.4).
//
// A byte is coded as its position among the bytes of the same weight, in as few bits as that list
// needs. The codes of one key part form a bit string that starts at a fresh byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/bytes.h"
#include "engine/codec/damage.h"

namespace cairn {

class SimpleCollation {
 public:
  // `sort_order`: the weight of each of the 256 bytes. Copied.
  explicit SimpleCollation(const uint8_t* sort_order);

  uint8_t Weight(uint8_t byte) const { return weight_[byte]; }
  // Bits of the code of a byte of this weight: 0 to 8.
  uint8_t CodeBits(uint8_t weight) const { return by_weight_[weight].code_bits; }

  // Writes the weight of each byte of `value` to `to`.
  void WriteWeights(std::string_view value, uint8_t* to) const;

  // Appends the codes of all bytes of `value`, whole bytes.
  void AppendCodes(std::string_view value, std::string* unpack_info) const;

 private:
  friend class CharacterCodeReader;
  struct Weighted {
    uint8_t code_bits = 0;
    uint8_t first = 0;   // Position in bytes_ of the first byte of this weight.
    uint16_t count = 0;  // Bytes of this weight.
  };
  std::array<uint8_t, 256> weight_;
  std::array<uint8_t, 256> code_;
  std::array<Weighted, 256> by_weight_;
  std::array<uint8_t, 256> bytes_;  // All bytes, by weight, then by value.
};

// Reads the codes of one key part. Takes a byte off `*unpack_info` whenever it needs more bits.
// Borrows both.
class CharacterCodeReader {
 public:
  CharacterCodeReader(const SimpleCollation& collation, ByteReader* unpack_info)
      : collation_(collation), unpack_info_(unpack_info) {}

  // Turns weights into the bytes they came from, in place.
  Damage Restore(uint8_t* weights, size_t count);
  // Passes over the codes of these weights.
  Damage Skip(std::string_view weights);

 private:
  Damage ReadCode(uint8_t bits, uint8_t* code);

  const SimpleCollation& collation_;
  ByteReader* unpack_info_;
  uint8_t current_ = 0;
  uint8_t used_bits_ = 8;  // Of current_.
};

}  // namespace cairn
