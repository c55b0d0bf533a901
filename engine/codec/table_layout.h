// Where the columns of a table lie in the server's record image, and which columns its indexes
// have.
//
// The adapter fills a TableLayout once when a table is opened or created; everything in the codec
// is compiled from it. A record image is the server's row buffer: NULL bits and column images at
// fixed offsets, little-endian numbers, BLOBs as length and pointer.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/codec/collation.h"

namespace cairn {

class LayoutHistory;

// Persisted: their numbers, in histories of row layouts.
enum class ColumnType : uint8_t {
  kSignedInteger,    // 1, 2, 3, 4 or 8 bytes, little-endian
  kUnsignedInteger,  // the same, unsigned
  kFloat,            // IEEE, little-endian, 4 bytes
  kDouble,           // IEEE, little-endian, 8 bytes
  kFixedImage,    // DECIMAL, YEAR, TIME/DATETIME/TIMESTAMP of the mysql56 format: image is the key
  kDate,          // 3 bytes little-endian, unsigned; the key is the image reversed
  kOldTimestamp,  // TIMESTAMP(0), DATETIME(0) of the old format: image reversed; not restorable
  kOldTime,       // TIME(0) of the old format: 3 bytes signed, reversed; not restorable
  kOldTimeFraction,  // TIME(f>0) of the old format: top bit of byte 0 flipped; not restorable
  kOpaqueFixed,  // BIT (big-endian), UUID, INET4/6, old DATETIME(f), TIMESTAMP(f): the image is the
                 // key; not restorable
  kEnum,         // ENUM and SET: 1, 2, 3, 4 or 8 bytes little-endian; not restorable
  kChar,         // CHAR, BINARY: the full padded field
  kVarchar,      // VARCHAR, VARBINARY: length in 1 or 2 bytes, then data
  kBlob,         // BLOB and TEXT kinds, JSON: length in 1..4 bytes, then a pointer to the data
};

struct ColumnLayout {
  std::string name;
  ColumnType type = ColumnType::kSignedInteger;
  uint32_t offset = 0;        // Of the image in the record.
  uint32_t image_bytes = 0;   // Of the image in the record, length bytes and BLOB pointer included.
  uint32_t length_bytes = 0;  // kVarchar: 1 or 2; kBlob: 1 to 4; else 0.
  uint32_t max_bytes = 0;  // kChar, kVarchar: the most data bytes (declared characters x mbmaxlen).
  uint32_t null_offset = 0;  // Byte of the record that holds the NULL bit.
  uint8_t null_mask = 0;     // Its bit; 0 for a NOT NULL column. A set bit means NULL.
  // kChar, kVarchar, kBlob; null for other types. COMPRESSED columns are kVarchar/kBlob as well:
  // their image is stored as it is, and the server never indexes them.
  const Collation* collation = nullptr;
  // A virtual generated column: never stored in the row, but key parts may have it.
  bool is_virtual = false;
  // What the image's first bytes are in a record where the column is NULL, as the server compares
  // records with the bytes behind NULLs: at most image_bytes; null: zeros. BLOBs have zeros.
  std::shared_ptr<const std::string> null_image;

  bool nullable() const { return null_mask != 0; }
};

// One column of an index.
struct KeyPartLayout {
  uint32_t column = 0;  // Position in TableLayout::columns.
  uint32_t length_bytes =
      0;  // Bytes of the column that are indexed, before weights (server's length).
  bool is_prefix = false;   // The part covers only a proper prefix of the column. BLOBs always do.
  bool descending = false;  // Only in the Cairn format.
};

enum class IndexKind : uint8_t {  // Persisted: index type of a type-2 record.
  kPrimary = 1,
  kSecondary = 2,
  kHiddenPrimary = 3,
};

struct IndexLayout {
  std::string name;
  IndexKind kind = IndexKind::kPrimary;
  bool unique = false;           // Primary keys and UNIQUE secondary indexes.
  uint32_t index_number = 0;     // Persisted, first 4 bytes of every key.
  uint16_t format_version = 13;  // kv format version (format_version.h).
  bool has_ttl_stamp = false;    // Values start with an 8-byte stamp.
  // Primary keys: rows have CHAR columns without trailing spaces (TrimsInRow).
  bool trims_chars = false;
  // Primary keys: the layouts that rows have had, where there are several. Null: rows have that of
  // the table, and no version.
  std::shared_ptr<const LayoutHistory> history;
  std::vector<KeyPartLayout> parts;  // Own parts only: no primary key suffix. Empty when hidden.
};

// The columns that say when a row was valid, in a table WITH SYSTEM VERSIONING. Both are
// kFixedImage, so that later times have larger images.
struct ValidityColumns {
  uint32_t start = 0;  // Positions in TableLayout::columns.
  uint32_t end = 0;
  uint32_t end_offset = 0;      // Of the image of the end in the record.
  std::string never;            // What that is in a row that is valid; empty: not known.
  std::vector<bool> unwatched;  // By column: changes of it alone leave no row of the past.

  // Whether the record is that of a row which is no longer valid, and stands for what was.
  bool IsPast(const uint8_t* record) const {
    return std::memcmp(record + end_offset, never.data(), never.size()) != 0;
  }
};

struct TableLayout {
  std::string name;  // "db.table", for messages.
  std::vector<ColumnLayout> columns;
  uint32_t record_bytes = 0;
  uint32_t null_bytes = 0;  // The record starts with this many bytes of NULL bits.
  // The BIGINT UNSIGNED NOT NULL column that holds a row's TTL stamp; none: the time of its insert.
  std::optional<uint32_t> ttl_column;
  // Null: rows have no versions.
  std::shared_ptr<const ValidityColumns> validity;

  bool IsPast(const uint8_t* record) const {
    return validity != nullptr && validity->IsPast(record);
  }
};

}  // namespace cairn
