// Index entries of a row that a transaction changes on top of changes which its snapshot does not
// show (SnapshotConflicts::kLatest).
//
// Plain reads see a row that the transaction has written as it wrote it, and all others as the
// snapshot has them. To find the row by its entries, and by no others, they need more in the write
// batch than what this change makes of the entries: those of the row that the snapshot shows must
// be removed there, though others have removed them, and those of the new row put there, though
// others have put them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Makes the virtual columns of a record that others know nothing of.
class RecordVirtualColumns {
 public:
  virtual ~RecordVirtualColumns() = default;
  // Fills in those of an index (position in Table::indexes()); the record holds the rest of a row.
  // BLOBs are valid until the next call. Other records keep theirs.
  virtual Status Make(uint32_t index, uint8_t* record) = 0;
};

// Part of a TableWriter; used by one thread. Takes no room before it is used.
class SnapshotEntries {
 public:
  explicit SnapshotEntries(const Table* table) : table_(table) {}

  // Needed where an index has a virtual column; outlives this.
  void SetVirtualColumns(RecordVirtualColumns* makes) { virtual_columns_ = makes; }

  // Whether the snapshot may show other entries of a row than there are.
  bool MayDiffer(const Transaction& transaction) const {
    return transaction.TakesLatest() && table_->indexes().size() > 1 && transaction.MayBeBehind();
  }
  // The row with this primary key, locked, is about to be changed; `record` is the row as it is
  // now, null when there is none. Removes those of its entries that only the snapshot shows. True:
  // the entries of `record` may not be in the snapshot, so those that stay are to be removed and
  // put again. Errors: kCorruption, kIoError, kAborted (the write batch is full), those of
  // RecordVirtualColumns.
  Result<bool> Remove(Transaction* transaction, std::string_view primary_key,
                      const uint8_t* record);

 private:
  Status DecodeSeen(std::string_view primary_key, std::string_view value);
  Status RemoveSeen(Transaction* transaction, std::string_view primary_key, const uint8_t* record);

  const Table* const table_;
  RecordVirtualColumns* virtual_columns_ = nullptr;
  std::unique_ptr<const DecodePlan> whole_row_plan_;
  std::vector<uint8_t> seen_record_;  // The row that the snapshot shows.
  std::string seen_key_;
  std::string key_;
  std::string unpack_info_;
};

}  // namespace cairn
