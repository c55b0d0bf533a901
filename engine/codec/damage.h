// What can be wrong with stored bytes, as a value that costs nothing to pass up from the innermost
// decoder; IndexCodec turns it into a Status that names the index and the key.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn {

enum class [[nodiscard]] Damage : uint8_t{
    kNone,
    kShortKey,          // The key ends inside a part.
    kLongKey,           // Bytes follow the key's last part.
    kForeignKey,        // The key starts with another index number.
    kBadNullByte,       // A key part's NULL byte is neither 00 nor 01.
    kBadSegmentMarker,  // A segment's marker byte has no meaning.
    kShortUnpackInfo,   // The unpack_info block ends too early or is missing.
    kLongUnpackInfo,    // Bytes follow the last part's unpack_info.
    kBadUnpackInfoTag,  // A primary key's value lacks the block that its rows always have.
    kBadSpaceCounter,   // A counter names more padding than its segment has.
    kBadCharacterCode,  // No byte of the collation has this weight and code.
    kTooLongColumn,     // A value exceeds the column's declared length.
    kShortValue,        // The value ends inside a column.
    kLongValue,         // Bytes that are no checksum chunk follow the last column.
    kBadNullBits,       // A bit beyond the nullable columns is set.
    kMissingValue,      // A column that may not be NULL any more is NULL.
    kBadExtension,      // Neither an extension nor a checksum chunk follows the base columns.
    kBadRowVersion,     // The row has a layout version in which it would have no extension.
};

// A phrase for messages ("the key ends inside a part").
constexpr std::string_view ToString(Damage damage) {
  switch (damage) {
    case Damage::kNone:
      return "no damage";
    case Damage::kShortKey:
      return "the key ends inside a part";
    case Damage::kLongKey:
      return "bytes follow the key's last part";
    case Damage::kForeignKey:
      return "the key starts with another index number";
    case Damage::kBadNullByte:
      return "a NULL byte in the key is neither 00 nor 01";
    case Damage::kBadSegmentMarker:
      return "a segment marker in the key has no meaning";
    case Damage::kShortUnpackInfo:
      return "the unpack_info block is missing or too short";
    case Damage::kLongUnpackInfo:
      return "the unpack_info block is too long";
    case Damage::kBadUnpackInfoTag:
      return "the value lacks its unpack_info block";
    case Damage::kBadSpaceCounter:
      return "a space counter exceeds its segment";
    case Damage::kBadCharacterCode:
      return "a character code has no byte in the collation";
    case Damage::kTooLongColumn:
      return "a column is longer than declared";
    case Damage::kShortValue:
      return "the value ends inside a column";
    case Damage::kLongValue:
      return "bytes follow the last column";
    case Damage::kBadNullBits:
      return "a NULL bit beyond the nullable columns is set";
    case Damage::kMissingValue:
      return "a NOT NULL column is NULL";
    case Damage::kBadExtension:
      return "what follows the base columns is no extension";
    case Damage::kBadRowVersion:
      return "the row has a layout version that the table does not have";
  }
  return "unknown damage";
}

#define CAIRN_RETURN_IF_DAMAGED(expression)                   \
  do {                                                        \
    const ::cairn::Damage cairn_damage_ = (expression);       \
    if (cairn_damage_ != ::cairn::Damage::kNone) [[unlikely]] \
      return cairn_damage_;                                   \
  } while (false)

}  // namespace cairn
