// What the codec needs to know of a collation. The adapter implements it on the server's
// collations; unit tests implement a few by hand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn {

// How key parts of a collation are encoded (docs/stock-format.md, 3.4).
enum class CollationKind : uint8_t {
  kBinary,       // `binary`: bytes compare as they are
  kLatin1Bin,    // `latin1_bin`: bytes compare as they are, padded with spaces
  kUtf8mb3Bin,   // `utf8mb3_bin`: 16-bit code points
  kSimple8Bit,   // one byte a character, one weight byte from a table (section 4.5)
  kSingleLevel,  // any other collation with one weight level: not restorable
  kMultiLevel,   // several weight levels: not restorable, stored as variable segments
};

// What spaces at the end of a string mean to a collation.
enum class TrailingSpaces : uint8_t {
  kPad,      // PAD SPACE: strings compare as if they went on with spaces for ever.
  kIgnored,  // Strings compare without them, a shorter one first (the Czech collations).
  kCount,    // NO PAD: they are characters as any other. Levels behind the first are as in kPad.
};

// Thread-safe and immutable; outlives every codec that borrows it.
class Collation {
 public:
  virtual ~Collation() = default;

  struct Traits {
    CollationKind kind = CollationKind::kBinary;
    uint32_t id = 63;                // The server's collation number.
    uint32_t max_char_bytes = 1;     // mbmaxlen, 1..4
    uint32_t space_char_bytes = 1;   // Bytes of one space in this character set: 1, 2 or 4.
    std::string_view name;           // For messages.
    std::string_view space_weight;   // The weight of one space: 1 to 3 bytes; empty for kBinary.
    uint32_t weight_multiplier = 1;  // strxfrm_multiply: weights a CHAR character may take.
    bool long_segments = false;      // Payload of 9 rather than 8 bytes (section 3.7).
    // Whether neighbouring characters may be weighed together (contractions) or out of order. Only
    // read when weight_multiplier > 1; true is always safe but makes look-ups by a TEXT prefix
    // slower.
    bool may_contract = true;
    const uint8_t* sort_order = nullptr;  // 256 weights; kSimple8Bit only.

    // What the Cairn format looks at (docs/on-disk-format.md); the stock format does not.
    TrailingSpaces trailing_spaces = TrailingSpaces::kPad;
    // kPad: dropping trailing spaces before weighing changes the order (tis620_thai_ci moves marks
    // behind them).
    bool weighs_trailing_spaces = false;
    // Strings compare as their bytes do, and a space is the byte 0x20.
    bool byte_order = false;
    // It comes with the server's program: its weights are those of the server's version.
    bool is_built_in = true;
    uint32_t levels = 1;  // Weight levels that WriteLevel knows, 1 to kMaxLevels.
    std::array<std::string_view, 3> level_space_weights = {};  // Of one space, by level.
  };
  static constexpr uint32_t kMaxLevels = 3;
  const Traits& traits() const { return traits_; }

  // Whether weights are padded to the buffer's end with the weight of a space.
  enum class Padding : uint8_t { kNone, kToEnd };

  // Writes at most `max_weights` weights of `value` to `to`, which has room for `capacity` bytes,
  // and returns the bytes written: `capacity` for kToEnd.
  virtual size_t WriteWeights(std::string_view value, size_t max_weights, Padding padding,
                              uint8_t* to, size_t capacity) const = 0;

  // Writes all weights of `value` on one level, without padding, and returns the bytes written.
  // `to` has room for MaxLevelBytes() of its characters.
  virtual size_t WriteLevel(std::string_view value, uint32_t level, uint8_t* to,
                            size_t capacity) const = 0;

  // A hash of the weights of characters, of pairs of letters and of some other strings, and of the
  // traits that keys depend on. Takes up to half a second. Persisted: where it is another one, keys
  // have other bytes.
  virtual uint64_t HashWeights() const = 0;

  // The most bytes that WriteLevel writes for a string of `char_count` characters.
  virtual size_t MaxLevelBytes(size_t char_count) const = 0;

  // The most bytes that the weights of a string of `value_bytes` bytes take (strnxfrmlen).
  virtual size_t MaxWeightBytes(size_t value_bytes) const = 0;

  // `value` without trailing space characters (lengthsp).
  virtual size_t TrimmedLength(std::string_view value) const = 0;

  // Bytes of the first `char_count` characters of `value`, at most value.size(). An ill-formed
  // byte counts as one character.
  virtual size_t CharPrefixLength(std::string_view value, size_t char_count) const = 0;

 protected:
  Traits traits_;
};

}  // namespace cairn
