// Compiling key parts: which encoding a column takes (docs/stock-format.md, 3.3, 3.4 and 4.2).
#include "engine/codec/key_part_compile.h"

#include "engine/codec/format_version.h"
#include "engine/codec/index_codec.h"
#include "engine/codec/key_part.h"
#include "engine/codec/layout_check.h"
#include "engine/codec/restorable.h"
#include "engine/codec/unpack_info.h"

namespace cairn {
namespace {

// Sets the encoding of a type whose image and key have one size.
Status CompileFixed(const ColumnLayout& column, KeyPart* part) {
  part->key_bytes = column.image_bytes;
  bool width_ok = column.image_bytes != 0;
  switch (column.type) {
    case ColumnType::kSignedInteger:
      part->encoding = KeyEncoding::kSigned;
      width_ok = IsIntegerWidth(column.image_bytes);
      break;
    case ColumnType::kUnsignedInteger:
      part->encoding = KeyEncoding::kUnsigned;
      width_ok = IsIntegerWidth(column.image_bytes);
      break;
    case ColumnType::kFloat:
      part->encoding = KeyEncoding::kFloat;
      width_ok = column.image_bytes == 4;
      break;
    case ColumnType::kDouble:
      part->encoding = KeyEncoding::kDouble;
      width_ok = column.image_bytes == 8;
      break;
    case ColumnType::kFixedImage:
      part->encoding = KeyEncoding::kCopy;
      break;
    case ColumnType::kDate:
      part->encoding = KeyEncoding::kUnsigned;
      width_ok = column.image_bytes == 3;
      break;
    case ColumnType::kOldTimestamp:
      part->encoding = KeyEncoding::kUnsigned;
      width_ok = column.image_bytes == 4 || column.image_bytes == 8;
      break;
    case ColumnType::kOldTime:
      part->encoding = KeyEncoding::kSigned;
      width_ok = column.image_bytes == 3;
      break;
    case ColumnType::kOldTimeFraction:
      part->encoding = KeyEncoding::kCopyTopFlipped;
      break;
    case ColumnType::kOpaqueFixed:
      part->encoding = KeyEncoding::kCopy;
      break;
    case ColumnType::kEnum:
      part->encoding = KeyEncoding::kUnsigned;
      width_ok = IsIntegerWidth(column.image_bytes);
      break;
    case ColumnType::kChar:
    case ColumnType::kVarchar:
    case ColumnType::kBlob:
      return InvalidColumn(column, "not a type of fixed size");
  }
  if (!width_ok) return InvalidColumn(column, "impossible image size for its type");
  if (part->is_prefix || part->length_bytes != column.image_bytes) {
    return InvalidColumn(column, "only character and binary columns can be indexed by a prefix");
  }
  return Status();
}

void CompileChar(const Collation& collation, KeyPart* part) {
  const Collation::Traits& traits = collation.traits();
  part->key_bytes = part->length_bytes;
  switch (traits.kind) {
    case CollationKind::kBinary:
    case CollationKind::kLatin1Bin:
      part->encoding = KeyEncoding::kCopy;
      return;
    case CollationKind::kSimple8Bit:
      part->encoding = KeyEncoding::kCharSimple;
      return;
    case CollationKind::kUtf8mb3Bin:
      part->encoding = KeyEncoding::kCharUtf8mb3;
      break;
    case CollationKind::kSingleLevel:
    case CollationKind::kMultiLevel:
      part->encoding = KeyEncoding::kCharWeights;
      break;
  }
  part->max_weights = part->indexed_chars * traits.weight_multiplier;
  part->weight_capacity = static_cast<uint32_t>(collation.MaxWeightBytes(part->length_bytes));
  part->key_bytes = part->weight_capacity;
}

void CompileVariable(KeyPart* part, size_t value_bytes, KeyEncoding encoding) {
  part->encoding = encoding;
  part->max_key_bytes =
      static_cast<uint32_t>(MaxVariableSegmentBytes(value_bytes, part->variable_format));
}

void CompileVarchar(const ColumnLayout& column, const Collation& collation, KeyPart* part) {
  const Collation::Traits& traits = collation.traits();
  part->variable_length = true;
  part->image.length_bytes = static_cast<uint8_t>(column.length_bytes);
  part->capacity = column.max_bytes;
  if (traits.kind == CollationKind::kBinary) {
    return CompileVariable(part, part->length_bytes, KeyEncoding::kVariableBytes);
  }
  part->max_weights = part->indexed_chars;
  part->weight_capacity =
      traits.kind == CollationKind::kLatin1Bin || traits.kind == CollationKind::kSimple8Bit
          ? part->length_bytes
          : static_cast<uint32_t>(collation.MaxWeightBytes(part->length_bytes));
  switch (traits.kind) {
    case CollationKind::kBinary:
    case CollationKind::kLatin1Bin:
      part->encoding = KeyEncoding::kPaddedBytes;
      break;
    case CollationKind::kSimple8Bit:
      part->encoding = KeyEncoding::kPaddedSimple;
      break;
    case CollationKind::kUtf8mb3Bin:
      part->encoding = KeyEncoding::kPaddedUtf8mb3;
      break;
    case CollationKind::kSingleLevel:
      part->encoding = KeyEncoding::kPaddedWeights;
      break;
    case CollationKind::kMultiLevel:
      return CompileVariable(part, part->weight_capacity, KeyEncoding::kVariableWeights);
  }
  if (!part->is_prefix) part->info.counter_bytes = SpaceCounterBytes(column.max_bytes);
  PaddedSegmentFormat& format = part->padded_format;
  format.payload_bytes =
      static_cast<uint8_t>(traits.long_segments ? kLongPaddedPayloadBytes : kPaddedPayloadBytes);
  format.space_bytes = static_cast<uint8_t>(traits.space_weight.size());
  traits.space_weight.copy(reinterpret_cast<char*>(format.space), sizeof format.space);
  part->max_key_bytes =
      static_cast<uint32_t>(MaxPaddedSegmentBytes(part->weight_capacity, format.payload_bytes));
}

Status CompileBlob(const ColumnLayout& column, const Collation& collation, KeyPart* part) {
  if (!part->is_prefix)
    return InvalidColumn(column, "a BLOB or TEXT can only be indexed by a prefix");
  part->variable_length = true;
  part->by_pointer = true;
  part->image.length_bytes = static_cast<uint8_t>(column.length_bytes);
  if (collation.traits().kind == CollationKind::kBinary) {
    part->encoding = KeyEncoding::kBlob;
    part->key_bytes = part->length_bytes + column.length_bytes;
    return Status();
  }
  part->encoding = KeyEncoding::kText;
  part->key_bytes = part->length_bytes;
  part->max_weights = part->length_bytes;
  part->weight_capacity = part->length_bytes;
  return Status();
}

Status CheckCollation(const ColumnLayout& column) {
  if (column.collation == nullptr) return InvalidColumn(column, "no collation");
  const Collation::Traits& traits = column.collation->traits();
  if (traits.max_char_bytes == 0 || traits.space_char_bytes == 0 || traits.weight_multiplier == 0) {
    return InvalidColumn(column, "impossible collation");
  }
  if (traits.kind == CollationKind::kBinary) return Status();
  if (traits.space_weight.empty() || traits.space_weight.size() > 3) {
    return InvalidColumn(column, "the weight of a space must have 1 to 3 bytes");
  }
  if (traits.kind == CollationKind::kSimple8Bit && traits.sort_order == nullptr) {
    return InvalidColumn(column, "a simple collation needs its table of weights");
  }
  return Status();
}

Status CompileCharacters(const ColumnLayout& column, bool cairn, KeyPart* part) {
  CAIRN_RETURN_IF_ERROR(CheckCollation(column));
  const Collation& collation = *column.collation;
  part->collation = &collation;
  part->indexed_chars = part->length_bytes / collation.traits().max_char_bytes;
  if (part->indexed_chars == 0) return InvalidColumn(column, "the indexed prefix is empty");
  if (column.type == ColumnType::kBlob && !cairn) return CompileBlob(column, collation, part);
  if (column.type == ColumnType::kBlob) return CompileCairnCharacters(column, part);
  if (part->is_prefix ? part->length_bytes > column.max_bytes
                      : part->length_bytes != column.max_bytes) {
    return InvalidColumn(column, "the indexed length does not fit the column");
  }
  if (cairn) {
    CAIRN_RETURN_IF_ERROR(CompileCairnCharacters(column, part));
  } else if (column.type == ColumnType::kChar) {
    CompileChar(collation, part);
  } else {
    CompileVarchar(column, collation, part);
  }
  if (collation.traits().kind == CollationKind::kSimple8Bit) {
    part->simple = std::make_shared<const SimpleCollation>(collation.traits().sort_order);
  }
  return Status();
}

}  // namespace

Result<KeyPart> MakeKeyPart(const TableLayout& table, const KeyPartLayout& layout,
                            uint16_t format_version) {
  const bool cairn = format_version == kCairnFormatVersion;
  if (layout.column >= table.columns.size()) {
    return Status(StatusCode::kInvalidArgument, "no column " + std::to_string(layout.column));
  }
  const ColumnLayout& column = table.columns[layout.column];
  KeyPart part;
  part.column = layout.column;
  part.is_prefix = layout.is_prefix;
  part.length_bytes = layout.length_bytes;
  part.descending = layout.descending;
  part.variable_format = SegmentFormatOf(format_version);
  part.null.offset = column.null_offset;
  part.null.mask = column.null_mask;
  part.image.offset = column.offset;
  part.image.bytes = column.image_bytes;
  part.null.image = column.null_image;
  const bool characters = column.type == ColumnType::kChar || column.type == ColumnType::kVarchar ||
                          column.type == ColumnType::kBlob;
  if (part.descending && !cairn) {
    return InvalidColumn(column, "only the Cairn format has descending key parts");
  }
  CAIRN_RETURN_IF_ERROR(characters ? CompileCharacters(column, cairn, &part)
                                   : CompileFixed(column, &part));
  part.restorable = !part.is_prefix && (cairn || ColumnIsRestorable(column.type, column.collation));
  if (part.key_bytes != 0) part.max_key_bytes = part.key_bytes;
  if (part.nullable()) ++part.max_key_bytes;
  return part;
}

KeyPart MakeHiddenKeyPart() {
  KeyPart part;
  part.length_bytes = kHiddenKeyBytes;
  part.key_bytes = kHiddenKeyBytes;
  part.max_key_bytes = kHiddenKeyBytes;
  return part;
}

}  // namespace cairn
