// The first part of building indexes: reads the rows once, sorts the entries of each index by
// itself and gives them to RocksDB as files, all together at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
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
};

// Belongs to one statement, and to threads of its own while it writes files. Rows are read in
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

  const std::optional<UniqueSuspects::Duplicate>& duplicate() const { return duplicate_; }
  // Transaction::SnapshotNumber() of the first chunk.
  uint64_t begun_at() const { return begun_at_; }

 private:
  struct NewIndex {
    uint32_t position;
    std::unique_ptr<ExternalSorter> sorter;
    std::unique_ptr<SortedFiles> files;
    std::string previous_unique_value{};  // Of the entry before; empty when it has none.
  };

  Status SortEntries();
  Result<bool> SortChunk();
  Status AddEntries(std::string_view primary_key, std::string_view row);
  Status WriteFiles(size_t i);
  Status CheckUnique(NewIndex* index, std::string_view key, uint32_t unique_bytes);
  void CountMemory();

  Database* const database_;
  const Table* const table_;
  const IndexBuildSettings settings_;
  uint8_t* const record_;
  VirtualColumns* const virtual_columns_;
  IndexBuildState* const state_;
  UniqueSuspects* const suspects_;
  Transaction transaction_;
  std::vector<NewIndex> indexes_;
  std::unique_ptr<const DecodePlan> row_plan_;
  std::optional<UniqueSuspects::Duplicate> duplicate_;
  uint64_t begun_at_ = 0;
  std::string last_key_;  // Of the last row of the chunk before.
  std::string key_;
  std::string value_;
  std::string unpack_info_;
  std::string unique_prefix_;
  SideBySide side_by_side_;  // Writes the files; each index has its own.
  std::mutex twins_mutex_;   // Guards suspects_ and duplicate_ meanwhile.
  MemoryCharge memory_;
};

}  // namespace cairn
