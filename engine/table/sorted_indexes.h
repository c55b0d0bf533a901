// Whole indexes made of rows: the entries of each are sorted by itself, checked for values that may
// come only once, and given to RocksDB as files.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/metrics/index_builds.h"
#include "engine/metrics/memory_account.h"
#include "engine/sort/external_sorter.h"
#include "engine/sort/sorted_files.h"
#include "engine/table/side_by_side.h"
#include "engine/table/table.h"
#include "engine/table/table_check.h"
#include "engine/table/unique_suspects.h"

namespace cairn {

struct IndexBuildSettings {
  SortSettings sort;
  bool append_checksums = false;  // To the entries that are made (docs/stock-format.md, 9).
  IndexCodec::Checksums checksums = IndexCodec::Checksums::kIgnore;  // Of the rows that are read.
  bool trace = false;
  uint64_t estimated_rows = 0;  // That the table has, for IndexBuildFigures.
};

// Belongs to one statement, and to threads of its own while it writes files. Nobody reads the
// indexes yet. Temporary files are gone when it ends, whatever comes between.
class SortedIndexes {
 public:
  // Makes the indexes of `table` at `positions`. `virtual_columns` may be null when none of them
  // has a virtual column. `suspects` hears of unique values that come twice; null: such a value is
  // an error. `figures` has the same indexes, and hears of their entries. All but the settings
  // outlive this.
  SortedIndexes(Database* database, const Table* table, const std::vector<uint32_t>& positions,
                const IndexBuildSettings& settings, VirtualColumns* virtual_columns,
                UniqueSuspects* suspects, IndexBuildFigures* figures);

  // The rows come in the order of the primary key, which is one of the indexes; its entries then
  // are not sorted. Before the first Add().
  void RowsComeInOrder();

  // Adds the entries of a row. `record`: in the layout of `table`, where virtual columns of the
  // indexes are computed. `hidden_key` and `ttl_stamp` as IndexCodec takes them. Errors:
  // kDuplicateKey, kOutOfOrder (rows that come in order only), kIoError, kNoSpace, those of
  // VirtualColumns.
  Status Add(uint8_t* record, uint64_t hidden_key, uint64_t ttl_stamp);
  // After the last row: writes the files of all indexes. Errors: kDuplicateKey, kInterrupted,
  // kIoError, kNoSpace, kCorruption.
  Status WriteFiles();
  // Then makes them part of the database, all or none. Errors: those of SortedFiles::Ingest.
  Status Ingest();

  // After kDuplicateKey: the second entry with a value.
  const std::optional<UniqueSuspects::Duplicate>& duplicate() const { return duplicate_; }
  // After kDuplicateKey, if the primary key is one of the indexes: fills `record` with the row of
  // the duplicate, whose BLOBs stay valid as long as this does. The files of the primary key may be
  // part of the database then. Errors: kIoError, kNoSpace, kCorruption, kNotFound.
  Status LoadDuplicate(uint8_t* record);

  // Tells the memory account and the figures what is in use, in bytes; meanwhile nobody adds or
  // writes.
  void CountMemory();

 private:
  struct NewIndex {
    uint32_t position;
    std::unique_ptr<ExternalSorter> sorter;  // Null when its entries come in order.
    std::unique_ptr<SortedFiles> files;
    NewIndexFigures* figures;
    std::string previous_unique_value{};  // Of the entry before; empty when it has none.
  };

  const TableIndex& IndexOf(const NewIndex& index) const { return table_->index(index.position); }
  bool IsPrimary(const NewIndex& index) const;
  bool SortsRows() const;
  bool IsUnique(const NewIndex& index) const;
  Status AddEntry(NewIndex* index, const uint8_t* record, uint64_t hidden_key, uint64_t ttl_stamp);
  Status WriteFilesOf(size_t i);
  static void CountFiles(const NewIndex& index);
  Status CheckUnique(NewIndex* index, std::string_view key, uint32_t unique_bytes,
                     std::string_view value);

  Database* const database_;
  const Table* const table_;
  const IndexBuildSettings settings_;
  VirtualColumns* const virtual_columns_;
  UniqueSuspects* const suspects_;
  std::vector<NewIndex> indexes_;
  uint64_t row_count_ = 0;
  std::optional<UniqueSuspects::Duplicate> duplicate_;
  std::string duplicate_value_;  // Of a duplicate of the primary key: its row.
  rocksdb::PinnableSlice duplicate_row_;
  std::string key_;
  std::string value_;
  std::string unpack_info_;
  std::string unique_prefix_;
  SideBySide side_by_side_;  // Writes the files; each index has its own.
  std::mutex twins_mutex_;   // Guards suspects_, duplicate_ and duplicate_value_ meanwhile.
  MemoryCharge memory_;
};

}  // namespace cairn
