// Builds indexes of a table that has rows (ALTER TABLE ... ADD INDEX in place), while nobody writes
// to it or while others do.
//
// With writers: the dictionary begins a build while nobody uses the table (Dictionary::BeginBuild),
// and whoever opens it from then on writes what changes into deltas (index_delta.h). The rows are
// scanned, sorted and ingested (index_scan.h), the deltas are merged in rounds (index_merge.h), and
// what is left when nobody uses the table again is merged by Finish(). Then the dictionary makes
// the indexes part of the table (Dictionary::ChangeTables).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/index_merge.h"
#include "engine/table/index_scan.h"
#include "engine/table/listed_build.h"
#include "engine/table/table.h"
#include "engine/table/table_check.h"
#include "engine/table/unique_suspects.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Belongs to one statement.
class IndexBuild {
 public:
  // Whether an index can be built. Not so a UNIQUE one for which equal keys do not lie side by
  // side.
  static bool CanBuild(const IndexCodec& codec);
  // Nobody but prepared transactions that their sessions have left uses the table: looks whether
  // one of them has changed rows, or locked them to do so, which the indexes could not know of.
  // Errors: kLockTimeout.
  static Status CheckNoRowsWillChange(Database* database, const Table& table);

  // `table` is the table as it will be, of which the dictionary has marked the indexes at
  // `positions` as not yet built. `record` is a buffer of layout().record_bytes bytes;
  // `virtual_columns` may be null when no virtual column is in these indexes. `state` is that of
  // Dictionary::BeginBuild, with the same indexes; null: nobody writes to the table. All of them,
  // and `database`, outlive the build.
  IndexBuild(Database* database, const Table* table, const std::vector<uint32_t>& positions,
             IndexBuildSettings settings, uint8_t* record, VirtualColumns* virtual_columns,
             IndexBuildState* state = nullptr);

  // The indexes have nearly all entries then, or all of them without a `state`. Errors:
  // kDuplicateKey (duplicate_index() says where, and the record is one of the rows; only without
  // writers), kLockTimeout (as CheckNoRowsWillChange; only without writers), kInterrupted,
  // kIoError, kNoSpace, kCorruption, kChecksumMismatch. Temporary files are gone in any case.
  Status Run();
  // After Run(): merges what others have written since then. Errors: kInterrupted, kIoError,
  // kNoSpace, kCorruption. Does nothing without a `state`.
  Status CatchUp();
  // After Run(), while nobody uses the table: the indexes have all entries. Errors: as Run()
  // without writers; after another one than kLockTimeout the build can only be abandoned. Does
  // nothing without a `state`.
  Status Finish();

  // The indexes are the table's: otherwise the build counts as abandoned when it goes.
  void NotePublished() { listed_.NotePublished(); }
  // Any thread may read them, and finds them in Database::index_builds() as long as the build
  // lives.
  const IndexBuildFigures& figures() const { return listed_.figures(); }

  // Position of the index whose uniqueness the last kDuplicateKey is about.
  uint32_t duplicate_index() const { return duplicate_index_; }
  // For IndexDefinition::built_at.
  uint64_t built_at() const { return built_at_; }

 private:
  Status MergeRest();
  Status LoadDuplicate(const UniqueSuspects::Duplicate& duplicate);
  Status CompareWithRows();

  Database* const database_;
  const Table* const table_;
  const std::vector<uint32_t> positions_;
  const IndexBuildSettings settings_;
  uint8_t* const record_;
  VirtualColumns* const virtual_columns_;
  IndexBuildState* const state_;
  ListedBuild listed_;
  UniqueSuspects suspects_;
  std::optional<IndexMerge> merge_;
  bool failed_ = false;  // Finish() did not end as it should.
  uint32_t duplicate_index_ = 0;
  uint64_t built_at_ = 0;
  rocksdb::PinnableSlice row_value_;  // What BLOBs of a duplicate row point into.
};

}  // namespace cairn
