// The first part of building indexes: reads the rows once, sorts the entries of each index by
// itself and gives them to RocksDB as files, all together at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/column_set.h"
#include "engine/table/row_scan.h"
#include "engine/table/sorted_indexes.h"
#include "engine/table/table.h"
#include "engine/table/table_check.h"
#include "engine/table/unique_suspects.h"

namespace cairn {

// Belongs to one statement. What others write meanwhile may be seen or not.
class IndexScan {
 public:
  // Makes the indexes of `table` at `positions` of the rows of `source`: the same table, or the
  // primary key alone that it had before, with the columns of `table`. The rest as IndexBuild.
  // `figures` has the same indexes. `suspects`: of values that come twice; null: such a value is an
  // error.
  IndexScan(Database* database, const Table* source, const Table* table,
            const std::vector<uint32_t>& positions, IndexBuildSettings settings, uint8_t* record,
            VirtualColumns* virtual_columns, IndexBuildFigures* figures, UniqueSuspects* suspects);

  // Before Run(): the primary key is one of the indexes, and the rows of `source` are in its order.
  void RowsComeInOrder() { sorted_.RowsComeInOrder(); }

  // Errors: as IndexBuild::Run; with kDuplicateKey, duplicate() is the second entry. Temporary
  // files are gone in any case.
  Status Run();

  const std::optional<UniqueSuspects::Duplicate>& duplicate() const { return sorted_.duplicate(); }
  // As SortedIndexes::LoadDuplicate.
  Status LoadDuplicate() { return sorted_.LoadDuplicate(record_); }
  // Transaction::SnapshotNumber() of the first rows.
  uint64_t begun_at() const { return rows_.begun_at(); }

 private:
  Status AddRow(std::string_view primary_key, std::string_view row);

  const Table* const source_;
  const IndexBuildSettings settings_;
  uint8_t* const record_;
  IndexBuildFigures* const figures_;
  const ColumnSet wanted_;
  SortedIndexes sorted_;
  RowScan rows_;
  std::unique_ptr<const DecodePlan> row_plan_;
  uint64_t row_count_ = 0;
};

}  // namespace cairn
