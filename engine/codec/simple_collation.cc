#include "engine/codec/simple_collation.h"

#include <bit>

namespace cairn {

SimpleCollation::SimpleCollation(const uint8_t* sort_order) {
  for (size_t byte = 0; byte < 256; ++byte) {
    weight_[byte] = sort_order[byte];
    Weighted& weighted = by_weight_[sort_order[byte]];
    code_[byte] = static_cast<uint8_t>(weighted.count++);
  }
  size_t next = 0;
  for (size_t weight = 0; weight < 256; ++weight) {
    Weighted& weighted = by_weight_[weight];
    weighted.first = static_cast<uint8_t>(next);
    next += weighted.count;
    if (weighted.count > 1) {
      weighted.code_bits = static_cast<uint8_t>(std::bit_width(weighted.count - 1u));
    }
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    const size_t position = by_weight_[sort_order[byte]].first + code_[byte];
    bytes_[position] = static_cast<uint8_t>(byte);
  }
}

void SimpleCollation::WriteWeights(std::string_view value, uint8_t* to) const {
  for (size_t i = 0; i < value.size(); ++i) to[i] = weight_[static_cast<uint8_t>(value[i])];
}

void SimpleCollation::AppendCodes(std::string_view value, std::string* unpack_info) const {
  uint8_t current = 0;
  unsigned used_bits = 0;
  for (char character : value) {
    const auto byte = static_cast<uint8_t>(character);
    const unsigned bits = by_weight_[weight_[byte]].code_bits;
    if (bits == 0) continue;
    const unsigned code = code_[byte];
    const unsigned free_bits = 8 - used_bits;
    if (bits <= free_bits) {
      current |= static_cast<uint8_t>(code << used_bits);
      used_bits += bits;
      if (used_bits < 8) continue;
      unpack_info->push_back(static_cast<char>(current));
      current = 0;
      used_bits = 0;
      continue;
    }
    // The most significant bits fill this byte; the rest opens the next.
    const unsigned rest_bits = bits - free_bits;
    current |= static_cast<uint8_t>((code >> rest_bits) << used_bits);
    unpack_info->push_back(static_cast<char>(current));
    current = static_cast<uint8_t>(code & ((1u << rest_bits) - 1));
    used_bits = rest_bits;
  }
  if (used_bits != 0) unpack_info->push_back(static_cast<char>(current));
}

Damage CharacterCodeReader::ReadCode(uint8_t bits, uint8_t* code) {
  if (used_bits_ == 8) {
    if (!unpack_info_->ReadBigEndian(&current_)) return Damage::kShortUnpackInfo;
    used_bits_ = 0;
  }
  const unsigned free_bits = 8 - used_bits_;
  if (bits <= free_bits) {
    *code = static_cast<uint8_t>((current_ >> used_bits_) & ((1u << bits) - 1));
    used_bits_ = static_cast<uint8_t>(used_bits_ + bits);
    return Damage::kNone;
  }
  const unsigned rest_bits = bits - free_bits;
  const unsigned high = current_ >> used_bits_;
  if (!unpack_info_->ReadBigEndian(&current_)) return Damage::kShortUnpackInfo;
  *code = static_cast<uint8_t>((high << rest_bits) | (current_ & ((1u << rest_bits) - 1)));
  used_bits_ = static_cast<uint8_t>(rest_bits);
  return Damage::kNone;
}

Damage CharacterCodeReader::Restore(uint8_t* weights, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const SimpleCollation::Weighted& weighted = collation_.by_weight_[weights[i]];
    uint8_t code = 0;
    if (weighted.code_bits != 0) CAIRN_RETURN_IF_DAMAGED(ReadCode(weighted.code_bits, &code));
    if (code >= weighted.count) return Damage::kBadCharacterCode;
    weights[i] = collation_.bytes_[weighted.first + code];
  }
  return Damage::kNone;
}

Damage CharacterCodeReader::Skip(std::string_view weights) {
  for (char weight : weights) {
    const uint8_t bits = collation_.CodeBits(static_cast<uint8_t>(weight));
    uint8_t code;
    if (bits != 0) CAIRN_RETURN_IF_DAMAGED(ReadCode(bits, &code));
  }
  return Damage::kNone;
}

}  // namespace cairn
