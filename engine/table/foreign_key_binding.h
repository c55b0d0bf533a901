// Which columns and which index of a table a foreign key goes by, and whether the columns of child
// and parent can be compared. Pure functions of layouts: nothing is read or locked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/codec/table_layout.h"
#include "engine/table/table.h"

namespace cairn {

// One side of a foreign key, child or parent.
struct ForeignKeyBinding {
  enum class Problem : uint8_t {
    kNone,
    kNoColumn,       // The table has no column of that name.
    kVirtualColumn,  // It has no stored value.
    kBlobColumn,     // No whole column of BLOB or TEXT can be indexed.
    kNoIndex,        // None starts with the columns.
  };

  Problem problem = Problem::kNone;
  uint32_t problem_column = 0;    // Position among the names; not of kNoIndex.
  std::vector<uint32_t> columns;  // Positions in TableLayout::columns, in the foreign key's order.
  uint32_t index = 0;             // Position in key order.

  bool ok() const { return problem == Problem::kNone; }
};

// Finds the columns by their names, spelled as the layout spells them (the server compares names of
// columns without regard to case, which only it can), and the first index in key order whose stored
// keys start with all of them whole, in this order: its own parts, then the columns of the primary
// key behind a secondary index. Directions and uniqueness do not matter. `indexes` are all of the
// table in key order, `primary` the position of its primary or hidden primary key; they are
// borrowed for the call only. At least one name.
ForeignKeyBinding BindForeignKeyColumns(const TableLayout& table,
                                        const std::vector<const IndexLayout*>& indexes,
                                        uint32_t primary, const std::vector<std::string>& names);
ForeignKeyBinding BindForeignKeyColumns(const Table& table, const std::vector<std::string>& names);

// What a foreign key compares of a column's type.
struct ForeignKeyColumnType {
  const ColumnLayout& column;
  // What the layout does not tell and the caller knows; compared as text with the other side's.
  // Several types share a ColumnType:
  //
  // - kFixedImage: DECIMAL (precision and scale are to be named, and UNSIGNED where it counts),
  // YEAR,
  //   TIME, DATETIME, TIMESTAMP (the precision is to be named: a DATETIME(1) has as many bytes as a
  //   DATETIME(2));
  // - kOpaqueFixed: BIT (its number of bits), UUID, INET4, INET6, DATETIME(f) and TIMESTAMP(f) of
  // the
  //   old format;
  // - kOldTimestamp, kOldTime, kOldTimeFraction: DATETIME, TIMESTAMP, and their precision;
  // - kUnsignedInteger of 4 bytes: the DATE of old servers beside INT UNSIGNED.
  //
  // Empty for the others, whose layouts tell all: integers, FLOAT, DOUBLE, DATE, strings. ENUM and
  // SET fit each other by their size; who wants them apart names them here.
  std::string_view detail;
};

// Whether values of the two columns can be equal in the first place: the same type, integers of the
// same width and sign, images of the same size; strings of the same collation, CHAR or VARCHAR of
// any length, BINARY or VARBINARY likewise. What it refuses, ForeignKeySearch::Make does.
bool ForeignKeyTypesFit(const ForeignKeyColumnType& child, const ForeignKeyColumnType& parent);

}  // namespace cairn
