// Builds indexes of a table that has rows (ALTER TABLE ... ADD INDEX in place).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/metrics/memory_account.h"
#include "engine/sort/external_sorter.h"
#include "engine/sort/sorted_files.h"
#include "engine/table/table.h"
#include "engine/table/table_check.h"
#include "engine/txn/transaction.h"

namespace cairn {

struct IndexBuildSettings {
  SortSettings sort;
  bool append_checksums = false;  // To the entries that are made (docs/stock-format.md, 9).
  IndexCodec::Checksums checksums = IndexCodec::Checksums::kIgnore;  // Of the rows that are read.
  bool trace = false;
};

// Reads the rows once, sorts the entries of each index by itself and gives them to RocksDB as
// files, all together at the end. Nobody writes to the table meanwhile. Belongs to one statement.
class IndexBuild {
 public:
  // Whether an index can be built. Not so a UNIQUE one for which equal keys do not lie side by
  // side.
  static bool CanBuild(const IndexCodec& codec);

  // `table` is the table as it will be, of which the dictionary has marked the indexes at
  // `positions` as not yet built. `record` is a buffer of layout().record_bytes bytes;
  // `virtual_columns` may be null when no virtual column is in these indexes. All of them, and
  // `database`, outlive the build.
  IndexBuild(Database* database, const Table* table, const std::vector<uint32_t>& positions,
             IndexBuildSettings settings, uint8_t* record, VirtualColumns* virtual_columns);

  // Errors: kDuplicateKey (duplicate_index() says where, and the record is one of the rows),
  // kLockTimeout (a prepared transaction has changed rows), kInterrupted, kIoError, kNoSpace,
  // kCorruption, kChecksumMismatch. Temporary files are gone in any case.
  Status Run();

  // Position of the index whose uniqueness the last kDuplicateKey is about.
  uint32_t duplicate_index() const { return duplicate_index_; }
  // For IndexEntry::built_at.
  uint64_t built_at() const { return built_at_; }

 private:
  struct NewIndex {
    uint32_t position;
    std::unique_ptr<ExternalSorter> sorter;
    std::unique_ptr<SortedFiles> files;
  };

  bool RowsWillChange() const;
  Status SortEntries();
  Status AddEntries(std::string_view primary_key, std::string_view row);
  Status WriteFiles(NewIndex* index);
  Status CheckUnique(const NewIndex& index, std::string_view key, uint32_t unique_bytes);
  Status LoadRowOf(uint32_t position, std::string_view entry);
  void CountMemory();

  Database* const database_;
  const Table* const table_;
  const IndexBuildSettings settings_;
  uint8_t* const record_;
  VirtualColumns* const virtual_columns_;
  Transaction transaction_;
  std::vector<NewIndex> indexes_;
  std::unique_ptr<const DecodePlan> row_plan_;
  uint32_t duplicate_index_ = 0;
  uint64_t built_at_ = 0;
  std::string key_;
  std::string value_;
  std::string unpack_info_;
  std::string unique_prefix_;
  std::string previous_unique_value_;  // Of the entry before; empty when it has none.
  rocksdb::PinnableSlice row_value_;   // What BLOBs of a duplicate row point into.
  MemoryCharge memory_;
};

}  // namespace cairn
