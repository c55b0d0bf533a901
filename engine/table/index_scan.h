// The first part of building indexes: reads the rows once, sorts the entries of each index by
// itself and gives them to RocksDB as files, all together at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/sorted_indexes.h"
#include "engine/table/table.h"
#include "engine/table/table_check.h"
#include "engine/table/unique_suspects.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Belongs to one statement. Rows are read in
// chunks, each as they are committed when it begins: no snapshot is held for long, and what others
// write meanwhile may be seen or not.
class IndexScan {
 public:
  // As IndexBuild. `state` counts the rows, if it is not null. `suspects`: of values that come
  // twice; null: such a value is an error.
  IndexScan(Database* database, const Table* table, const std::vector<uint32_t>& positions,
            IndexBuildSettings settings, uint8_t* record, VirtualColumns* virtual_columns,
            IndexBuildState* state, UniqueSuspects* suspects);

  // Errors: as IndexBuild::Run; with kDuplicateKey, duplicate() is the second entry. Temporary
  // files are gone in any case.
  Status Run();

  const std::optional<UniqueSuspects::Duplicate>& duplicate() const { return sorted_.duplicate(); }
  // Transaction::SnapshotNumber() of the first chunk.
  uint64_t begun_at() const { return begun_at_; }

 private:
  Status SortEntries();
  Result<bool> SortChunk();
  Status AddRow(std::string_view primary_key, std::string_view row);

  const Table* const table_;
  const IndexBuildSettings settings_;
  uint8_t* const record_;
  IndexBuildState* const state_;
  const std::vector<uint32_t> positions_;
  SortedIndexes sorted_;
  Transaction transaction_;
  std::unique_ptr<const DecodePlan> row_plan_;
  uint64_t begun_at_ = 0;
  std::string last_key_;  // Of the last row of the chunk before.
};

}  // namespace cairn
