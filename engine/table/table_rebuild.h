// Writes a table anew (ALTER TABLE that changes the primary key or rows as a whole, in place): all
// indexes are made under new numbers of one scan of the rows, while nobody writes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/index_scan.h"
#include "engine/table/listed_build.h"
#include "engine/table/table.h"

namespace cairn {

// Belongs to one statement.
class TableRebuild {
 public:
  // `source` has the primary key of the table as it is and the columns of `table`, the table as it
  // will be, all of whose indexes the dictionary has marked as not yet built
  // (Dictionary::BeginIndexes). Either both or none have a hidden primary key, or `source` alone.
  // `record` is a buffer of layout().record_bytes bytes; `virtual_columns` may be null when no
  // index has a virtual column. All of them outlive the rebuild.
  TableRebuild(Database* database, const Table* source, const Table* table,
               IndexBuildSettings settings, uint8_t* record, VirtualColumns* virtual_columns);

  // Expired rows are left out. Errors: kDuplicateKey (duplicate_index() says where, and the record
  // is one of the rows, valid as long as this), kLockTimeout (IndexBuild::CheckNoRowsWillChange),
  // kInterrupted, kIoError, kNoSpace, kCorruption, kChecksumMismatch.
  Status Run();

  // As IndexBuild's.
  void NotePublished() { listed_.NotePublished(); }
  const IndexBuildFigures& figures() const { return listed_.figures(); }
  uint32_t duplicate_index() const { return duplicate_index_; }

 private:
  Database* const database_;
  const Table* const source_;
  ListedBuild listed_;
  IndexScan scan_;
  uint32_t duplicate_index_ = 0;
};

// Whether the rows of `source` are in the order of the primary key of `table`; both have the same
// columns.
bool SameRowOrder(const Table& source, const Table& table);

struct NullValue {
  uint32_t column;
  uint64_t row;  // Its number in the order of the primary key, from 1 on.
  bool operator==(const NullValue&) const = default;
};
// The first row of `table` that is NULL in one of `columns`. Rows that have expired count where
// they stay, since who reads without the filter sees them. Nobody writes to the table. `record` as
// above. Errors: as Run(), but for kDuplicateKey.
enum class ExpiredRows : uint8_t { kStay, kGo };
Result<std::optional<NullValue>> FindNull(Database* database, const Table& table,
                                          const std::vector<uint32_t>& columns,
                                          ExpiredRows expired_rows, IndexCodec::Checksums checksums,
                                          uint8_t* record);

}  // namespace cairn
