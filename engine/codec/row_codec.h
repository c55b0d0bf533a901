// The columns of a row in a primary key's value: NULL bits and column images
// (docs/stock-format.md, 5, parts 2 and 4; docs/on-disk-format.md, Rows).
//
// The stored columns are compiled into a flat array of steps, in which neighbouring NOT NULL
// columns of fixed size are one copy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/damage.h"
#include "engine/codec/table_layout.h"

namespace cairn {

// One stored column, or a run of NOT NULL columns of fixed size.
struct ColumnStep {
  enum class Kind : uint8_t {
    kFixed,
    kTrimmedChar,  // The record has it filled up with spaces, the value as a VARCHAR.
    kVarchar,
    kBlob,
  };
  enum class Use : uint8_t { kFill, kPass };

  Kind kind = Kind::kFixed;
  Use use = Use::kFill;          // Reading: whether the column is wanted.
  uint8_t length_bytes = 0;      // In the value; all kinds but kFixed.
  uint8_t record_null_mask = 0;  // 0: NOT NULL.
  uint8_t value_null_mask = 0;   // 0: NOT NULL.
  uint32_t record_null_offset = 0;
  uint32_t value_null_offset = 0;
  uint32_t image_offset = 0;
  uint32_t image_bytes = 0;                 // kFixed: of the run.
  uint32_t capacity = 0;                    // kTrimmedChar, kVarchar: the most data bytes.
  const std::string* null_image = nullptr;  // ColumnLayout::null_image.
};

// Whether a row with IndexLayout::trims_chars has this column without its trailing spaces: CHAR of
// a character set in which a character may take several bytes, so that the image is larger than the
// text, or of more than 32 bytes. Not where a space itself takes several bytes. Persisted, with
// kFeatureTrimmedChar.
bool TrimsInRow(const ColumnLayout& column);

class RowCodec {
 public:
  RowCodec() = default;
  // `in_key`: the columns that the key restores, which the row leaves out. It leaves out virtual
  // ones too. `trims_chars`: IndexLayout::trims_chars.
  RowCodec(const TableLayout& table, const ColumnSet& in_key, bool trims_chars);

  size_t null_bytes() const { return null_bytes_; }
  bool Stores(uint32_t column) const { return stored_[column]; }

  // Appends the NULL bits, then (after what the caller appends in between) the columns.
  void AppendNullBits(const uint8_t* record, std::string* value) const;
  void AppendColumns(const uint8_t* record, std::string* value) const;

  enum class Extent : uint8_t {
    kToLastWanted,
    kWhole,
  };
  // The steps that fill the stored columns among `wanted`.
  std::vector<ColumnStep> CompileSteps(const ColumnSet& wanted, Extent extent) const;

  // Whether only bits of nullable columns are set in `null_bits` (null_bytes() bytes).
  bool NullBitsAreValid(std::string_view null_bits) const;

 private:
  std::vector<ColumnStep> columns_;       // One for each stored column.
  std::vector<uint32_t> column_numbers_;  // Of each of them.
  std::vector<ColumnStep> write_steps_;   // Runs merged.
  std::vector<ColumnStep> null_columns_;  // One for each nullable column of the table.
  std::vector<std::shared_ptr<const std::string>> null_images_;  // That steps point to.
  ColumnSet stored_;
  size_t null_bytes_ = 0;
};

// Takes the columns of `steps` off `*value` and fills the wanted ones. `null_bits`: the value's.
// BLOB images point into `*value`.
Damage DecodeColumns(const std::vector<ColumnStep>& steps, std::string_view null_bits,
                     ByteReader* value, uint8_t* record);

// Empties the images of the wanted BLOBs, so that none keeps a pointer to an earlier row.
void ClearBlobs(const std::vector<ColumnStep>& steps, uint8_t* record);

}  // namespace cairn
