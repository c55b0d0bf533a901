#include "engine/codec/same_encoding.h"

#include <cstring>

namespace cairn {
namespace {

bool SameSegments(const PaddedSegmentFormat& before, const PaddedSegmentFormat& after) {
  return before.payload_bytes == after.payload_bytes && before.space_bytes == after.space_bytes &&
         std::memcmp(before.space, after.space, before.space_bytes) == 0;
}

// All but the lengths.
bool SameKind(const KeyPart& before, const KeyPart& after) {
  for (size_t level = 0; level < before.levels.formats.size(); ++level) {
    if (!SameSegments(before.levels.formats[level], after.levels.formats[level])) return false;
  }
  return before.encoding == after.encoding && before.restorable == after.restorable &&
         before.is_prefix == after.is_prefix && before.variable_length == after.variable_length &&
         before.by_pointer == after.by_pointer && before.descending == after.descending &&
         before.same_value_as == after.same_value_as && before.cuts_chars == after.cuts_chars &&
         before.trims == after.trims && before.info.whole == after.info.whole &&
         before.info.length_bytes == after.info.length_bytes &&
         before.levels.count == after.levels.count && before.levels.padded == after.levels.padded &&
         before.info.counter_bytes == after.info.counter_bytes &&
         before.image.length_bytes == after.image.length_bytes &&
         before.nullable() == after.nullable() && before.variable_format == after.variable_format &&
         SameSegments(before.padded_format, after.padded_format) &&
         before.collation == after.collation && before.key_bytes == after.key_bytes;
}

// Whether the part of a whole VARCHAR has all weights of any value.
bool NeverCutsWeights(const KeyPart& part) {
  switch (part.encoding) {
    case KeyEncoding::kVariableBytes:
    case KeyEncoding::kPaddedBytes:
    case KeyEncoding::kPaddedSimple:
    case KeyEncoding::kPaddedUtf8mb3:
    case KeyEncoding::kLevels:
      return true;
    case KeyEncoding::kPaddedWeights:
      return part.collation->traits().weight_multiplier == 1;
    default:
      return false;
  }
}

}  // namespace

bool SameEncoding(const KeyPart& before, const KeyPart& after) {
  if (!SameKind(before, after)) return false;
  if (before.length_bytes == after.length_bytes) return true;
  return before.length_bytes < after.length_bytes && before.variable_length && !before.is_prefix &&
         NeverCutsWeights(before);
}

bool SameEncoding(const TableLayout& table_before, const KeyPartLayout& before,
                  const TableLayout& table_after, const KeyPartLayout& after,
                  uint16_t format_version) {
  const Result<KeyPart> part_before = MakeKeyPart(table_before, before, format_version);
  const Result<KeyPart> part_after = MakeKeyPart(table_after, after, format_version);
  return part_before.ok() && part_after.ok() && SameEncoding(*part_before, *part_after);
}

}  // namespace cairn
