#include "engine/codec/key_part.h"

#include <algorithm>
#include <cstring>

#include "engine/codec/blob_key.h"
#include "engine/codec/float_key.h"
#include "engine/codec/image_length.h"
#include "engine/codec/integer_key.h"
#include "engine/codec/null_image.h"
#include "engine/codec/unpack_info.h"
#include "engine/codec/utf8mb3_weights.h"

namespace cairn {
namespace {

std::string_view AsView(const uint8_t* bytes, size_t count) {
  return {reinterpret_cast<const char*>(bytes), count};
}

const uint8_t* AsBytes(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

// The value without trailing spaces. One-byte spaces are 0x20 in every character set that has them.
std::string_view WithoutTrailingSpaces(const Collation& collation, std::string_view value) {
  if (collation.traits().space_char_bytes != 1) {
    return value.substr(0, collation.TrimmedLength(value));
  }
  size_t size = value.size();
  while (size != 0 && value[size - 1] == ' ') --size;
  return value.substr(0, size);
}

// Appends a column's data, length first. A CHAR goes without the spaces that fill it up, where
// these are bytes.
void AppendWhole(const KeyPart& part, std::string_view data, std::string* unpack_info) {
  if (!part.variable_length && part.collation->traits().space_char_bytes == 1) {
    data = WithoutTrailingSpaces(*part.collation, data);
  }
  const size_t start = unpack_info->size();
  unpack_info->resize(start + part.info.length_bytes);
  StoreImageLength(static_cast<uint32_t>(data.size()), part.info.length_bytes,
                   unpack_info->data() + start);
  unpack_info->append(data);
}

Damage ReadWhole(const KeyPart& part, ByteReader* unpack_info, std::string_view* data) {
  std::string_view length;
  if (!unpack_info->ReadBytes(part.info.length_bytes, &length)) return Damage::kShortUnpackInfo;
  const size_t data_bytes = LoadImageLength(length.data(), part.info.length_bytes);
  return unpack_info->ReadBytes(data_bytes, data) ? Damage::kNone : Damage::kShortUnpackInfo;
}

Damage RestoreWhole(const KeyPart& part, ByteReader* unpack_info, uint8_t* image) {
  std::string_view data;
  CAIRN_RETURN_IF_DAMAGED(ReadWhole(part, unpack_info, &data));
  if (data.size() > part.capacity) return Damage::kTooLongColumn;
  std::memcpy(image + part.image.length_bytes, data.data(), data.size());
  if (part.variable_length) {
    StoreImageLength(static_cast<uint32_t>(data.size()), part.image.length_bytes, image);
  } else {
    std::memset(image + data.size(), ' ', part.capacity - data.size());
  }
  return Damage::kNone;
}

uint8_t* EncodeLevels(const KeyPart& part, std::string_view value, uint8_t* to, uint8_t* scratch) {
  if (part.trims) value = WithoutTrailingSpaces(*part.collation, value);
  for (uint32_t level = 0; level < part.levels.count; ++level) {
    const std::string_view weights =
        AsView(scratch, part.collation->WriteLevel(value, level, scratch, part.weight_capacity));
    size_t padding_bytes;
    to = part.PadsLevel(level)
             ? WritePaddedSegments(weights, part.levels.formats[level], to, &padding_bytes)
             : WriteVariableSegments(weights, SegmentFormat::kCurrent, to);
  }
  return to;
}

Damage SkipLevels(const KeyPart& part, ByteReader* key) {
  for (uint32_t level = 0; level < part.levels.count; ++level) {
    CAIRN_RETURN_IF_DAMAGED(part.PadsLevel(level)
                                ? SkipPaddedSegments(key, part.levels.formats[level].payload_bytes)
                                : SkipVariableSegments(key, SegmentFormat::kCurrent));
  }
  return Damage::kNone;
}

uint8_t* EncodePadded(const KeyPart& part, std::string_view value, uint8_t* to, uint8_t* scratch,
                      std::string* unpack_info) {
  const std::string_view trimmed = WithoutTrailingSpaces(*part.collation, value);
  std::string_view weights;
  switch (part.encoding) {
    case KeyEncoding::kPaddedBytes:
      weights = trimmed.substr(0, part.length_bytes);
      break;
    case KeyEncoding::kPaddedSimple:
      weights = trimmed.substr(0, part.length_bytes);
      part.simple->WriteWeights(weights, scratch);
      weights = AsView(scratch, weights.size());
      break;
    default:
      weights = AsView(scratch, part.collation->WriteWeights(trimmed, part.max_weights,
                                                             Collation::Padding::kNone, scratch,
                                                             part.weight_capacity));
  }
  size_t padding_bytes;
  to = WritePaddedSegments(weights, part.padded_format, to, &padding_bytes);
  if (unpack_info != nullptr && part.info.counter_bytes != 0) {
    AppendSpaceCounter((value.size() - trimmed.size()) / part.collation->traits().space_char_bytes,
                       padding_bytes / part.padded_format.space_bytes, part.info.counter_bytes,
                       unpack_info);
    if (part.HasCodes()) {
      part.simple->AppendCodes(value.substr(0, part.length_bytes), unpack_info);
    }
  }
  return to;
}

// The last segment's payload without the padding that the counter names.
Damage DropPadding(const KeyPart& part, const SpaceCounter& counter, PaddedSegment* segment) {
  if (!segment->last) return Damage::kNone;
  const size_t padding_bytes = size_t{counter.padding_chars} * part.padded_format.space_bytes;
  if (padding_bytes > segment->payload.size()) return Damage::kBadSpaceCounter;
  segment->payload.remove_suffix(padding_bytes);
  return Damage::kNone;
}

// A CHAR in space-padded segments: whatever spaces are missing or too many, the column is filled up
// with them.
Damage DecodePaddedChar(const KeyPart& part, ByteReader* key, uint8_t* image) {
  size_t size = 0;
  PaddedSegment segment;
  do {
    CAIRN_RETURN_IF_DAMAGED(ReadPaddedSegment(key, part.padded_format.payload_bytes, &segment));
    const size_t bytes = std::min(segment.payload.size(), part.capacity - size);
    if (segment.payload.find_first_not_of(' ', bytes) != std::string_view::npos) {
      return Damage::kTooLongColumn;
    }
    std::memcpy(image + size, segment.payload.data(), bytes);
    size += bytes;
  } while (!segment.last);
  std::memset(image + size, ' ', part.capacity - size);
  return Damage::kNone;
}

Damage DecodePadded(const KeyPart& part, ByteReader* key, ByteReader* unpack_info, uint8_t* image) {
  if (!part.variable_length) return DecodePaddedChar(part, key, image);
  SpaceCounter counter;
  CAIRN_RETURN_IF_DAMAGED(ReadSpaceCounter(unpack_info, part.info.counter_bytes, &counter));
  uint8_t* const data = image + part.image.length_bytes;
  size_t size = 0;
  PaddedSegment segment;
  do {
    CAIRN_RETURN_IF_DAMAGED(ReadPaddedSegment(key, part.padded_format.payload_bytes, &segment));
    CAIRN_RETURN_IF_DAMAGED(DropPadding(part, counter, &segment));
    if (part.encoding == KeyEncoding::kPaddedUtf8mb3) {
      CAIRN_RETURN_IF_DAMAGED(AppendUtf8mb3(segment.payload, data, part.capacity, &size));
      continue;
    }
    if (segment.payload.size() > part.capacity - size) return Damage::kTooLongColumn;
    std::memcpy(data + size, segment.payload.data(), segment.payload.size());
    size += segment.payload.size();
  } while (!segment.last);

  if (counter.trimmed_chars > part.capacity - size) return Damage::kTooLongColumn;
  const bool simple = part.encoding == KeyEncoding::kPaddedSimple;
  std::memset(data + size, simple ? part.padded_format.space[0] : ' ', counter.trimmed_chars);
  size += counter.trimmed_chars;
  if (simple) {
    // The writer codes trailing spaces too. They take bits only where another byte sorts as a
    // space.
    CAIRN_RETURN_IF_DAMAGED(CharacterCodeReader(*part.simple, unpack_info).Restore(data, size));
  }
  StoreImageLength(static_cast<uint32_t>(size), part.image.length_bytes, image);
  return Damage::kNone;
}

// Passes over a full-column VARCHAR whose codes lie in unpack_info.
Damage SkipPaddedAndCodes(const KeyPart& part, ByteReader* key, ByteReader* unpack_info) {
  SpaceCounter counter;
  CAIRN_RETURN_IF_DAMAGED(ReadSpaceCounter(unpack_info, part.info.counter_bytes, &counter));
  CharacterCodeReader codes(*part.simple, unpack_info);
  PaddedSegment segment;
  do {
    CAIRN_RETURN_IF_DAMAGED(ReadPaddedSegment(key, part.padded_format.payload_bytes, &segment));
    CAIRN_RETURN_IF_DAMAGED(DropPadding(part, counter, &segment));
    CAIRN_RETURN_IF_DAMAGED(codes.Skip(segment.payload));
  } while (!segment.last);
  const uint8_t space = part.padded_format.space[0];
  if (part.simple->CodeBits(space) == 0) return Damage::kNone;
  const char space_weight = static_cast<char>(space);
  for (uint32_t i = 0; i < counter.trimmed_chars; ++i) {
    CAIRN_RETURN_IF_DAMAGED(codes.Skip(std::string_view(&space_weight, 1)));
  }
  return Damage::kNone;
}

// Whether every character of the collation has one weight and all weights have the same size.
bool HasUniformWeights(const Collation::Traits& traits) {
  return traits.kind != CollationKind::kMultiLevel && traits.weight_multiplier == 1 &&
         (traits.max_char_bytes == 1 || traits.space_weight.size() > 1);
}

// The bytes of `indexed_chars` weights, as far as the part has them.
size_t IndexedWeightBytes(const KeyPart& part) {
  return std::min<size_t>(size_t{part.indexed_chars} * part.collation->traits().space_weight.size(),
                          part.weight_capacity);
}

std::string_view IndexedChars(const KeyPart& part, std::string_view value) {
  return value.substr(0, part.collation->CharPrefixLength(value, part.indexed_chars));
}

size_t CountChars(const Collation& collation, std::string_view text) {
  size_t chars = 0;
  for (; !text.empty(); ++chars) {
    text.remove_prefix(std::clamp<size_t>(collation.CharPrefixLength(text, 1), 1, text.size()));
  }
  return chars;
}

// The weights at `to` without a cut last weight and without weights of trailing spaces.
size_t TrimmedWeightBytes(const uint8_t* to, size_t bytes, std::string_view space) {
  bytes -= bytes % space.size();
  while (bytes != 0 && AsView(to + bytes - space.size(), space.size()) == space) {
    bytes -= space.size();
  }
  return bytes;
}

}  // namespace

bool KeyPart::EndsMatch() const {
  if (encoding == KeyEncoding::kText || encoding == KeyEncoding::kBlob) return true;
  // The stored part holds the weights of length_bytes bytes, often of more characters than were
  // indexed; where a character has at most one weight, the number of weights cuts them again.
  if (encoding != KeyEncoding::kCharWeights || !is_prefix) return false;
  return collation->traits().weight_multiplier > 1 ||
         collation->traits().kind == CollationKind::kMultiLevel;
}

std::string_view DataInRecord(const KeyPart& part, const uint8_t* record) {
  const uint8_t* image = record + part.image.offset;
  if (!part.variable_length) return AsView(image, part.length_bytes);
  const uint32_t size = LoadImageLength(image, part.image.length_bytes);
  if (part.by_pointer) {
    const char* data;
    std::memcpy(&data, image + part.image.length_bytes, sizeof data);
    return {size == 0 ? "" : data, size};
  }
  return AsView(image + part.image.length_bytes, std::min(size, part.capacity));
}

bool DataDiffer(const KeyPart& part, const uint8_t* record, const uint8_t* other_record) {
  if (part.nullable()) {
    const bool is_null = part.IsNull(record);
    if (is_null != part.IsNull(other_record)) return true;
    if (is_null) return false;
  }
  return DataInRecord(part, record) != DataInRecord(part, other_record);
}

uint8_t* EncodePart(const KeyPart& part, std::string_view data, uint8_t* to, uint8_t* scratch,
                    std::string* unpack_info) {
  if (part.info.whole && unpack_info != nullptr) AppendWhole(part, data, unpack_info);
  if (part.cuts_chars) data = IndexedChars(part, data);
  const uint8_t* image = AsBytes(data);
  switch (part.encoding) {
    case KeyEncoding::kHiddenKey:
    case KeyEncoding::kUnsigned:
      EncodeUnsignedKey(image, part.key_bytes, to);
      break;
    case KeyEncoding::kSigned:
      EncodeSignedKey(image, part.key_bytes, to);
      break;
    case KeyEncoding::kFloat:
      EncodeFloatKey(image, to);
      break;
    case KeyEncoding::kDouble:
      EncodeDoubleKey(image, to);
      break;
    case KeyEncoding::kCopy:
      std::memcpy(to, image, part.key_bytes);
      break;
    case KeyEncoding::kCopyTopFlipped:
      std::memcpy(to, image, part.key_bytes);
      to[0] ^= 0x80;
      break;
    case KeyEncoding::kCharSimple:
      part.simple->WriteWeights(data, to);
      if (unpack_info != nullptr && part.HasCodes()) part.simple->AppendCodes(data, unpack_info);
      break;
    case KeyEncoding::kCharUtf8mb3:
    case KeyEncoding::kCharWeights:
    case KeyEncoding::kText:
      part.collation->WriteWeights(data, part.max_weights, Collation::Padding::kToEnd, to,
                                   part.weight_capacity);
      break;
    case KeyEncoding::kVariableBytes:
      return WriteVariableSegments(data.substr(0, part.length_bytes), part.variable_format, to);
    case KeyEncoding::kVariableWeights: {
      const size_t bytes = part.collation->WriteWeights(
          data, part.max_weights, Collation::Padding::kNone, scratch, part.weight_capacity);
      return WriteVariableSegments(AsView(scratch, bytes), part.variable_format, to);
    }
    case KeyEncoding::kPaddedBytes:
    case KeyEncoding::kPaddedSimple:
    case KeyEncoding::kPaddedUtf8mb3:
    case KeyEncoding::kPaddedWeights:
      return EncodePadded(part, data, to, scratch, unpack_info);
    case KeyEncoding::kLevels:
      return EncodeLevels(part, data, to, scratch);
    case KeyEncoding::kBlob:
      return WriteBlobLength(data.size(), part.image.length_bytes,
                             WriteBlobPrefix(data, part.length_bytes, to));
  }
  return to + part.key_bytes;
}

uint8_t* EncodeMatchingBytes(const KeyPart& part, std::string_view data, uint8_t* to) {
  if (part.encoding == KeyEncoding::kBlob) {
    to = WriteBlobPrefix(data, part.length_bytes, to);
    // A shorter value matches only itself, so its length is known too.
    return data.size() < part.length_bytes
               ? WriteBlobLength(data.size(), part.image.length_bytes, to)
               : to;
  }
  const Collation::Traits& traits = part.collation->traits();
  const std::string_view indexed = IndexedChars(part, data);
  if (HasUniformWeights(traits)) {
    const size_t bytes = IndexedWeightBytes(part);
    part.collation->WriteWeights(indexed, part.indexed_chars, Collation::Padding::kToEnd, to,
                                 bytes);
    return to + bytes;
  }
  // Several levels: the second level's weights follow all of the first's, of more characters than
  // were indexed. Contractions: the last indexed character may be weighed together with the next.
  if (traits.kind == CollationKind::kMultiLevel ||
      (traits.weight_multiplier > 1 && traits.may_contract)) {
    return to;
  }
  // Characters without weight may stand for trailing spaces, so these are not sure to be shared.
  const size_t bytes = part.collation->WriteWeights(
      indexed, part.max_weights, Collation::Padding::kNone, to, part.weight_capacity);
  return to + TrimmedWeightBytes(to, bytes, traits.space_weight);
}

uint8_t* EncodeUniqueBytes(const KeyPart& part, std::string_view data, uint8_t* to) {
  if (part.encoding == KeyEncoding::kBlob) return EncodeMatchingBytes(part, data, to);
  const Collation::Traits& traits = part.collation->traits();
  if (traits.kind != CollationKind::kMultiLevel && traits.space_weight.size() == 1 &&
      traits.max_char_bytes > 1) {
    // Weights of one or more bytes: count the characters.
    const std::string_view indexed = IndexedChars(part, data);
    size_t bytes = part.collation->WriteWeights(
        indexed, part.max_weights, Collation::Padding::kNone, to, part.weight_capacity);
    const size_t missing = part.indexed_chars - CountChars(*part.collation, indexed);
    const size_t padding = std::min<size_t>(missing, part.weight_capacity - bytes);
    std::memset(to + bytes, traits.space_weight[0], padding);
    return to + bytes + padding;
  }
  EncodePart(part, data, to, nullptr, nullptr);
  return to +
         (traits.kind == CollationKind::kMultiLevel ? part.key_bytes : IndexedWeightBytes(part));
}

Damage ReadNullByte(ByteReader* key, bool* is_null) {
  uint8_t byte;
  if (!key->ReadBigEndian(&byte)) return Damage::kShortKey;
  if (byte > 1) return Damage::kBadNullByte;
  *is_null = byte == 0;
  return Damage::kNone;
}

void ComplementBytes(uint8_t* begin, const uint8_t* end) {
  for (; begin != end; ++begin) *begin = static_cast<uint8_t>(~*begin);
}

namespace {

// Calls `read` with the key's next bytes as an ascending part would have them, and takes off `*key`
// what it takes.
template <typename Read>
Damage ReadDescending(const KeyPart& part, ByteReader* key, Read read) {
  thread_local std::string ascending;  // As long as the longest part so far.
  ascending.assign(key->rest().substr(0, part.max_key_bytes));
  auto* const begin = reinterpret_cast<uint8_t*>(ascending.data());
  ComplementBytes(begin, begin + ascending.size());
  ByteReader reader(ascending);
  CAIRN_RETURN_IF_DAMAGED(read(&reader));
  return key->Skip(ascending.size() - reader.remaining()) ? Damage::kNone : Damage::kShortKey;
}

// The part behind its NULL byte.
Damage SkipValue(const KeyPart& part, ByteReader* key) {
  if (part.key_bytes != 0) return key->Skip(part.key_bytes) ? Damage::kNone : Damage::kShortKey;
  if (part.encoding == KeyEncoding::kLevels) return SkipLevels(part, key);
  if (part.IsVariableSegments()) return SkipVariableSegments(key, part.variable_format);
  return SkipPaddedSegments(key, part.padded_format.payload_bytes);
}

Damage SkipAscending(const KeyPart& part, ByteReader* key) {
  if (part.nullable()) {
    bool is_null;
    CAIRN_RETURN_IF_DAMAGED(ReadNullByte(key, &is_null));
    if (is_null) return Damage::kNone;
  }
  return SkipValue(part, key);
}

Damage SkipAscendingAndInfo(const KeyPart& part, ByteReader* key, ByteReader* unpack_info) {
  if (!part.UsesUnpackInfo()) return SkipAscending(part, key);
  if (part.nullable()) {
    bool is_null;
    CAIRN_RETURN_IF_DAMAGED(ReadNullByte(key, &is_null));
    if (is_null) return Damage::kNone;
  }
  if (part.info.whole) {
    std::string_view data;
    CAIRN_RETURN_IF_DAMAGED(ReadWhole(part, unpack_info, &data));
    return SkipValue(part, key);
  }
  if (part.encoding == KeyEncoding::kCharSimple) {
    std::string_view weights;
    if (!key->ReadBytes(part.key_bytes, &weights)) return Damage::kShortKey;
    return CharacterCodeReader(*part.simple, unpack_info).Skip(weights);
  }
  if (part.HasCodes()) return SkipPaddedAndCodes(part, key, unpack_info);
  if (!unpack_info->Skip(part.info.counter_bytes)) return Damage::kShortUnpackInfo;
  return SkipPaddedSegments(key, part.padded_format.payload_bytes);
}

Damage DecodeAscending(const KeyPart& part, ByteReader* key, ByteReader* unpack_info,
                       uint8_t* record) {
  uint8_t* const image = record + part.image.offset;
  if (part.nullable()) {
    bool is_null;
    CAIRN_RETURN_IF_DAMAGED(ReadNullByte(key, &is_null));
    if (is_null) {
      record[part.null.offset] |= part.null.mask;
      FillNull(part.null.image.get(),
               part.variable_length ? part.image.length_bytes : part.image.bytes, image);
      return Damage::kNone;
    }
    record[part.null.offset] &= static_cast<uint8_t>(~part.null.mask);
  }
  if (part.info.whole) {
    CAIRN_RETURN_IF_DAMAGED(SkipValue(part, key));
    return RestoreWhole(part, unpack_info, image);
  }
  if (part.key_bytes == 0) {
    if (part.encoding != KeyEncoding::kVariableBytes) {
      return DecodePadded(part, key, unpack_info, image);
    }
    size_t size = 0;
    CAIRN_RETURN_IF_DAMAGED(ReadVariableSegments(
        key, part.variable_format, image + part.image.length_bytes, part.capacity, &size));
    StoreImageLength(static_cast<uint32_t>(size), part.image.length_bytes, image);
    return Damage::kNone;
  }
  std::string_view bytes;
  if (!key->ReadBytes(part.key_bytes, &bytes)) return Damage::kShortKey;
  switch (part.encoding) {
    case KeyEncoding::kUnsigned:
      DecodeUnsignedKey(AsBytes(bytes), part.key_bytes, image);
      return Damage::kNone;
    case KeyEncoding::kSigned:
      DecodeSignedKey(AsBytes(bytes), part.key_bytes, image);
      return Damage::kNone;
    case KeyEncoding::kFloat:
      DecodeFloatKey(AsBytes(bytes), image);
      return Damage::kNone;
    case KeyEncoding::kDouble:
      DecodeDoubleKey(AsBytes(bytes), image);
      return Damage::kNone;
    case KeyEncoding::kCharSimple:
      std::memcpy(image, bytes.data(), bytes.size());
      return CharacterCodeReader(*part.simple, unpack_info).Restore(image, bytes.size());
    case KeyEncoding::kCharUtf8mb3: {
      size_t size = 0;
      CAIRN_RETURN_IF_DAMAGED(AppendUtf8mb3(bytes, image, part.image.bytes, &size));
      std::memset(image + size, ' ', part.image.bytes - size);
      return Damage::kNone;
    }
    default:
      CAIRN_ASSERT(part.encoding == KeyEncoding::kCopy ||
                   part.encoding == KeyEncoding::kCopyTopFlipped);
      std::memcpy(image, bytes.data(), bytes.size());
      if (part.encoding == KeyEncoding::kCopyTopFlipped) image[0] ^= 0x80;
      return Damage::kNone;
  }
}

}  // namespace

Damage SkipPart(const KeyPart& part, ByteReader* key) {
  if (!part.descending || part.constant_bytes() != 0) return SkipAscending(part, key);
  return ReadDescending(part, key,
                        [&](ByteReader* ascending) { return SkipAscending(part, ascending); });
}

Damage SkipPartAndInfo(const KeyPart& part, ByteReader* key, ByteReader* unpack_info) {
  if (!part.descending) return SkipAscendingAndInfo(part, key, unpack_info);
  return ReadDescending(part, key, [&](ByteReader* ascending) {
    return SkipAscendingAndInfo(part, ascending, unpack_info);
  });
}

Damage DecodePart(const KeyPart& part, ByteReader* key, ByteReader* unpack_info, uint8_t* record) {
  if (!part.descending) return DecodeAscending(part, key, unpack_info, record);
  return ReadDescending(part, key, [&](ByteReader* ascending) {
    return DecodeAscending(part, ascending, unpack_info, record);
  });
}

}  // namespace cairn
