// A table whose layout changes again and again, and what its rows of all times must be now.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/codec/column_set.h"
#include "engine/codec/layout_history.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/random.h"
#include "tests/unit/codec/test_table.h"

namespace cairn::testing {

class LayoutChain {
 public:
  // A table of RandomTable, with one layout.
  explicit LayoutChain(Random* random);

  // Columns come, go, move, become nullable and grow, several at a time.
  void Alter();

  struct StoredRow {
    Entry entry;
    uint64_t hidden_key = 0;
    uint16_t version = 0;
    std::vector<uint32_t> ids;          // Of the columns that there were,
    std::vector<ColumnLayout> columns;  // what they were,
    Row values;                         // and what they had in the row.
  };
  StoredRow Write();
  // The values that the row has in the table as it is.
  Row Expect(const StoredRow& row) const;

  const TestTable& table() const { return *table_; }
  const IndexCodec& codec() const { return *codec_; }
  // Null before the first change.
  const std::shared_ptr<const LayoutHistory>& history() const { return primary_.history; }
  // All columns that rows have.
  ColumnSet Stored() const;
  std::string Describe() const;

 private:
  struct Column {
    uint32_t id = 0;
    ColumnLayout layout{};
    bool in_primary = false;
    std::optional<Cell> absent{};  // Of one that was added.
    std::optional<ColumnLayout> added_as{};
    std::optional<uint32_t> from{};  // Its position among the stored columns so far.
  };

  void Add();
  void Drop();
  void Move();
  void Grow();
  Column* Choose();
  void Rebuild();
  AbsentImage AbsentOf(const Column& column, size_t position) const;

  Random* const random_;
  std::vector<Column> columns_;
  std::vector<std::string> log_;
  uint32_t next_id_ = 0;
  std::unique_ptr<TestTable> table_;
  IndexLayout primary_;
  std::vector<uint32_t> primary_ids_;  // The columns of its parts.
  std::unique_ptr<IndexCodec> codec_;
};

}  // namespace cairn::testing
