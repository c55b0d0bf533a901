#include "mariadb/collation_adapter.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mariadb/server_headers.h"

namespace cairn {
namespace {

constexpr uint32_t kLatin1Bin = 47;
constexpr uint32_t kUtf8mb3Bin = 83;

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
    // Where a character's weights never depend on its neighbours, look-ups by a prefix can use them.
    traits_.may_contract = HasContractions(*charset);
  }

  size_t WriteWeights(std::string_view value, size_t max_weights, Padding padding, uint8_t* to,
                      size_t capacity) const override {
    const uint flags =
        padding == Padding::kToEnd ? MY_STRXFRM_PAD_WITH_SPACE | MY_STRXFRM_PAD_TO_MAXLEN : 0;
    return charset_->strnxfrm(to, capacity, static_cast<uint>(max_weights),
                              reinterpret_cast<const uchar*>(value.data()), value.size(), flags);
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
  // spec/on-disk-format.md, 3.4 and 4.5.
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

  CHARSET_INFO* const charset_;
  uchar space_weight_[16];
};

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
