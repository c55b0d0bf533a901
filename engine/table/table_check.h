// CHECK TABLE: whether every index entry and every row agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

struct TableCheckReport {
  uint64_t row_count = 0;
  std::vector<std::string> problems;  // At most kMaxProblems, then the check ends.
  static constexpr size_t kMaxProblems = 10;
};

// Reads every row, recomputes its entry in every index and looks for it; then compares the number of
// entries of each index with the number of rows. Reads at the transaction's snapshot. `record` is a
// buffer of layout().record_bytes bytes. Errors: kInterrupted, kIoError; damage goes into the report.
Result<TableCheckReport> CheckTable(const Table& table, Transaction* transaction, uint8_t* record);

}  // namespace cairn
