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
#include "engine/codec/column_set.h"
#include "engine/codec/damage.h"
#include "engine/codec/layout_history.h"
#include "engine/codec/table_layout.h"

namespace cairn {

class RowVersions;

// One stored column, or a run of NOT NULL columns of fixed size.
struct ColumnStep {
  enum class Kind : uint8_t {
    kFixed,
    kTrimmedChar,  // The record has it filled up with spaces, the value as a VARCHAR.
    kVarchar,
    kBlob,
    kZeros,  // Writing: what stands for base columns that no longer live.
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

// How a row has a stored column, and which columns are stored. `in_key`, `trims_chars`: as for
// RowCodec.
ColumnShape ShapeOf(const ColumnLayout& column, bool is_in_key, bool trims_chars);
std::vector<StoredColumn> StoredColumnsOf(const TableLayout& table, const ColumnSet& in_key,
                                          bool trims_chars);

// The value that `record` has in a column, as one that a column is added with. Errors:
// kNotSupported when it is larger than LayoutHistory::kMostAbsentBytes.
Result<AbsentImage> AbsentImageOf(const ColumnLayout& column, bool trims_chars,
                                  const uint8_t* record);

class RowCodec {
 public:
  RowCodec() = default;
  // `in_key`: the columns that the key restores, which the row leaves out. It leaves out virtual
  // ones too. `trims_chars`: IndexLayout::trims_chars. `history`: IndexLayout::history, which fits
  // the table; with one, what is said of columns here is said of those of the base.
  RowCodec(const TableLayout& table, const ColumnSet& in_key, bool trims_chars,
           std::shared_ptr<const LayoutHistory> history);

  size_t null_bytes() const { return null_bits_.size(); }
  // Whether rows may have several layouts, so that those of the same values may differ in length.
  bool has_history() const { return versions_ != nullptr; }
  // Null without a history.
  const RowVersions* versions() const { return versions_.get(); }

  // Appends the NULL bits, then (after what the caller appends in between) the columns, and the
  // extension of the current version.
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
  static constexpr uint32_t kNoColumn = UINT32_MAX;

  void AddHistory(const TableLayout& table, std::shared_ptr<const LayoutHistory> history);
  // `number`: its position in the table; kNoColumn: it no longer lives.
  void AddColumn(ColumnStep step, const ColumnShape& shape, uint32_t number);

  std::vector<ColumnStep> columns_;       // One for each stored column.
  std::vector<uint32_t> column_numbers_;  // Of each of them.
  std::vector<ColumnStep> write_steps_;   // Runs merged.
  std::vector<ColumnStep> null_columns_;  // One for each nullable column of the table.
  std::vector<std::shared_ptr<const std::string>> null_images_;  // That steps point to.
  std::string null_bits_;  // Of a row in which no column of the table is NULL.
  size_t null_count_ = 0;
  std::shared_ptr<const RowVersions> versions_;
};

// How a row has a column of this shape, without its place in the record.
ColumnStep StepOf(const ColumnShape& shape);
// Where the record has it.
void PlaceInRecord(const ColumnLayout& column, ColumnStep* step);
// Appends the step or, when both are NOT NULL images that lie side by side, extends the last one.
void AppendStep(const ColumnStep& step, std::vector<ColumnStep>* steps);
inline bool IsNullInRecord(const ColumnStep& step, const uint8_t* record) {
  return step.record_null_mask != 0 &&
         (record[step.record_null_offset] & step.record_null_mask) != 0;
}

// Appends the images of the columns that are not NULL. None is of the kind kZeros.
void AppendImages(const std::vector<ColumnStep>& steps, const uint8_t* record, std::string* value);

// Takes the columns of `steps` off `*value` and fills the wanted ones. `null_bits`: the value's.
// BLOB images point into `*value`.
Damage DecodeColumns(const std::vector<ColumnStep>& steps, std::string_view null_bits,
                     ByteReader* value, uint8_t* record);

// Empties the images of the wanted BLOBs, so that none keeps a pointer to an earlier row.
void ClearBlobs(const std::vector<ColumnStep>& steps, uint8_t* record);

}  // namespace cairn
