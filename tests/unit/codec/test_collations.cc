#include "tests/unit/codec/test_collations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/codec/value_sample.h"

namespace cairn::testing {
namespace {

// One character of a text: its code point and bytes.
struct Character {
  uint32_t code_point = 0;
  size_t bytes = 1;
};

Character ReadByte(std::string_view text) { return {static_cast<uint8_t>(text[0]), 1}; }

Character ReadUtf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto follows = [&](size_t count) {
    if (text.size() <= count) return false;
    for (size_t i = 1; i <= count; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    return true;
  };
  if (byte(0) >= 0xf0 && follows(3)) {
    return {(byte(0) & 7u) << 18 | (byte(1) & 63u) << 12 | (byte(2) & 63u) << 6 | (byte(3) & 63u),
            4};
  }
  if (byte(0) >= 0xe0 && byte(0) < 0xf0 && follows(2)) {
    return {(byte(0) & 15u) << 12 | (byte(1) & 63u) << 6 | (byte(2) & 63u), 3};
  }
  if (byte(0) >= 0xc0 && byte(0) < 0xe0 && follows(1)) {
    return {(byte(0) & 31u) << 6 | (byte(1) & 63u), 2};
  }
  return {byte(0), 1};
}

Character ReadGbk(std::string_view text) {
  if (static_cast<uint8_t>(text[0]) < 0x81 || text.size() < 2) return ReadByte(text);
  return {static_cast<uint8_t>(text[0]) * 256u + static_cast<uint8_t>(text[1]), 2};
}

Character ReadUcs2(std::string_view text) {
  if (text.size() < 2) return ReadByte(text);
  return {static_cast<uint8_t>(text[0]) * 256u + static_cast<uint8_t>(text[1]), 2};
}

using Weights = std::vector<uint32_t>;

// A collation put together of a character set's reader and a function from characters to weights.
class TestCollation final : public Collation {
 public:
  struct Parts {
    Traits traits = {};
    TrailingSpaces trailing_spaces = TrailingSpaces::kPad;
    Character (*read)(std::string_view) = ReadByte;
    // The weights of a character on a level.
    std::function<Weights(uint32_t code_point, int level)> weigh = {};
    int levels = 1;
    bool contracts = false;  // "ch" is weighed as one character, U+F000.
    size_t weight_bytes = 1;
  };

  explicit TestCollation(Parts parts) : parts_(std::move(parts)) {
    for (uint32_t weight : parts_.weigh(' ', 0)) AppendWeight(weight, &space_);
    traits_ = parts_.traits;
    traits_.trailing_spaces = parts_.trailing_spaces;
    if (traits_.kind != CollationKind::kBinary) traits_.space_weight = space_;
    traits_.levels = static_cast<uint32_t>(parts_.levels);
    for (int level = 0; level < parts_.levels; ++level) {
      std::string& space = level_spaces_[static_cast<size_t>(level)];
      AppendLevel(" ", 1, level, &space);
      traits_.level_space_weights[static_cast<size_t>(level)] = space;
    }
  }

  size_t WriteWeights(std::string_view value, size_t max_weights, Padding padding, uint8_t* to,
                      size_t capacity) const override {
    std::string weights;
    for (int level = 0; level < parts_.levels; ++level)
      AppendLevel(value, max_weights, level, &weights);
    weights.resize(std::min(weights.size(), capacity));
    while (padding == Padding::kToEnd && weights.size() < capacity) {
      weights.append(space_.empty() ? std::string(1, '\0') : space_);
    }
    weights.resize(std::min(weights.size(), capacity));
    std::memcpy(to, weights.data(), weights.size());
    return weights.size();
  }

  size_t WriteLevel(std::string_view value, uint32_t level, uint8_t* to,
                    size_t capacity) const override {
    std::string weights;
    AppendLevel(value, SIZE_MAX, static_cast<int>(level), &weights);
    // Damage alone brings more characters than the column may have; their weights are cut.
    size_t chars = 0;
    for (std::string_view rest = value; !rest.empty(); ++chars) {
      rest.remove_prefix(std::min(rest.size(), parts_.read(rest).bytes));
    }
    if (MaxLevelBytes(chars) <= capacity) {
      EXPECT_LE(weights.size(), capacity);
    }
    std::memcpy(to, weights.data(), std::min(weights.size(), capacity));
    return std::min(weights.size(), capacity);
  }

  // Of what tests want to change: the weights of ASCII.
  uint64_t HashWeights() const override {
    uint64_t hash = 0;
    for (char character = ' '; character < 127; ++character) {
      std::string weights;
      AppendLevel({&character, 1}, 1, 0, &weights);
      hash = HashValue(hash, weights);
    }
    return hash;
  }

  size_t MaxLevelBytes(size_t char_count) const override {
    return char_count * 2 * std::max<size_t>(parts_.weight_bytes, 2);
  }

  size_t MaxWeightBytes(size_t value_bytes) const override {
    const size_t chars = (value_bytes + traits_.max_char_bytes - 1) / traits_.max_char_bytes;
    return chars * (parts_.weight_bytes == 0 ? 2 : parts_.weight_bytes) *
           traits_.weight_multiplier * static_cast<size_t>(parts_.levels);
  }

  size_t TrimmedLength(std::string_view value) const override {
    const std::string_view space = traits_.space_char_bytes == 2 ? std::string_view("\0 ", 2) : " ";
    while (value.ends_with(space)) value.remove_suffix(space.size());
    return value.size();
  }

  size_t CharPrefixLength(std::string_view value, size_t char_count) const override {
    size_t bytes = 0;
    for (; char_count != 0 && bytes < value.size(); --char_count) {
      bytes += parts_.read(value.substr(bytes)).bytes;
    }
    return bytes;
  }

 private:
  void AppendWeight(uint32_t weight, std::string* to) const {
    // Collations of mixed sizes: a weight takes the bytes it needs.
    const size_t bytes = parts_.weight_bytes != 0 ? parts_.weight_bytes : weight > 0xff ? 2 : 1;
    for (size_t i = bytes; i-- > 0;) to->push_back(static_cast<char>(weight >> (8 * i)));
  }

  void AppendLevel(std::string_view value, size_t max_weights, int level, std::string* to) const {
    size_t count = 0;
    while (!value.empty() && count < max_weights) {
      Character character = parts_.read(value);
      if (parts_.contracts && value.starts_with("ch")) character = {0xf000, 2};
      value.remove_prefix(character.bytes);
      for (uint32_t weight : parts_.weigh(character.code_point, level)) {
        if (count == max_weights) return;
        AppendWeight(weight, to);
        ++count;
      }
    }
  }

  Parts parts_;
  std::string space_;
  std::array<std::string, Collation::kMaxLevels> level_spaces_;
};

Collation::Traits TraitsOf(CollationKind kind, uint32_t id, std::string_view name,
                           uint32_t max_char_bytes) {
  Collation::Traits traits;
  traits.kind = kind;
  traits.id = id;
  traits.name = name;
  traits.max_char_bytes = max_char_bytes;
  return traits;
}

Weights Identity(uint32_t code_point, int) { return {code_point}; }

std::array<uint8_t, 256> SwedishSortOrder() {
  std::array<uint8_t, 256> order;
  for (size_t byte = 0; byte < 256; ++byte) order[byte] = static_cast<uint8_t>(byte);
  for (size_t letter = 'a'; letter <= 'z'; ++letter)
    order[letter] = static_cast<uint8_t>(letter - 32);
  const auto fold = [&](uint8_t weight, std::initializer_list<int> bytes) {
    for (int byte : bytes) order[static_cast<size_t>(byte)] = weight;
  };
  fold(0x41, {0xc0, 0xc1, 0xc2, 0xc3, 0xe0, 0xe1, 0xe2, 0xe3});
  fold(0x43, {0xc7, 0xe7});
  fold(0x44, {0xd0, 0xf0});
  fold(0x45, {0xc8, 0xc9, 0xca, 0xcb, 0xe8, 0xe9, 0xea, 0xeb});
  fold(0x49, {0xcc, 0xcd, 0xce, 0xcf, 0xec, 0xed, 0xee, 0xef});
  fold(0x4e, {0xd1, 0xf1});
  fold(0x4f, {0xd2, 0xd3, 0xd4, 0xd5, 0xf2, 0xf3, 0xf4, 0xf5});
  fold(0x55, {0xd9, 0xda, 0xdb, 0xf9, 0xfa, 0xfb});
  fold(0x59, {0xdc, 0xdd, 0xfc, 0xfd});
  fold(0x5b, {0xc5, 0xe5});
  fold(0x5c, {0xc4, 0xc6, 0xe4, 0xe6});
  fold(0x5d, {0xd6, 0xf6});
  fold(0xd8, {0xf8});
  fold(0xde, {0xfe});
  return order;
}

const Collation* MakeSimple(uint32_t id, std::string_view name, std::array<uint8_t, 256> order) {
  static std::vector<std::unique_ptr<std::array<uint8_t, 256>>> orders;
  orders.push_back(std::make_unique<std::array<uint8_t, 256>>(order));
  const uint8_t* const table = orders.back()->data();
  Collation::Traits traits = TraitsOf(CollationKind::kSimple8Bit, id, name, 1);
  traits.sort_order = table;
  return new TestCollation({.traits = traits, .weigh = [table](uint32_t byte, int) -> Weights {
                              return {table[byte]};
                            }});
}

Weights GeneralWeight(uint32_t code_point, int) {
  if (code_point >= 'a' && code_point <= 'z') return {code_point - 32};
  if (code_point == 0xe9 || code_point == 0xc9) return {0x45};
  return {code_point > 0xffff ? 0xfffd : code_point};
}

// Letters grow with the alphabet; what the vectors show is exact.
Weights UnicodeWeight(uint32_t code_point, int) {
  static constexpr uint16_t kLetters[26] = {0x0e33, 0x0e4a, 0x0e60, 0x0e6d, 0x0e8b, 0x0eb9, 0x0ec1,
                                            0x0ee1, 0x0efb, 0x0f10, 0x0f21, 0x0f2e, 0x0f5b, 0x0f64,
                                            0x0f82, 0x0fa7, 0x0fb4, 0x0fc0, 0x0fea, 0x1002, 0x101f,
                                            0x1044, 0x1051, 0x105a, 0x105e, 0x106a};
  if (code_point == ' ') return {0x0209};
  if (code_point >= 'a' && code_point <= 'z') return {kLetters[code_point - 'a']};
  if (code_point >= 'A' && code_point <= 'Z') return {kLetters[code_point - 'A']};
  if (code_point == 0xdf) return {0x0fea, 0x0fea};
  if (code_point == 0xe9) return {0x0e8b};
  if (code_point == 0xad) return {};
  if (code_point == 0xf000) return {0x0e65};
  if (code_point > 0xffff) return {0xfffd};
  return {code_point < 0x20 ? 0x0201 + (code_point & 7) : 0x1200 + (code_point & 0xfff)};
}

Weights Uca1400Weight(uint32_t code_point, int level) {
  const bool upper = code_point >= 'A' && code_point <= 'Z';
  if (level == 1) return {0x20};
  if (level == 2) return {upper ? 8u : 2u};
  if (code_point == ' ') return {0x0209};
  const uint32_t lower = upper ? code_point + 32 : code_point;
  if (lower >= 'a' && lower <= 'z') return {0x2075 + (lower - 'a') * 0x1a};
  return {0x3000 + (code_point & 0xfff)};
}

const Collation* MakeUtf8(CollationKind kind, uint32_t id, std::string_view name,
                          uint32_t max_char_bytes, TestCollation::Parts parts,
                          uint32_t multiplier = 1) {
  parts.traits = TraitsOf(kind, id, name, max_char_bytes);
  parts.traits.byte_order = name.ends_with("_bin");
  parts.traits.weight_multiplier = multiplier;
  parts.traits.may_contract = parts.contracts;
  parts.traits.long_segments = parts.weight_bytes == 3;
  parts.read = ReadUtf8;
  return new TestCollation(std::move(parts));
}

}  // namespace

const Collation& Binary() {
  static const Collation* const collation = new TestCollation(
      {.traits = TraitsOf(CollationKind::kBinary, 63, "binary", 1), .weigh = Identity});
  return *collation;
}

const Collation& Latin1Bin() {
  static const Collation* const collation = [] {
    Collation::Traits traits = TraitsOf(CollationKind::kLatin1Bin, 47, "latin1_bin", 1);
    traits.byte_order = true;
    return new TestCollation({.traits = traits, .weigh = Identity});
  }();
  return *collation;
}

const Collation& Latin1Swedish() {
  static const Collation* const collation = MakeSimple(8, "latin1_swedish_ci", SwedishSortOrder());
  return *collation;
}

const Collation& Latin1Ukrainian() {
  static const Collation* const collation = [] {
    std::array<uint8_t, 256> order = SwedishSortOrder();
    order[0x60] = 0x20;
    return MakeSimple(22, "invented_ukrainian_ci", order);
  }();
  return *collation;
}

const Collation& Utf8mb3Bin() {
  static const Collation* const collation = MakeUtf8(CollationKind::kUtf8mb3Bin, 83, "utf8mb3_bin",
                                                     3, {.weigh = Identity, .weight_bytes = 2});
  return *collation;
}

const Collation& Utf8mb4Bin() {
  static const Collation* const collation = MakeUtf8(CollationKind::kSingleLevel, 46, "utf8mb4_bin",
                                                     4, {.weigh = Identity, .weight_bytes = 3});
  return *collation;
}

const Collation& Utf8mb3General() {
  static const Collation* const collation =
      MakeUtf8(CollationKind::kSingleLevel, 33, "utf8mb3_general_ci", 3,
               {.weigh = GeneralWeight, .weight_bytes = 2});
  return *collation;
}

const Collation& Utf8mb4General() {
  static const Collation* const collation =
      MakeUtf8(CollationKind::kSingleLevel, 45, "utf8mb4_general_ci", 4,
               {.weigh = GeneralWeight, .weight_bytes = 2});
  return *collation;
}

const Collation& Utf8mb4Unicode() {
  static const Collation* const collation =
      MakeUtf8(CollationKind::kSingleLevel, 224, "utf8mb4_unicode_ci", 4,
               {.weigh = UnicodeWeight, .weight_bytes = 2}, 8);
  return *collation;
}

const Collation& Utf8mb4Traditional() {
  static const Collation* const collation =
      MakeUtf8(CollationKind::kSingleLevel, 242, "invented_traditional_ci", 4,
               {.weigh = UnicodeWeight, .contracts = true, .weight_bytes = 2}, 8);
  return *collation;
}

const Collation& Utf8mb4AiCi() {
  static const Collation* const collation =
      MakeUtf8(CollationKind::kSingleLevel, 2304, "utf8mb4_uca1400_ai_ci", 4,
               {.weigh = Uca1400Weight, .weight_bytes = 2}, 8);
  return *collation;
}

const Collation& Utf8mb4AsCs() {
  static const Collation* const collation =
      MakeUtf8(CollationKind::kMultiLevel, 2307, "utf8mb4_uca1400_as_cs", 4,
               {.weigh = Uca1400Weight, .levels = 3, .weight_bytes = 2}, 8);
  return *collation;
}

const Collation& Gbk() {
  static const Collation* const collation = [] {
    TestCollation::Parts parts{
        .traits = TraitsOf(CollationKind::kSingleLevel, 28, "gbk_chinese_ci", 2),
        .read = ReadGbk,
        .weigh = GeneralWeight,
        .weight_bytes = 0};
    return new TestCollation(std::move(parts));
  }();
  return *collation;
}

const Collation& Ucs2() {
  static const Collation* const collation = [] {
    TestCollation::Parts parts{
        .traits = TraitsOf(CollationKind::kSingleLevel, 35, "ucs2_general_ci", 2),
        .read = ReadUcs2,
        .weigh = GeneralWeight,
        .weight_bytes = 2};
    parts.traits.space_char_bytes = 2;
    return new TestCollation(std::move(parts));
  }();
  return *collation;
}

const Collation& Utf8mb4NoPadUnicode() {
  static const Collation* const collation = MakeUtf8(
      CollationKind::kSingleLevel, 1248, "utf8mb4_unicode_nopad_ci", 4,
      {.trailing_spaces = TrailingSpaces::kCount, .weigh = UnicodeWeight, .weight_bytes = 2}, 8);
  return *collation;
}

const Collation& Utf8mb4NoPadAsCs() {
  static const Collation* const collation =
      MakeUtf8(CollationKind::kMultiLevel, 2323, "utf8mb4_uca1400_nopad_as_cs", 4,
               {.trailing_spaces = TrailingSpaces::kCount,
                .weigh = Uca1400Weight,
                .levels = 3,
                .weight_bytes = 2},
               8);
  return *collation;
}

const Collation& Utf8mb4NoPadBin() {
  static const Collation* const collation =
      MakeUtf8(CollationKind::kSingleLevel, 1070, "utf8mb4_nopad_bin", 4,
               {.trailing_spaces = TrailingSpaces::kCount, .weigh = Identity, .weight_bytes = 3});
  return *collation;
}

const Collation& Latin2Czech() {
  static const Collation* const collation = [] {
    Collation::Traits traits = TraitsOf(CollationKind::kMultiLevel, 2, "invented_czech_cs", 1);
    traits.weight_multiplier = 4;
    return new TestCollation({.traits = traits,
                              .trailing_spaces = TrailingSpaces::kIgnored,
                              .weigh = [](uint32_t byte, int) -> Weights {
                                return {1 + (byte | 32u) % 200, 1 + byte % 7};
                              }});
  }();
  return *collation;
}

}  // namespace cairn::testing
