// Tables, records and search keys for the codec's tests, laid out as the server lays them out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/codec/column_set.h"
#include "engine/codec/index_codec.h"
#include "engine/codec/table_layout.h"

namespace cairn::testing {

// "0a 1b" or "0a1b" as bytes.
std::string Hex(std::string_view text);

// The value of one column: nothing for NULL, else the record image (fixed types) or the data (CHAR
// without padding, VARCHAR, BLOB). Integers convert by themselves, to the width of the column.
struct Cell {
  Cell(std::nullptr_t) {}                                        // NOLINT
  Cell(const char* text) : data(text) {}                         // NOLINT
  Cell(std::string text) : data(std::move(text)) {}              // NOLINT
  Cell(int number) : Cell(static_cast<int64_t>(number)) {}       // NOLINT
  Cell(int64_t number);                                          // NOLINT
  Cell(uint64_t number) : Cell(static_cast<int64_t>(number)) {}  // NOLINT
  static Cell Float(float number);
  static Cell Double(double number);

  bool is_null() const { return !data.has_value(); }

  std::optional<std::string> data;
  bool is_integer = false;
};
using Row = std::vector<Cell>;

struct Part {
  Part(const char* column_name) : column(column_name) {}             // NOLINT
  Part(std::string column_name) : column(std::move(column_name)) {}  // NOLINT
  Part(std::string column_name, uint32_t prefix)
      : column(std::move(column_name)), prefix_chars(prefix) {}
  std::string column;
  uint32_t prefix_chars = 0;  // Bytes for binary columns; 0: the whole column.
};

class TestTable {
 public:
  // Columns, in order. Every column is NOT NULL until Nullable() says otherwise of the last one.
  TestTable& Column(std::string name, ColumnType type, uint32_t image_bytes);
  TestTable& Int(std::string name, uint32_t bytes = 4);
  TestTable& Unsigned(std::string name, uint32_t bytes = 4);
  TestTable& Image(std::string name, uint32_t bytes);  // DECIMAL, YEAR, temporal types.
  TestTable& Char(std::string name, uint32_t chars, const Collation& collation);
  TestTable& Varchar(std::string name, uint32_t chars, const Collation& collation);
  TestTable& Blob(std::string name, uint32_t length_bytes, const Collation& collation);
  TestTable& Nullable();

  TestTable& PrimaryKey(uint32_t number, std::vector<Part> parts);
  TestTable& HiddenKey(uint32_t number);
  TestTable& Key(uint32_t number, std::vector<Part> parts);
  TestTable& UniqueKey(uint32_t number, std::vector<Part> parts);
  TestTable& FormatVersion(uint16_t version);  // Of all indexes so far.
  TestTable& FormatVersion(const std::function<uint16_t()>& version_of_next);
  // All indexes so far have the Cairn format; `descending` is asked for each of their parts.
  TestTable& CairnFormat(const std::function<bool()>& descending);
  TestTable& TtlStamps();  // In all indexes so far.
  // The row has CHAR columns without trailing spaces: of a table of the Cairn format.
  TestTable& TrimmedChars();

  const TableLayout& layout() const { return table_; }
  TableLayout& mutable_layout() { return table_; }
  const IndexLayout& primary() const;
  const std::vector<IndexLayout>& indexes() const { return indexes_; }
  uint32_t ColumnNumber(std::string_view name) const;

  std::unique_ptr<IndexCodec> Codec(const IndexLayout& index) const;
  std::unique_ptr<IndexCodec> Codec(uint32_t index_number) const;

  // All columns that come back from an entry of `codec`.
  ColumnSet Covered(const IndexCodec& codec) const;
  ColumnSet Columns(std::initializer_list<const char*> names) const;

 private:
  TestTable& AddIndex(IndexKind kind, bool unique, uint32_t number, std::vector<Part> parts);

  TableLayout table_;
  std::vector<IndexLayout> indexes_;
  uint32_t nullable_count_ = 0;
};

// A record image. Owns the data of its BLOBs, borrows the table.
class Record {
 public:
  // Filled with a pattern that no row has.
  explicit Record(const TestTable& table);
  Record(const TestTable& table, const Row& row);

  uint8_t* data() { return bytes_.data(); }
  const uint8_t* data() const { return bytes_.data(); }

  bool IsNull(uint32_t column) const;
  // The image of a fixed type, the data of the others.
  std::string Data(uint32_t column) const;
  // "name=hex" for each column of the set, for comparisons with readable failures.
  std::string ToString(const ColumnSet& columns) const;

 private:
  const TableLayout* table_;
  std::vector<uint8_t> bytes_;
  std::deque<std::string> blobs_;
};

// The server's search key for the first `part_count` parts: own ones, then those of the primary key
// that the stored key has as suffix.
std::string SearchKey(const TestTable& table, const IndexCodec& codec, const Record& record,
                      uint32_t part_count);

}  // namespace cairn::testing
