// The layouts that the rows of a table have had since they were last written as a whole
// (docs/on-disk-format.md, Rows of several layouts).
//
// *Logical* columns are the stored ones of the table as it is. *Physical* columns are whatever rows
// may hold bytes of: each has a number, a shape, and the layout versions in which it lives. Every
// logical column stands for one physical column of the current version, which may have a
// predecessor: the one that held its value before its type or nullability changed. A row tells the
// version that it was written in; what a logical column has there follows from the history alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/table_layout.h"

namespace cairn {

// What the bytes of a column in a row depend on.
struct ColumnShape {
  ColumnType type = ColumnType::kSignedInteger;
  uint8_t length_bytes = 0;  // Of the length in the row; 0: the size is fixed.
  uint32_t image_bytes = 0;  // ColumnLayout::image_bytes.
  uint32_t max_bytes = 0;    // kChar, kVarchar: the most data bytes; else 0.
  bool is_nullable = false;
  bool is_trimmed = false;  // kChar: stored without trailing spaces (TrimsInRow).
  bool is_in_key = false;   // The primary key restores it: the row does not hold it.
  uint16_t collation = 0;   // The server's number; 0: the type has none.
  bool operator==(const ColumnShape&) const = default;
};

// A stored column of a table, as IndexCodec::DescribeRow tells.
struct StoredColumn {
  ColumnShape shape;
  uint32_t space_bytes = 1;  // Of a space in its character set.
};

// The value that a column has in rows written before it was added.
struct AbsentImage {
  enum class Kind : uint8_t {  // Persisted.
    kNone = 0,                 // No row lacks the column, or its predecessor has the value.
    kNull = 1,
    kBytes = 2,
  };
  Kind kind = Kind::kNone;
  std::string bytes;  // kBytes: as a row holds them, a length in front included.
  bool operator==(const AbsentImage&) const = default;
};

struct PhysicalColumn {
  enum class Place : uint8_t {  // Persisted.
    kBase = 0,                  // Of version 0: where rows without versions have it.
    kExtension = 1,
  };
  Place place = Place::kBase;
  uint16_t added_in = 0;
  uint16_t dropped_in = 0;   // 0: it lives.
  uint32_t predecessor = 0;  // A number; 0: none.
  ColumnShape shape{};
  AbsentImage absent{};

  bool LivesIn(uint16_t version) const {
    return added_in <= version && (dropped_in == 0 || version < dropped_in);
  }
  bool operator==(const PhysicalColumn&) const = default;
};

// Where a column of the next layout comes from.
struct ColumnOrigin {
  std::optional<uint32_t> from;  // A logical column of the present layout; nothing: it is added.
  AbsentImage absent{};          // Of one that is added.
};

// Immutable.
class LayoutHistory {
 public:
  static constexpr uint16_t kLastVersion = UINT16_MAX;
  static constexpr size_t kMostColumns = 2000;  // Physical ones.
  // What kNotSupported says of one more.
  static constexpr char kTooMany[] = "The row layout has too many versions";
  static constexpr size_t kMostAbsentBytes = 4096;    // Of an AbsentImage.
  static constexpr uint32_t kMostImageBytes = 65537;  // Of one column: a VARCHAR's, with length.

  // Of a table whose rows have one layout so far, which becomes version 0. Errors: kNotSupported
  // (too many columns).
  static Result<LayoutHistory> Begin(const std::vector<StoredColumn>& row);

  // Of what a record tells: `columns` by number, from 1 on, `logical` the number of each stored
  // column. Errors: kInvalidArgument, with what is wrong.
  static Result<LayoutHistory> Make(uint16_t version, std::vector<PhysicalColumn> columns,
                                    std::vector<uint32_t> logical);

  // That of the table whose rows shall be `row` from now on; `origins` tells where each of these
  // columns comes from. Present columns that none comes from are dropped. A column may become
  // nullable or NOT NULL, and its type be changed where every value stays what it is: a wider
  // integer, ENUM or SET, a longer CHAR or VARCHAR, a BLOB with a longer length, another collation.
  // The caller answers for what the shapes do not show: that the old bytes mean the same in the new
  // character set, that the members of an ENUM stay in place, that a type of 4 bytes is no date,
  // that no row has NULL in a column that becomes NOT NULL (one that has it is damaged then).
  // The version rises by one, but not if rows keep their bytes (another order, a longer VARCHAR).
  // Errors: kNotSupported (a change that old rows cannot follow, a column of the primary key, the
  // limits), kInvalidArgument (origins that make no sense, an absent image that is no value of its
  // column).
  Result<LayoutHistory> Next(const std::vector<StoredColumn>& row,
                             const std::vector<ColumnOrigin>& origins) const;

  // Whether the stored columns of the table are the logical ones. Errors: kMetadataMismatch, with
  // the first column that is not.
  Status CheckFits(const std::vector<StoredColumn>& row) const;

  uint16_t version() const { return version_; }
  const std::vector<PhysicalColumn>& columns() const { return columns_; }
  const PhysicalColumn& column(uint32_t number) const { return columns_[number - 1]; }
  // The physical column of each stored column, by number.
  const std::vector<uint32_t>& logical() const { return logical_; }

  // The physical column that has the value of a logical one in rows of a version; or, if it does
  // not live there, the one whose absent image is the value. Rows without extension count as
  // version 0.
  uint32_t Find(uint32_t logical, uint16_t version) const;

  bool operator==(const LayoutHistory&) const = default;

 private:
  LayoutHistory() = default;

  uint16_t version_ = 0;
  std::vector<PhysicalColumn> columns_;  // By number, which counts from 1.
  std::vector<uint32_t> logical_;
};

// Whether the column is of a BINARY or BLOB kind: its characters are bytes, its padding zeros.
bool IsBinary(const ColumnShape& shape);

}  // namespace cairn
