// Records of the data dictionary in the column family `__system__` (docs/stock-format.md, 11 and
// 12).
//
// Pure bytes: reading and writing them to RocksDB is catalog/'s business. Every Decode checks
// length and version and answers kCorruption or kNotSupported with what it found and what it knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/format_version.h"
#include "engine/codec/table_layout.h"

namespace cairn {

enum class DictionaryRecordType : uint32_t {  // Persisted: first 4 bytes of the key.
  kTable = 1,
  kIndex = 2,
  kColumnFamily = 3,
  kBinlogPosition = 4,
  kIndexDropOngoing = 5,
  kIndexStatistics = 6,
  kMaxIndexNumber = 7,
  kIndexCreateOngoing = 8,
  kAutoIncrement = 9,
  kTableVersion = 20,
  kDirectoryFormat = 0x43,  // Ours; the stock plug-in ignores it.
  kPreparedLocks = 0x44,    // Ours; only ever in the log.
  kLayoutHistory = 0x45,    // Ours, of a primary key (layout_history_record.h).
  kForeignKey = 0x46,       // Ours (foreign_key_record.h).
  kDefinitionMark = 0x47,   // Ours, of a table (definition_copy_record.h).
  kDefinitionCopy = 0x48,   // The same.
  kCollation = 0x49,        // Ours, of a collation (collation_record.h).
};

inline constexpr uint32_t kFirstUserIndexNumber = 256;  // Persisted.

// Identifies an index in the dictionary. Ordered as the keys are.
struct IndexId {
  uint32_t column_family = 0;
  uint32_t index_number = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the zero that the compiler adds for a pointer.
  auto operator<=>(const IndexId&) const = default;
};

// Flags of a column family definition (section 11.3). Persisted.
inline constexpr uint32_t kColumnFamilyReverse = 1;
inline constexpr uint32_t kColumnFamilyAuto = 2;  // Obsolete.
inline constexpr uint32_t kColumnFamilyPerPartition = 4;

// What an index of the Cairn format needs that the stock format cannot express; bits of a set.
// Persisted. A primary key carries the features of the table as a whole.
enum IndexFeature : uint32_t {
  kFeatureRestorableKey = 1,   // A part whose value the stock format cannot give back from the key.
  kFeatureNoPadCollation = 2,  // A collation for which trailing spaces count.
  kFeatureExactOrder = 4,      // A collation or prefix whose weights the stock format cuts short.
  kFeatureDescendingPart = 8,  // A descending key part.
  kFeatureGeneratedColumn = 16,     // A generated column; virtual ones are not stored in the row.
  kFeatureSequence = 32,            // The table is a SEQUENCE.
  kFeatureGeometry = 64,            // A GEOMETRY column, stored as a BLOB.
  kFeatureTrimmedChar = 128,        // CHAR columns lie in the row without trailing spaces.
  kFeatureRowLayouts = 256,         // Rows have several layouts: there is a LayoutHistory.
  kFeatureForeignKeyChild = 512,    // The table has a foreign key.
  kFeatureForeignKeyParent = 1024,  // A foreign key references the table.
};
inline constexpr uint32_t kKnownIndexFeatures = 2047;
// They keep others from changing a table behind its foreign keys, and say nothing of its entries.
inline constexpr uint32_t kForeignKeyGuards = kFeatureForeignKeyChild | kFeatureForeignKeyParent;
// Those that came to a table after it was made, and leave its keys as they are: a primary key of
// the stock format may have them. The version of its record then keeps other readers away.
inline constexpr uint32_t kAddedFeatures =
    kFeatureGeneratedColumn | kFeatureRowLayouts | kForeignKeyGuards;

struct IndexInfo {  // Type 2.
  IndexKind kind = IndexKind::kPrimary;
  uint16_t format_version = kStockFormatVersion;
  bool has_ttl_stamp = false;
  uint64_t ttl_seconds = 0;
  // IndexFeature bits; without kCairnFormatVersion only kAddedFeatures of a primary key.
  uint32_t features = 0;
  bool operator==(const IndexInfo&) const = default;
};

// Which formats new tables of a directory may use (type 0x43; docs/on-disk-format.md). Persisted.
enum class DirectoryFormat : uint16_t {
  kStock = 1,  // The stock plug-in can open the directory.
  kCairn = 2,  // New indexes may need the Cairn format.
};

// Keys.
std::string DictionaryPrefix(DictionaryRecordType type);
std::string TableKey(std::string_view table_name);            // "db.table", file-name encoded
std::string IndexKey(DictionaryRecordType type, IndexId id);  // types 2, 5, 6, 8, 9, 0x45
std::string ColumnFamilyKey(uint32_t column_family);
std::string MaxIndexNumberKey();
std::string DirectoryFormatKey();
std::string TableVersionKey(std::string_view path);  // "./db/table"

Result<std::string> DecodeTableKey(std::string_view key);  // kCorruption: empty name, other type
Result<IndexId> DecodeIndexKey(DictionaryRecordType type, std::string_view key);
Result<uint32_t> DecodeColumnFamilyKey(std::string_view key);

// Values.
std::string EncodeTable(const std::vector<IndexId>& indexes);
Result<std::vector<IndexId>> DecodeTable(std::string_view value);
std::string EncodeIndexInfo(const IndexInfo& info);  // Version 6; with features 0x4301 or 0x4302.
Result<IndexInfo> DecodeIndexInfo(std::string_view value);  // Versions 3 to 6, 0x4301, 0x4302.
std::string EncodeColumnFamily(uint32_t flags);
Result<uint32_t> DecodeColumnFamily(std::string_view value);
std::string EncodeMaxIndexNumber(uint32_t number);
Result<uint32_t> DecodeMaxIndexNumber(std::string_view value);
std::string EncodeOngoingMark();  // Types 5 and 8: version 1.
Status DecodeOngoingMark(std::string_view value);
std::string EncodeAutoIncrement(uint64_t next_value);
Result<uint64_t> DecodeAutoIncrement(std::string_view value);
std::string EncodeTableVersion(uint64_t version);
Result<uint64_t> DecodeTableVersion(std::string_view value);
std::string EncodeDirectoryFormat(DirectoryFormat format);
Result<DirectoryFormat> DecodeDirectoryFormat(std::string_view value);

// The merge operator's arithmetic: whether `key` may be merged (type 9, 12 bytes), and the larger
// of two type-9 values. Errors: kCorruption for any other length or version.
bool IsMergeableKey(std::string_view key);
Result<std::string> MergeAutoIncrement(std::string_view left, std::string_view right);

}  // namespace cairn
