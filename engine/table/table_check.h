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
  struct IndexEntries {
    std::string index;
    uint64_t count = 0;
    uint64_t with_checksums = 0;
  };
  uint64_t row_count = 0;
  uint64_t rows_with_checksums = 0;
  std::vector<IndexEntries> entries;  // Of each secondary index.
  std::vector<std::string> problems;  // At most kMaxProblems, then the check ends.
  // What is no damage: rows with the same value in a UNIQUE key, which the stock plug-in lets in
  // where the key has a prefix of a BLOB. At most as many.
  std::vector<std::string> warnings;
  static constexpr size_t kMaxProblems = 10;
};

// Makes what a row does not store.
class VirtualColumns {
 public:
  virtual ~VirtualColumns() = default;
  // Fills in the virtual columns of an index (position in Table::indexes()) in the record that the
  // check was given, which holds the rest of a row.
  virtual Status Compute(uint32_t index) = 0;
};

// Reads every row, recomputes its entry in every index and looks for it; then compares the number
// of entries of each index with the number of rows, and looks for the rows of the entries if there
// is a surplus. Reads at the transaction's snapshot. `record` is a buffer of layout().record_bytes
// bytes. Errors: kInterrupted; damage and what cannot be read go into the report, and the check
// goes on with the next index. `virtual_columns` may be null for a table that has none in an index.
Result<TableCheckReport> CheckTable(const Table& table, Transaction* transaction, uint8_t* record,
                                    VirtualColumns* virtual_columns = nullptr);

}  // namespace cairn
