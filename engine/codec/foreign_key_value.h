// The value that a record has in the columns of a foreign key: what two tables compare.
//
// Child and parent may hold one value in different bytes: CHAR here and VARCHAR there, other
// lengths, other letters that the collation takes as equal. The *canonical bytes* of a value are
// the same exactly where the values are equal: for strings these are the key bytes that a VARCHAR
// of the collation has in the Cairn format, whatever format any index has. Equality is that of SQL:
//
// - numbers, DECIMAL, BIT, ENUM, SET and temporal types are equal if their images are; -0.0 is 0.0;
// - the value of a CHAR has no trailing spaces, also in NO PAD collations, where a VARCHAR with
//   trailing spaces therefore equals no CHAR (InnoDB compares the filled field there, so that CHARs
//   of different length never meet);
// - BINARY and VARBINARY are equal byte by byte: nothing is filled up, zeros count (as in InnoDB).
//
// Immutable once made: any number of threads may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/key_part.h"
#include "engine/codec/table_layout.h"

namespace cairn {

class ForeignKeyColumns {
 public:
  // `columns`: positions in table.columns, in the foreign key's order. Copies what it needs of the
  // layout; borrows the collations. Errors: kInvalidArgument (no such column, a BLOB or TEXT, a
  // virtual column, a layout that MakeKeyPart refuses).
  static Result<ForeignKeyColumns> Make(const TableLayout& table,
                                        const std::vector<uint32_t>& columns);

  size_t size() const { return columns_.size(); }
  // Whether rows of the table have versions.
  bool has_versions() const { return validity_ != nullptr; }

  // Whether a row refers to nothing, and nothing to it: a column is NULL (MATCH SIMPLE), or the row
  // is one of the past (ValidityColumns).
  bool HasNull(const uint8_t* record) const;

  // Whether a column is NULL in one record only or has other bytes, even if these are an equal
  // value, or one record alone is of the past: what decides if an update concerns the foreign key.
  // What lies behind a NULL, or behind the end of a VARCHAR, does not count.
  bool BytesDiffer(const uint8_t* old_record, const uint8_t* new_record) const;

  // Replaces `*bytes` by the canonical bytes of all columns, each behind its length (4 bytes,
  // big-endian). No column may be NULL.
  void WriteCanonical(const uint8_t* record, std::string* bytes) const;

  // Equal for equal values. No column may be NULL. Persisted: docs/on-disk-format.md, Values of
  // foreign keys.
  uint64_t Hash(const uint8_t* record) const;

  // The bytes that count of the column at `position` (0 .. size()-1): the image, of a VARCHAR its
  // data, of a CHAR its data without trailing spaces. Points into the record.
  std::string_view Data(size_t position, const uint8_t* record) const;

  // Gives the columns of `record` the values that those of `from`, which are as many and of types
  // that fit (table/foreign_key_binding.h), have in another record. A CHAR is filled up with
  // spaces. False: a column is too short for its value, or takes no NULL; `record` is then
  // unspecified there.
  bool Assign(const ForeignKeyColumns& from, const uint8_t* from_record, uint8_t* record) const;
  // Makes them NULL in `record`. False: one takes no NULL.
  bool SetNull(uint8_t* record) const;

  // The same as WriteCanonical for one value: appends the canonical bytes of `data`, as Data()
  // gives it, of the column at `position`.
  void AppendCanonical(size_t position, std::string_view data, std::string* bytes) const;

 private:
  struct Column {
    ColumnType type = ColumnType::kSignedInteger;
    KeyPart part;      // Of the column as it is: where its image lies.
    KeyPart weighing;  // Strings that do not compare by bytes: of a VARCHAR of the Cairn format.
    bool weighs = false;
  };

  static bool AssignData(const Column& column, std::string_view data, uint8_t* image);
  template <typename Use>
  static auto WithCanonical(const Column& column, std::string_view data, Use use);

  bool IsPast(const uint8_t* record) const {
    return validity_ != nullptr && validity_->IsPast(record);
  }

  std::vector<Column> columns_;
  std::shared_ptr<const ValidityColumns> validity_;
};

// Whether two records have equal values in the columns of a foreign key, of which one side may be
// the other's (a row that references itself). False when any is NULL. Allocates.
bool HaveEqualValues(const ForeignKeyColumns& columns, const uint8_t* record,
                     const ForeignKeyColumns& other_columns, const uint8_t* other_record);

}  // namespace cairn
