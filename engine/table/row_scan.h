// Reads all rows of a table as they are committed, for statements that make something of all of
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Belongs to one statement. Rows are read in chunks, each as they are committed when it begins: no
// snapshot is held for long, and what others write meanwhile may be seen or not.
class RowScan {
 public:
  using Visitor = std::function<Status(std::string_view primary_key, std::string_view row)>;

  // `table`, of which only the primary key is looked at, and `database` outlive the scan.
  RowScan(Database* database, const Table* table) : table_(table), transaction_(database) {}

  // Gives all rows to `visit`, in key order, those that have expired as well (HidesExpired()).
  // Once. Errors: those of `visit`, kInterrupted, kIoError, kCorruption.
  Status Run(const Visitor& visit);

  bool HidesExpired(std::string_view row) const {
    return transaction_.HidesExpired(row, table_->ttl_seconds());
  }
  // Transaction::SnapshotNumber() of the first chunk.
  uint64_t begun_at() const { return begun_at_; }

 private:
  Result<bool> ReadChunk(const Visitor& visit);

  const Table* const table_;
  Transaction transaction_;
  uint64_t begun_at_ = 0;
  std::string last_key_;  // Of the last row of the chunk before.
};

}  // namespace cairn
