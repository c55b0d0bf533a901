// One compiled part of a stored key: how a column becomes key bytes and how it comes back
// (docs/stock-format.md, 3 and 4; docs/on-disk-format.md for the Cairn format).
//
// Everything that depends on the column is decided in MakeKeyPart; the functions called for each
// row switch once on the part's encoding.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/bytes.h"
#include "engine/base/status.h"
#include "engine/codec/damage.h"
#include "engine/codec/simple_collation.h"
#include "engine/codec/space_padded_segments.h"
#include "engine/codec/table_layout.h"
#include "engine/codec/variable_segments.h"

namespace cairn {

enum class KeyEncoding : uint8_t {
  kHiddenKey,  // 8 bytes big-endian; no column.
  kUnsigned,   // Image reversed.
  kSigned,     // Image reversed, top bit flipped.
  kFloat,
  kDouble,
  kCopy,             // Image as it is.
  kCopyTopFlipped,   // Image with the top bit of its first byte flipped.
  kCharSimple,       // One weight a byte, codes in unpack_info.
  kCharUtf8mb3,      // Two weight bytes a character.
  kCharWeights,      // Weights padded to their maximal length.
  kVariableBytes,    // VARBINARY: variable segments of the value.
  kVariableWeights,  // Variable segments of a multi-level weight string.
  kPaddedBytes,      // latin1_bin: space-padded segments of the value.
  kPaddedSimple,     // Space-padded segments of one weight a byte, codes in unpack_info.
  kPaddedUtf8mb3,    // Space-padded segments of two weight bytes a character.
  kPaddedWeights,    // Space-padded segments of a weight string.
  kLevels,           // Cairn format: the weights of each level in segments of their own.
  kText,             // A prefix of a TEXT's weights.
  kBlob,             // A prefix of a BLOB's bytes and the length of the whole.
};

struct KeyPart {
  static constexpr uint32_t kNoColumn = UINT32_MAX;
  static constexpr uint32_t kNoPart = UINT32_MAX;

  // What unpack_info has of the part.
  struct Info {
    bool whole = false;         // The column's data, length first.
    uint8_t length_bytes = 0;   // Of that length: 1 or 2.
    uint8_t counter_bytes = 0;  // Of the space counter; 0 when there is none.
  };
  // kLevels.
  struct Levels {
    uint8_t count = 0;
    uint8_t padded = 0;  // Bits of those in space-padded segments; else variable ones.
    std::array<PaddedSegmentFormat, Collation::kMaxLevels> formats;
  };
  // The column in a record.
  struct Image {
    uint32_t offset = 0;
    uint32_t bytes = 0;
    uint8_t length_bytes = 0;  // VARCHAR, BLOB: of the length in front of the data.
  };
  struct Null {
    uint8_t mask = 0;  // 0: no NULL byte.
    uint32_t offset = 0;
    std::shared_ptr<const std::string> image;  // ColumnLayout::null_image.
  };

  KeyEncoding encoding = KeyEncoding::kHiddenKey;
  bool restorable = false;  // The column's full value comes back from this part.
  bool is_prefix = false;
  bool variable_length = false;  // The image in a search key starts with a 2-byte length.
  bool by_pointer = false;       // BLOB, TEXT: the image holds a pointer to the data.
  bool descending = false;       // The part's bytes are complemented.
  // Of a stored suffix: the own part of the index that has the column's values in other bytes.
  uint32_t same_value_as = kNoPart;
  bool cuts_chars = false;  // Only the first indexed_chars characters count.
  bool trims = false;       // kLevels: trailing spaces are dropped first.
  Null null;
  Image image;
  Info info;
  Levels levels;
  SegmentFormat variable_format = SegmentFormat::kCurrent;
  PaddedSegmentFormat padded_format;
  uint32_t column = kNoColumn;
  uint32_t capacity = 0;         // VARCHAR: the most data bytes that fit the column.
  uint32_t length_bytes = 0;     // Bytes of the column that are indexed.
  uint32_t indexed_chars = 0;    // The same in characters.
  uint32_t max_weights = 0;      // Weights allowed in the weight string.
  uint32_t weight_capacity = 0;  // Bytes allowed in the weight string.
  uint32_t key_bytes = 0;        // Without NULL byte, when always the same; else 0.
  uint32_t max_key_bytes = 0;    // With NULL byte.
  const Collation* collation = nullptr;
  std::shared_ptr<const SimpleCollation> simple;

  bool nullable() const { return null.mask != 0; }
  // Bytes that are the same for every entry, NULL byte included; 0 when they vary.
  uint32_t constant_bytes() const { return nullable() ? 0 : key_bytes; }
  bool IsNull(const uint8_t* record) const { return (record[null.offset] & null.mask) != 0; }
  bool PadsLevel(uint32_t level) const { return (levels.padded >> level & 1) != 0; }
  bool HasCodes() const {
    return restorable && !info.whole &&
           (encoding == KeyEncoding::kCharSimple || encoding == KeyEncoding::kPaddedSimple);
  }
  bool IsVariableSegments() const {
    return encoding == KeyEncoding::kVariableBytes || encoding == KeyEncoding::kVariableWeights;
  }
  bool UsesUnpackInfo() const { return info.counter_bytes != 0 || info.whole || HasCodes(); }
  // Whether a key of the first length_bytes bytes or indexed_chars characters does not determine
  // this part's bytes, so that neither a search key nor a unique value can be continued after it.
  bool EndsMatch() const;
  // Bytes of the part in a search key.
  uint32_t SearchBytes() const {
    return (nullable() ? 1 : 0) + (variable_length ? 2 : 0) + length_bytes;
  }
};

// Compiles the part in a kv format. Errors: kInvalidArgument, with the column named.
Result<KeyPart> MakeKeyPart(const TableLayout& table, const KeyPartLayout& layout,
                            uint16_t format_version);
// Lets a part of the stock format that holds a whole column give it back in an index of the Cairn
// format: by the key's bytes where they suffice, else by the column's data in unpack_info.
void MakeRestorable(const ColumnLayout& column, KeyPart* part);
KeyPart MakeHiddenKeyPart();

// The column's data in a record: the image, or what its length bytes announce.
std::string_view DataInRecord(const KeyPart& part, const uint8_t* record);
// Whether the column is NULL in one record only, or its data differ.
bool DataDiffer(const KeyPart& part, const uint8_t* record, const uint8_t* other_record);

// --- Writing. `to` has room for max_key_bytes, `scratch` for weight_capacity. All return the end.
// Nothing here is complemented for descending parts: ComplementBytes() does that to the finished
// part.

// Writes the part, without NULL byte, and appends what unpack_info needs unless `unpack_info` is
// null.
uint8_t* EncodePart(const KeyPart& part, std::string_view data, uint8_t* to, uint8_t* scratch,
                    std::string* unpack_info);

// For a part that EndsMatch(): writes the bytes that are common to the parts of all values whose
// indexed characters or bytes equal `data` (its first indexed characters or bytes at least).
uint8_t* EncodeMatchingBytes(const KeyPart& part, std::string_view data, uint8_t* to);

// For a part that EndsMatch(): writes the bytes in which two values must agree to be the same to a
// UNIQUE index. `data` is the whole value.
uint8_t* EncodeUniqueBytes(const KeyPart& part, std::string_view data, uint8_t* to);

// Turns the bytes of an ascending part, NULL byte included, into those of a descending one, and
// back.
void ComplementBytes(uint8_t* begin, const uint8_t* end);

// --- Reading. A failed read may have consumed bytes.

// Takes the NULL byte of a nullable part off `*key`.
Damage ReadNullByte(ByteReader* key, bool* is_null);

// Takes the part off `*key`, NULL byte included.
Damage SkipPart(const KeyPart& part, ByteReader* key);

// The same, and takes its data off `*unpack_info`.
Damage SkipPartAndInfo(const KeyPart& part, ByteReader* key, ByteReader* unpack_info);

// Takes the restorable part off both and fills the column's image and NULL bit.
Damage DecodePart(const KeyPart& part, ByteReader* key, ByteReader* unpack_info, uint8_t* record);

}  // namespace cairn
