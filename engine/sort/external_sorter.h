// Sorts more entries than memory holds: sorted runs go to table files in a temporary directory and
// are merged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/base/status.h"
#include "engine/lsm/key_order.h"
#include "engine/sort/key_sort.h"
#include "engine/store/sort_directories.h"
#include "rocksdb/comparator.h"
#include "rocksdb/env.h"

namespace cairn {

struct SortSettings {
  std::string directory;                          // Of the runs.
  SortDirectories* directories = nullptr;         // Remembers `directory`; may be null.
  uint64_t buffer_bytes = uint64_t{64} << 20;     // Held in memory before a run is written.
  uint64_t merge_read_bytes = uint64_t{1} << 30;  // Read ahead by all runs together.
  uint64_t removal_delay_ms = 0;                  // Waited after each run that is removed.
  bool keys_differ = false;                       // No two keys are equal: none is looked for.
  std::function<bool()> interrupted;              // Whether waits are to end; may be empty.
};

// Used by one thread at a time. Removes its files when it ends.
class ExternalSorter {
 public:
  using Sink = std::function<Status(std::string_view key, std::string_view value)>;

  // `name` begins the names of the runs and is unique among them. `env` and `comparator` outlive
  // the sorter.
  ExternalSorter(rocksdb::Env* env, const rocksdb::Comparator* comparator, std::string name,
                 SortSettings settings);
  ~ExternalSorter();
  ExternalSorter(const ExternalSorter&) = delete;
  ExternalSorter& operator=(const ExternalSorter&) = delete;

  // Errors: kDuplicateKey when the key is still in memory, and nothing was added; kIoError,
  // kNoSpace.
  Status Add(std::string_view key, std::string_view value);
  // Gives every entry to `sink` in the comparator's order, then is empty.
  // Errors: kDuplicateKey, kIoError, kNoSpace, kCorruption, those of `sink`.
  Status Drain(const Sink& sink);

  uint64_t entry_count() const { return entry_count_; }
  // Memory in use for entries.
  uint64_t buffered_bytes() const { return buffered_bytes_; }
  // Of the runs.
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Run {
    std::string path;
    uint64_t bytes = 0;
  };
  SortEntry Keep(std::string_view key, std::string_view value);
  void SortBuffer();
  void ClearBuffer();
  Status SpillBuffer();
  Status WriteRun(size_t level, const std::function<Status(const Sink&)>& source);
  Status DrainBuffer(const Sink& sink);
  Status MergeRuns(const std::vector<Run>& runs, std::span<const SortEntry> in_memory,
                   const Sink& sink) const;
  void RemoveRuns(std::vector<Run>* runs);
  void WaitAfterRemoval() const;
  void RemoveAllRuns();

  rocksdb::Env* const env_;
  const rocksdb::Comparator* const comparator_;
  const std::optional<lsm::KeyOrder> order_;  // That of the comparator; none: it is not ours.
  const std::string name_;
  const SortSettings settings_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_left_ = 0;
  char* block_next_ = nullptr;
  std::vector<SortEntry> entries_;
  std::unordered_set<std::string_view> keys_;
  uint64_t buffered_bytes_ = 0;
  uint64_t entry_count_ = 0;
  std::vector<std::vector<Run>> levels_;  // The runs of each are of like size.
  uint64_t run_count_ = 0;
  uint64_t file_bytes_ = 0;
};

}  // namespace cairn
