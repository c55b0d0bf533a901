// Tables with indexes, or rows in partitions, that were put in order with other weights of a
// collation than this server has.
#pragma once

#include <optional>
#include <string>

#include "engine/base/status.h"
#include "engine/codec/table_layout.h"
#include "engine/table/table.h"

struct TABLE;

namespace cairn {

struct OldWeights {
  std::string index;  // Empty: by them rows were put into partitions.
  std::string collation;
  // Values of the primary key come back by the weights: this server would read other ones.
  bool in_rows = false;

  // What is wrong, and the remedy.
  std::string Describe(const std::string& table) const;
};

// Notes the weights of the collations that the columns of a table have (Dictionary::NoteWeights):
// before its indexes get their numbers, or are looked at. Errors: those of RocksDB.
Status NoteWeightsOfColumns(const TableLayout& layout);

// As above, of a table that exists: what cannot be written is in the error log.
void NoteWeightsOfOpened(const TableLayout& layout);

// The first index of a table that has old weights, if any; the primary key goes before others. The
// weights have been noted. `opened`: as the server has it; null: partitions and virtual columns are
// not looked at.
std::optional<OldWeights> FindOldWeights(const Table& table, TABLE* opened = nullptr);

}  // namespace cairn
