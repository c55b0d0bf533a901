#include "mariadb/collation_adapter.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/value_sample.h"
#include "mariadb/server_headers.h"

namespace cairn {
namespace {

constexpr uint32_t kLatin1Bin = 47;
constexpr uint32_t kUtf8mb3Bin = 83;
constexpr uint32_t kLatin2Czech = 2;
constexpr uint32_t kTis620Thai = 18;
constexpr uint32_t kTis620ThaiNoPad = 1042;
constexpr uint32_t kBig5Chinese = 1;
constexpr uint32_t kBig5ChineseNoPad = 1025;
constexpr uint32_t kCp1250Czech = 34;
// The most bytes of weights that one character has in the server's Unicode tables, on one level: 25
// weights.
constexpr size_t kMaxUnicodeWeightBytes = 50;

bool HasLongSegments(uint32_t id) {  // utf8mb4_bin, utf16_bin, utf16le_bin, utf32_bin
  return id == 46 || id == 62 || id == 55 || id == 61;
}

bool HasContractions(const charset_info_st& charset) {
  if (charset.uca == nullptr) return false;
  for (const MY_UCA_WEIGHT_LEVEL& level : charset.uca->level) {
    if (level.contractions.nitems > 0) return true;
  }
  return false;
}

class ServerCollation final : public Collation {
 public:
  explicit ServerCollation(CHARSET_INFO* charset) : charset_(charset) {
    traits_.id = charset->number;
    traits_.kind = Kind();
    traits_.max_char_bytes = charset->mbmaxlen;
    traits_.name = std::string_view(charset->coll_name.str, charset->coll_name.length);
    traits_.weight_multiplier = charset->strxfrm_multiply == 0 ? 1 : charset->strxfrm_multiply;
    traits_.long_segments = HasLongSegments(charset->number);
    traits_.is_built_in = (charset->state & MY_CS_COMPILED) != 0;
    if (traits_.kind == CollationKind::kSimple8Bit) traits_.sort_order = charset->sort_order;

    uchar space[8];
    const int space_bytes = charset->wc_mb(' ', space, space + sizeof space);
    traits_.space_char_bytes = space_bytes > 0 ? static_cast<uint32_t>(space_bytes) : 1;
    if (traits_.kind == CollationKind::kMultiLevel) {
      traits_.space_weight = " ";  // Never looked at: the codec pads single-level keys only.
    } else if (traits_.kind != CollationKind::kBinary) {
      const size_t weight_bytes = charset->strnxfrm(space_weight_, sizeof space_weight_, 1, space,
                                                    traits_.space_char_bytes, 0);
      traits_.space_weight =
          std::string_view(reinterpret_cast<const char*>(space_weight_), weight_bytes);
    }
    DescribeLevels(
        std::string_view(reinterpret_cast<const char*>(space), traits_.space_char_bytes));
    // Where a character's weights never depend on its neighbours, look-ups by a prefix can use
    // them.
    traits_.may_contract = HasContractions(*charset);
  }

  size_t WriteWeights(std::string_view value, size_t max_weights, Padding padding, uint8_t* to,
                      size_t capacity) const override {
    const uint flags =
        padding == Padding::kToEnd ? MY_STRXFRM_PAD_WITH_SPACE | MY_STRXFRM_PAD_TO_MAXLEN : 0;
#if MYSQL_VERSION_ID >= 110000
    if (level_flags_[0] != 0) return WriteLevels(value, max_weights, flags, to, capacity);
#endif
    return charset_->strnxfrm(to, capacity, static_cast<uint>(max_weights),
                              reinterpret_cast<const uchar*>(value.data()), value.size(), flags);
  }

  size_t WriteLevel(std::string_view value, uint32_t level, uint8_t* to,
                    size_t capacity) const override {
    if (charset_->number == kBig5Chinese || charset_->number == kBig5ChineseNoPad) {
      return WriteBig5(value, to, capacity);
    }
    const size_t bytes =
        charset_->strnxfrm(to, capacity, UINT_MAX, reinterpret_cast<const uchar*>(value.data()),
                           value.size(), level_flags_[level]);
    if (charset_->number != kTis620ThaiNoPad) return bytes;
    // To the server a string of this collation ends at its first byte 0.
    return static_cast<size_t>(std::find(to, to + bytes, uint8_t{0}) - to);
  }

  uint64_t HashWeights() const override;

  size_t MaxLevelBytes(size_t char_count) const override {
    if (charset_->uca != nullptr) return char_count * kMaxUnicodeWeightBytes;
    return charset_->strnxfrmlen(char_count * charset_->mbmaxlen);
  }

  size_t MaxWeightBytes(size_t value_bytes) const override {
    return charset_->strnxfrmlen(value_bytes);
  }

  size_t TrimmedLength(std::string_view value) const override {
    return charset_->lengthsp(value.data(), value.size());
  }

  size_t CharPrefixLength(std::string_view value, size_t char_count) const override {
    const size_t bytes = charset_->charpos(value.data(), value.data() + value.size(), char_count);
    return bytes < value.size() ? bytes : value.size();
  }

 private:
#if MYSQL_VERSION_ID >= 110000
  // What 10.11 writes at once: 11.8 stops at the first level that has more weights than are wanted,
  // so that a value would get other bytes than its beginning.
  size_t WriteLevels(std::string_view value, size_t max_weights, uint flags, uint8_t* to,
                     size_t capacity) const {
    size_t size = 0;
    for (uint32_t level = 0; level < traits_.levels; ++level) {
      size += charset_->strnxfrm(to + size, capacity - size, static_cast<uint>(max_weights),
                                 reinterpret_cast<const uchar*>(value.data()), value.size(),
                                 (flags & ~MY_STRXFRM_PAD_TO_MAXLEN) | level_flags_[level]);
    }
    if (!(flags & MY_STRXFRM_PAD_TO_MAXLEN)) return size;
    memset(to + size, 0, capacity - size);
    return capacity;
  }
#endif

  // The server sorts these by strokes but compares them by codes, and an index is to agree with
  // comparisons.
  size_t WriteBig5(std::string_view value, uint8_t* to, size_t capacity) const {
    size_t size = 0;
    while (!value.empty() && size + 2 <= capacity) {
      const size_t bytes = CharPrefixLength(value, 1);
      for (const char byte : value.substr(0, bytes)) {
        const auto code = static_cast<uint8_t>(byte);
        to[size++] = bytes == 1 ? charset_->sort_order[code] : code;
      }
      value.remove_prefix(bytes);
    }
    return size;
  }

  // docs/on-disk-format.md: what the Cairn format asks.
  void DescribeLevels(std::string_view space) {
    const bool utf8 =
        charset_->mbmaxlen == 1 || std::string_view(charset_->cs_name.str).starts_with("utf8mb");
    traits_.byte_order = (charset_->state & MY_CS_BINSORT) && utf8 && charset_ != &my_charset_bin;
    traits_.weighs_trailing_spaces = charset_->number == kTis620Thai;
    if (charset_->state & MY_CS_NOPAD) {
      traits_.trailing_spaces = TrailingSpaces::kCount;
    } else if (charset_->number == kLatin2Czech || charset_->number == kCp1250Czech) {
      traits_.trailing_spaces = TrailingSpaces::kIgnored;
    }
    if (charset_ == &my_charset_bin) return;
    traits_.levels = 0;
    const bool several = charset_->uca != nullptr && charset_->levels_for_order > 1;
    for (uint32_t level = 0; level < kMaxLevels; ++level) {
      if (several && !(charset_->levels_for_order >> level & 1)) continue;
      const uint32_t position = traits_.levels++;
      level_flags_[position] = several ? MY_STRXFRM_LEVEL1 << level : 0;
      uchar* const weight = level_space_weights_[position];
      const size_t bytes = WriteLevel(space, position, weight, sizeof level_space_weights_[0]);
      traits_.level_space_weights[position] =
          std::string_view(reinterpret_cast<const char*>(weight), bytes);
      if (!several) return;
    }
  }

  // docs/stock-format.md, 3.4 and 4.5.
  CollationKind Kind() const {
    if (charset_ == &my_charset_bin) return CollationKind::kBinary;
    if (charset_->number == kLatin1Bin) return CollationKind::kLatin1Bin;
    if (charset_->number == kUtf8mb3Bin) return CollationKind::kUtf8mb3Bin;
    if (charset_->mbmaxlen == 1 && charset_->strxfrm_multiply <= 1 &&
        charset_->sort_order != nullptr && charset_->levels_for_order == 1 &&
        !(charset_->state & (MY_CS_BINSORT | MY_CS_NOPAD))) {
      return CollationKind::kSimple8Bit;
    }
    return charset_->levels_for_order > 1 ? CollationKind::kMultiLevel
                                          : CollationKind::kSingleLevel;
  }

  uint64_t HashTraits() const;

  CHARSET_INFO* const charset_;
  uchar space_weight_[16];
  uchar level_space_weights_[kMaxLevels][16] = {};
  uint level_flags_[kMaxLevels] = {};
};

// The encoding of a character; empty: the set does not have it.
std::string Encode(const charset_info_st& charset, my_wc_t code_point) {
  uchar bytes[8];
  const int size = charset.wc_mb(code_point, bytes, bytes + sizeof bytes);
  return size > 0 ? std::string(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size))
                  : std::string();
}

// Hashes the weights of one string after another. All of it is persisted.
class WeightHash {
 public:
  static constexpr size_t kMaxChars = MY_UCA_MAX_CONTRACTION;  // Of a string.

  WeightHash(const Collation& collation, uint64_t before)
      : collation_(collation), weights_(collation.MaxLevelBytes(kMaxChars)), hash_(before) {}

  void Add(std::string_view text) {
    for (uint32_t level = 0; level < collation_.traits().levels; ++level) {
      const size_t size = collation_.WriteLevel(text, level, weights_.data(), weights_.size());
      hash_ = HashValue(hash_, {reinterpret_cast<const char*>(weights_.data()), size});
    }
  }
  uint64_t hash() const { return hash_; }

 private:
  const Collation& collation_;
  std::vector<uint8_t> weights_;
  uint64_t hash_;
};

// Strings whose characters may be weighed together: two letters of ASCII, and up to four characters
// that lie near each other, as those of one script do.
template <typename Add>
void ForEachString(const charset_info_st& charset, Add add) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const char first : kLetters) {
    for (const char second : kLetters) {
      add(Encode(charset, static_cast<uchar>(first)) + Encode(charset, static_cast<uchar>(second)));
    }
  }
  constexpr int kStrings = 1000;
  constexpr uint64_t kMostChars = 4;
  constexpr my_wc_t kCodePoints = 0x3400;  // Before those that have no weights of their own.
  constexpr uint64_t kNeighbours = 128;
  uint64_t state = 1;
  const auto next = [&state] {  // Knuth's linear congruential generator for 64 bits.
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 33;
  };
  for (int i = 0; i < kStrings; ++i) {
    const my_wc_t block = next() % kCodePoints;
    const uint64_t chars = 2 + next() % (kMostChars - 1);
    std::string text;
    for (uint64_t j = 0; j < chars; ++j) text += Encode(charset, block + next() % kNeighbours);
    add(text);
  }
}

// What the collation weighs as one, in the order of code points.
std::set<std::vector<my_wc_t>> ContractionsOf(const charset_info_st& charset) {
  std::set<std::vector<my_wc_t>> contractions;
  if (charset.uca == nullptr) return contractions;
  for (const MY_UCA_WEIGHT_LEVEL& level : charset.uca->level) {
    for (size_t i = 0; i < level.contractions.nitems; ++i) {
      const MY_CONTRACTION& item = level.contractions.item[i];
      const auto* const end = std::find(std::begin(item.ch), std::end(item.ch), my_wc_t{0});
      std::vector<my_wc_t> characters(std::begin(item.ch), end);
      contractions.insert(characters);
      // A character that is weighed by the one before it.
      if (item.with_context) contractions.emplace(characters.rbegin(), characters.rend());
    }
  }
  return contractions;
}

uint64_t ServerCollation::HashTraits() const {
  std::string traits;
  for (const uint32_t trait :
       {static_cast<uint32_t>(traits_.kind), traits_.max_char_bytes, traits_.space_char_bytes,
        traits_.weight_multiplier, uint32_t{traits_.long_segments},
        static_cast<uint32_t>(traits_.trailing_spaces), uint32_t{traits_.weighs_trailing_spaces},
        uint32_t{traits_.byte_order}, traits_.levels}) {
    AppendBigEndian(trait, &traits);
  }
  uint64_t hash = HashValue(HashValue(0, traits), traits_.space_weight);
  for (const std::string_view weight : traits_.level_space_weights) hash = HashValue(hash, weight);
  return hash;
}

uint64_t ServerCollation::HashWeights() const {
  constexpr my_wc_t kLastCodePoint = 0x10FFFF;
  // From here on hardly any character has a weight that does not follow from its code point.
  constexpr my_wc_t kFirstSampled = 0x30000;
  constexpr my_wc_t kSampledStep = 64;
  WeightHash hash(*this, HashTraits());
  if (charset_->mbmaxlen == 1) {
    // All bytes, whether they are characters or not.
    for (int byte = 0; byte <= UINT8_MAX; ++byte) hash.Add(std::string(1, static_cast<char>(byte)));
  } else {
    for (my_wc_t code_point = 0; code_point <= kLastCodePoint;
         code_point += code_point < kFirstSampled ? 1 : kSampledStep) {
      const std::string character = Encode(*charset_, code_point);
      if (!character.empty()) hash.Add(character);
    }
  }
  ForEachString(*charset_, [&hash](const std::string& text) { hash.Add(text); });
  for (const std::vector<my_wc_t>& contraction : ContractionsOf(*charset_)) {
    std::string text;
    for (const my_wc_t code_point : contraction) text += Encode(*charset_, code_point);
    hash.Add(text);
  }
  // The rules of a user's collation say all.
  if (traits_.is_built_in || charset_->tailoring == nullptr) return hash.hash();
  return HashValue(hash.hash(), charset_->tailoring);
}

}  // namespace

const Collation* FindCollation(const charset_info_st* charset) {
  static std::mutex mutex;
  static std::map<const charset_info_st*, std::unique_ptr<ServerCollation>> collations;
  std::lock_guard lock(mutex);
  auto& collation = collations[charset];
  if (collation == nullptr) collation = std::make_unique<ServerCollation>(charset);
  return collation.get();
}

}  // namespace cairn
