// How many rows actions of foreign keys have changed in a transaction, by table.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace cairn {

// Who holds a row while actions may change it compares the counts of its table with those from
// before it read the row. Used by one thread at a time.
class ActionCounts {
 public:
  struct Counts {
    uint64_t rows = 0;
    uint64_t moved = 0;  // Those of them that got another primary key.
    bool operator==(const Counts&) const = default;
  };

  // `rows_index`: the number of the table's primary key.
  void Note(uint32_t rows_index, bool moves) {
    Counts& counts = by_table_[rows_index];
    ++counts.rows;
    if (moves) ++counts.moved;
  }
  Counts Of(uint32_t rows_index) const {
    const auto found = by_table_.find(rows_index);
    return found == by_table_.end() ? Counts() : found->second;
  }
  // The transaction is over.
  void Clear() { by_table_.clear(); }

 private:
  std::unordered_map<uint32_t, Counts> by_table_;
};

}  // namespace cairn
