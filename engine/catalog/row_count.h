// How many rows a table has, as far as this process knows.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

namespace cairn {

// What a look at the storage says of the number of rows; committed ones alone.
struct StoredRows {
  uint64_t estimate = 0;
  // Bounds that the estimate's sources leave; generous, because only a contradiction counts.
  uint64_t least = 0;
  uint64_t most = 0;
  std::optional<uint64_t> counted = std::nullopt;  // Exact; stands in for the rest.
};

// Begins with what the storage says and is carried on by what transactions change, because the
// storage is vague until entries and tombstones have met in a compaction. Thread-safe.
class RowCount {
 public:
  // A statement added so many rows, or took them away. They are pending until their transaction
  // ends.
  void Add(int64_t rows);
  // A transaction committed whose steps make `moves` when their signs are left away, and which adds
  // `rows` at its end.
  void Keep(int64_t rows, uint64_t moves);
  // It was rolled back; its steps made `rows`.
  void Undo(int64_t rows, uint64_t moves);

  // Compares with what is stored: a count that cannot be right gives way. Returns the count.
  uint64_t Settle(const StoredRows& stored);
  // Rows came or went past the transactions: the next Settle() takes what the storage says.
  void Forget();
  // Nothing before the first Settle().
  std::optional<uint64_t> value() const;

 private:
  mutable std::mutex mutex_;  // Guards everything; taken once in a statement.
  bool known_ = false;
  int64_t rows_ = 0;
  int64_t pending_ = 0;  // How far transactions that have not ended may have moved rows_, in all.
};

}  // namespace cairn
