// The decode plans of a cursor: which columns its reads take out of entries and rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/column_set.h"
#include "engine/codec/index_codec.h"
#include "engine/table/cursor_access.h"
#include "engine/table/table.h"

namespace cairn {

// Used by one thread. A plan is kept for the next statement that wants the same columns.
class ReadPlans {
 public:
  // The table outlives this.
  explicit ReadPlans(const Table* table);

  // Chooses the plans for the wanted columns: from the index entry alone, if it has them all and no
  // row is to be locked, else from the row. Errors: those of IndexCodec::MakePlan.
  Status Bind(const CursorAccess& access);
  // Sees to it that row() is there, whatever the index covers.
  Status BindRow(const CursorAccess& access);

  // Decodes the primary entry; null where entries of a secondary index are read alone.
  const DecodePlan* row() const { return row_; }
  // Decodes the secondary entry; null unless it covers what is wanted.
  const DecodePlan* entry() const { return entry_; }
  // Decodes what the index covers; null without a condition or filter.
  const DecodePlan* condition() const { return condition_; }
  // Decodes the wanted virtual columns from the entry of a row; null when none is wanted.
  const DecodePlan* virtual_columns() const { return virtual_; }
  bool wants_blobs() const { return wants_blobs_; }

 private:
  struct CachedPlan {
    ColumnSet columns;
    IndexCodec::Checksums checksums = IndexCodec::Checksums::kIgnore;
    std::unique_ptr<const DecodePlan> plan;
  };

  Status Use(uint32_t index, const ColumnSet& columns, IndexCodec::Checksums checksums,
             CachedPlan* cache, const DecodePlan** plan);
  Status BindVirtualColumns(const CursorAccess& access);

  const Table* const table_;
  std::vector<uint32_t> blob_columns_;
  const DecodePlan* row_ = nullptr;
  const DecodePlan* entry_ = nullptr;
  const DecodePlan* condition_ = nullptr;
  const DecodePlan* virtual_ = nullptr;
  bool wants_blobs_ = false;
  std::vector<CachedPlan> plans_;            // By index: its entry decoded alone, or the row.
  std::vector<CachedPlan> condition_plans_;  // By index: all covered columns.
  std::vector<CachedPlan> virtual_plans_;    // By index: the wanted virtual columns that it covers.
};

}  // namespace cairn
