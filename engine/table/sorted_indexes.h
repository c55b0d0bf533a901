// Whole indexes made of rows: the entries of each are sorted by itself, checked for values that may
// come only once, and given to RocksDB as files.
#pragma once

#include <atomic>
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
#include "engine/txn/transaction.h"

namespace cairn {

struct IndexBuildSettings {
  SortSettings sort;
  bool append_checksums = false;  // To the entries that are made (docs/stock-format.md, 9).
  IndexCodec::Checksums checksums = IndexCodec::Checksums::kIgnore;  // Of the rows that are read.
  bool trace = false;
  uint64_t estimated_rows = 0;  // That the table has, for IndexBuildFigures.
};

class SortedIndexes;

// The memory that the sorters of one statement share, which fills several tables side by side (the
// partitions of one). Belongs to the statement's thread.
class SortMemory {
 public:
  // In bytes. One table that has it for itself takes SortSettings::buffer_bytes for each index.
  explicit SortMemory(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // In use.
  uint64_t bytes() const { return bytes_; }

 private:
  friend class SortedIndexes;
  const uint64_t most_bytes_;
  uint64_t bytes_ = 0;
  std::vector<SortedIndexes*> sharers_;
  SortedIndexes* appending_ = nullptr;  // Whose file of the primary key is open.
};

// Belongs to one statement, and to threads of its own that write files. Nobody reads the indexes
// yet. Temporary files are gone when it ends, whatever comes between.
class SortedIndexes {
 public:
  // Makes the indexes of `table` at `positions`. `virtual_columns` may be null when none of them
  // has a virtual column. `suspects` hears of unique values that come twice; null: such a value is
  // an error. `figures` has the same indexes, and hears of their entries. All but the settings
  // outlive this.
  SortedIndexes(Database* database, const Table* table, const std::vector<uint32_t>& positions,
                const IndexBuildSettings& settings, VirtualColumns* virtual_columns,
                UniqueSuspects* suspects, IndexBuildFigures* figures);
  ~SortedIndexes();

  // The rows come in the order of the primary key, which is one of the indexes; its entries then
  // are not sorted. Before the first Add().
  void RowsComeInOrder();
  // They do as a rule: entries of the primary key that come in order by the bufferful go to its
  // files at once, and are taken back when others belong between them. Before the first Add().
  void RowsTendToComeInOrder();
  // The records have their virtual columns already. Before the first Add().
  void RecordsAreComplete() { records_are_complete_ = true; }
  // Full buffers are sorted and written by threads while others are filled. Not with Share().
  // Before the first Add().
  void WorkInBackground();
  // What all that share `memory` hold together stays within it. Before the first Add().
  void Share(std::shared_ptr<SortMemory> memory);
  // Whether the entries that follow get a checksum chunk, instead of what the settings say.
  void AppendChecksums(bool append) { append_checksums_ = append; }

  // Adds the entries of a row. `record`: in the layout of `table`, where virtual columns of the
  // indexes are computed. `hidden_key` and `ttl_stamp` as IndexCodec takes them. Errors:
  // kDuplicateKey, kOutOfOrder (rows that come in order only), kInterrupted, kIoError, kNoSpace,
  // kCorruption, those of VirtualColumns.
  Status Add(const uint8_t* record, uint64_t hidden_key, uint64_t ttl_stamp);
  // After the last row: writes the files of all indexes. Errors: kDuplicateKey, kInterrupted,
  // kIoError, kNoSpace, kCorruption.
  Status WriteFiles();
  // Then makes them part of the database, all or none. Errors: those of SortedFiles::Ingest.
  Status Ingest();

  // Whether the entries are so few, all of them in memory, that files of their own are not worth
  // it.
  bool AreFew() const;
  // After the last row, instead of WriteFiles() and Ingest(): puts all entries into `transaction`,
  // which nobody commits if this fails. It outlives this. Errors: those of WriteFiles() and of
  // Transaction::Put.
  Status PutInto(Transaction* transaction);

  // After kDuplicateKey: the second entry with a value.
  const std::optional<UniqueSuspects::Duplicate>& duplicate() const { return duplicate_; }
  // After kDuplicateKey, if the primary key is one of the indexes: fills `record` with the row of
  // the duplicate, whose BLOBs stay valid as long as this does. The files of the primary key may be
  // part of the database then. Errors: kIoError, kNoSpace, kCorruption, kNotFound, those of
  // VirtualColumns.
  Status LoadDuplicate(uint8_t* record);

  // Tells the memory account and the figures what is in use, in bytes. By the statement's thread.
  void CountMemory();

 private:
  struct NewIndex {
    uint32_t position;
    std::unique_ptr<ExternalSorter> sorter;  // Null when its entries come in order.
    std::unique_ptr<SortedFiles> files;
    NewIndexFigures* figures;
    std::string previous_unique_value{};  // Of the entry before; empty when it has none.
    // What the sorter holds goes to the files, as long as it belongs behind what they have.
    bool appends = false;
  };
  // An entry as the sorter has it, taken apart again.
  struct Sorted {
    std::string_view key;
    std::string_view value;
    uint32_t unique_bytes;
  };

  const TableIndex& IndexOf(const NewIndex& index) const { return table_->index(index.position); }
  bool IsPrimary(const NewIndex& index) const;
  bool IsUnique(const NewIndex& index) const;
  Status AddEntry(NewIndex* index, const uint8_t* record, uint64_t hidden_key, uint64_t ttl_stamp);
  Sorted TakeApart(const NewIndex& index, std::string_view key, std::string_view value) const;
  Status AddToSorter(NewIndex* index, uint64_t row_number, uint32_t unique_bytes);
  Status AddToFiles(NewIndex* index, const Sorted& entry);
  Status CheckUnique(NewIndex* index, const Sorted& entry);
  Status EmptyMemory(NewIndex* index);
  bool IsToEnd();
  Status Append(NewIndex* index);
  Status BeginToSort(NewIndex* index);
  Status BeginNextFile();
  void CountShare();
  Status KeepWithinShare();
  Status EmptyLargest();
  uint64_t HeldBytes() const;
  Status WriteFilesOf(size_t i);
  static void CountFiles(const NewIndex& index);

  Database* const database_;
  const Table* const table_;
  const IndexBuildSettings settings_;
  VirtualColumns* const virtual_columns_;
  UniqueSuspects* const suspects_;
  std::vector<NewIndex> indexes_;  // None comes or goes once they are made.
  bool numbers_rows_ = false;
  bool append_checksums_;
  bool records_are_complete_ = false;
  std::shared_ptr<SortMemory> share_;  // Null: all settings allow.
  uint64_t shared_bytes_ = 0;          // Our part of the share.
  uint64_t row_count_ = 0;
  std::optional<UniqueSuspects::Duplicate> duplicate_;
  Transaction* transaction_ = nullptr;  // That the entries were put into; null: none.
  std::string duplicate_value_;         // Of a duplicate of the primary key: its row.
  rocksdb::PinnableSlice duplicate_row_;
  std::string key_;
  std::string value_;
  std::string unpack_info_;
  std::string unique_prefix_;
  std::atomic<bool> is_abandoned_{false};
  SideBySide side_by_side_;  // Writes the files; each index has its own.
  std::mutex twins_mutex_;   // Guards suspects_, duplicate_ and duplicate_value_ meanwhile.
  MemoryCharge memory_;
};

}  // namespace cairn
