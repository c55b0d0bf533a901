// Compiling key parts of the Cairn format (docs/on-disk-format.md): every collation in its own
// order, every whole column restorable.
#include <string>

#include "engine/codec/key_part.h"
#include "engine/codec/key_part_compile.h"

namespace cairn {
namespace {

uint8_t InfoLengthBytes(const ColumnLayout& column) { return column.max_bytes > UINT8_MAX ? 2 : 1; }

void UseVariableBytes(KeyPart* part) {
  part->encoding = KeyEncoding::kVariableBytes;
  part->max_key_bytes =
      static_cast<uint32_t>(MaxVariableSegmentBytes(part->length_bytes, part->variable_format));
}

void UsePaddedBytes(const ColumnLayout& column, KeyPart* part) {
  part->encoding = KeyEncoding::kPaddedBytes;
  if (column.type == ColumnType::kVarchar && !part->is_prefix) {
    part->info.counter_bytes = SpaceCounterBytes(column.max_bytes);
  }
  part->max_key_bytes =
      static_cast<uint32_t>(MaxPaddedSegmentBytes(part->length_bytes, kPaddedPayloadBytes));
}

bool PadsLevel(const Collation::Traits& traits, uint32_t level) {
  return traits.trailing_spaces == TrailingSpaces::kPad ||
         (traits.trailing_spaces == TrailingSpaces::kCount && level > 0);
}

void UseLevels(const ColumnLayout& column, KeyPart* part) {
  const Collation::Traits& traits = column.collation->traits();
  part->encoding = KeyEncoding::kLevels;
  part->levels.count = static_cast<uint8_t>(traits.levels);
  part->trims = traits.trailing_spaces != TrailingSpaces::kCount && !traits.weighs_trailing_spaces;
  part->weight_capacity =
      static_cast<uint32_t>(column.collation->MaxLevelBytes(part->indexed_chars));
  for (uint32_t level = 0; level < traits.levels; ++level) {
    if (!PadsLevel(traits, level)) {
      part->max_key_bytes += static_cast<uint32_t>(
          MaxVariableSegmentBytes(part->weight_capacity, SegmentFormat::kCurrent));
      continue;
    }
    part->levels.padded = static_cast<uint8_t>(part->levels.padded | 1u << level);
    PaddedSegmentFormat& format = part->levels.formats[level];
    const std::string_view space = traits.level_space_weights[level];
    format.space_bytes = static_cast<uint8_t>(space.size());
    // A payload holds whole spaces.
    format.payload_bytes =
        static_cast<uint8_t>(space.size() == 3 ? kLongPaddedPayloadBytes : kPaddedPayloadBytes);
    space.copy(reinterpret_cast<char*>(format.space), sizeof format.space);
    part->max_key_bytes +=
        static_cast<uint32_t>(MaxPaddedSegmentBytes(part->weight_capacity, format.payload_bytes));
  }
  if (!part->is_prefix) {
    part->info.whole = true;
    part->info.length_bytes = InfoLengthBytes(column);
  }
}

Status CheckLevels(const ColumnLayout& column) {
  const Collation::Traits& traits = column.collation->traits();
  if (traits.levels == 0 || traits.levels > Collation::kMaxLevels) {
    return InvalidColumn(column, "a collation of an impossible number of levels");
  }
  for (uint32_t level = 0; level < traits.levels; ++level) {
    const size_t bytes = traits.level_space_weights[level].size();
    if (PadsLevel(traits, level) && (bytes == 0 || bytes > 3)) {
      return InvalidColumn(column, "the weight of a space must have 1 to 3 bytes");
    }
  }
  return Status();
}

}  // namespace

bool SharesWeightOfSpace(const Collation& collation) {
  const uint8_t* const order = collation.traits().sort_order;
  int bytes_like_space = 0;
  for (int byte = 0; byte < 256; ++byte) bytes_like_space += order[byte] == order[' '];
  return bytes_like_space > 1;
}

Status CompileCairnCharacters(const ColumnLayout& column, KeyPart* part) {
  const Collation& collation = *column.collation;
  const Collation::Traits& traits = collation.traits();
  const bool is_char = column.type == ColumnType::kChar;
  part->variable_length = !is_char;
  part->by_pointer = column.type == ColumnType::kBlob;
  part->image.length_bytes = static_cast<uint8_t>(column.length_bytes);
  part->capacity = column.max_bytes;
  part->cuts_chars = part->is_prefix || (is_char && traits.max_char_bytes > 1);
  if (part->by_pointer && !part->is_prefix) {
    return InvalidColumn(column, "a BLOB or TEXT can only be indexed by a prefix");
  }
  if (traits.kind == CollationKind::kBinary) {
    if (is_char) {
      part->encoding = KeyEncoding::kCopy;
      part->key_bytes = part->length_bytes;
    } else {
      UseVariableBytes(part);
    }
    return Status();
  }
  // As long as the column is full, a CHAR of a NO PAD collation is as if filled with spaces.
  const bool pads = traits.trailing_spaces == TrailingSpaces::kPad || is_char;
  if (traits.byte_order) {
    if (pads) {
      UsePaddedBytes(column, part);
    } else {
      UseVariableBytes(part);
    }
    part->cuts_chars = part->is_prefix;  // Spaces at the end make no difference.
    return Status();
  }
  if (traits.kind == CollationKind::kSimple8Bit && is_char) {
    part->encoding = KeyEncoding::kCharSimple;
    part->key_bytes = part->length_bytes;
    return Status();
  }
  if (traits.kind == CollationKind::kSimple8Bit && !part->by_pointer &&
      !SharesWeightOfSpace(collation)) {
    UsePaddedBytes(column, part);
    part->encoding = KeyEncoding::kPaddedSimple;
    part->weight_capacity = part->length_bytes;
    part->padded_format.space[0] = traits.sort_order[' '];
    return Status();
  }
  CAIRN_RETURN_IF_ERROR(CheckLevels(column));
  UseLevels(column, part);
  return Status();
}

void MakeRestorable(const ColumnLayout& column, KeyPart* part) {
  if (part->is_prefix || column.type == ColumnType::kBlob) return;
  const bool characters = column.type == ColumnType::kChar || column.type == ColumnType::kVarchar;
  const bool loses_bytes = characters && part->encoding == KeyEncoding::kPaddedSimple &&
                           SharesWeightOfSpace(*column.collation);
  if (part->restorable && !loses_bytes) return;
  part->restorable = true;
  if (!characters) return;
  part->info.whole = true;
  part->info.length_bytes = InfoLengthBytes(column);
  part->capacity = column.max_bytes;
  part->info.counter_bytes = 0;
}

}  // namespace cairn
