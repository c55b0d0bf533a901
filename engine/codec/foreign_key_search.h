// Where rows of one table lie that have the value which a record of another has in the columns of a
// foreign key: from a child to its parent's index, and the other way round.
//
// What is found are *candidates*: entries that start with a prefix. It is the same prefix for every
// value that is equal by the collation (foreign_key_value.h says what that is), so that none is
// missed, whatever the formats, directions, lengths and column types of the two sides. Where other
// values or rows of the past share it, `is_exact()` is false and the caller compares candidates
// (HaveEqualValues).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/foreign_key_value.h"
#include "engine/codec/key_part.h"
#include "engine/codec/table_layout.h"

namespace cairn {

// Whether the stored keys of an index start with these whole columns, in this order: its own parts,
// then the columns of the primary key that it lacks. Directions do not matter.
bool IndexStartsWith(const IndexLayout& primary, const IndexLayout& index,
                     const std::vector<uint32_t>& columns);

// Immutable once made: any number of threads may use it. Borrows the collations only.
class ForeignKeySearch {
 public:
  // One side: a table and the positions of the foreign key's columns in it. Borrowed for the call.
  struct Side {
    const TableLayout& table;
    const std::vector<uint32_t>& columns;
  };

  // Searches `index` of `to` for values of records of `from`. The types of the columns fit
  // (table/foreign_key_binding.h). `primary`: of the table `to`. Errors: kInvalidArgument (the
  // index does not start with the columns, types that do not fit, those of MakeKeyPart).
  static Result<ForeignKeySearch> Make(const Side& from, const Side& to, const IndexLayout& primary,
                                       const IndexLayout& index);

  // Replaces `*prefix` by the bytes, index number first, that the entries of all rows start with
  // which have the value of `record`, no column of which is NULL there. False: no row can have it,
  // as it does not fit its columns; `*prefix` is then unspecified.
  bool EncodePrefix(const uint8_t* record, std::string* prefix) const;

  // Whether every entry that starts with the prefix has the value, and is of no row of the past.
  bool is_exact() const { return exact_; }
  // Whether the prefix covers the value's every column. If not, it ends before a column whose index
  // entries differ for equal values, and candidates may be many: all of the index for a foreign key
  // of one such column. These are: in the stock format, columns of several weight levels and of
  // tis620_thai_ci; in the Cairn format, CHARs of tis620_thai_ci, and of NO PAD collations where
  // characters have no weight or several, or a space several bytes.
  bool covers_value() const { return covers_; }
  // Whether the prefix is what a TableWriter locks to insert a row with the value: the whole
  // primary key, or the value of a unique index. Who waits for its lock has waited for an insert.
  bool is_unique_value() const { return unique_; }
  // Whether an entry of the index is the prefix itself (a primary key): one Get finds it.
  bool is_whole_key() const { return whole_key_; }

 private:
  // What a value must be to fit the column it is searched in.
  enum class Fit : uint8_t {
    kImage,          // Types of one size.
    kSameBytes,      // BINARY: of exactly this size.
    kAtMostBytes,    // Bytes that compare as they are: no more than the column has.
    kAtMostWeights,  // One weight a character: what is longer must weigh as spaces.
    kAny,            // The number of weights tells nothing of the number of characters.
  };
  struct Part {
    KeyPart part;
    size_t position = 0;  // In the foreign key.
    Fit fit = Fit::kImage;
    bool trims = false;           // Spaces at the end do not count.
    bool fills_up = false;        // With spaces, to the column's size, before it is encoded.
    bool refuses_spaces = false;  // A value that ends in a space has no equal there.
    bool widens = false;          // Encodes longer values than the column has.
    bool covers = true;           // Else the prefix ends before the part.
    bool exact = true;
  };

  ForeignKeySearch() = default;
  static Result<Part> MakePart(const Side& from, const Side& to, const KeyPart& stored,
                               size_t position);
  static void ChooseString(const ColumnLayout& column, Part* part);
  static void ChooseWeights(const ColumnLayout& column, Part* part);
  bool FitValue(const Part& part, std::string_view data, std::string* buffer,
                std::string_view* fitted) const;
  bool RestWeighsAsSpaces(const Part& part, std::string_view data, size_t kept) const;
  uint8_t* WriteParts(const uint8_t* record, uint8_t* to, bool* fits) const;
  void LeavePastOut(const TableLayout& table, const IndexLayout& index, size_t value_parts,
                    const std::vector<KeyPart>& stored);

  ForeignKeyColumns from_;
  std::vector<Part> parts_;
  std::string valid_end_;  // Behind them, what the entries of valid rows go on with; may be empty.
  uint32_t index_number_ = 0;
  size_t max_bytes_ = 0;
  size_t scratch_bytes_ = 0;
  bool exact_ = true;
  bool covers_ = true;
  bool unique_ = false;
  bool whole_key_ = false;
};

}  // namespace cairn
