// Sorts more entries than memory holds: sorted runs go to table files in a temporary directory and
// are merged.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/lsm/key_order.h"
#include "engine/sort/key_sort.h"
#include "engine/sort/sort_settings.h"
#include "engine/store/sort_directories.h"
#include "rocksdb/comparator.h"
#include "rocksdb/env.h"

namespace cairn {

// Used by one thread at a time; one of its own may empty memory meanwhile. Removes its files when
// it ends.
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
  // kNoSpace; those of what WhenFull() was told.
  Status Add(std::string_view key, std::string_view value);

  // From here on a full buffer, of half the size, is emptied by a thread while another one is
  // filled. What fails there is told by the next call that finds the other one full, or by
  // EmptyMemory() or Drain(). Before the first Add().
  void WorkInBackground() { in_background_ = true; }
  // What is done with a full buffer, which is written to a run otherwise: Spill(), or
  // DrainHandedOver(). Called by the thread that empties it. Before the first Add().
  void WhenFull(std::function<Status()> empty) { empty_ = std::move(empty); }
  // As if the buffer were full; it is empty then. Errors: those of WhenFull(), or of Spill().
  Status EmptyMemory();
  // Writes the buffer that was handed over to a run, if it is not empty. Errors: kIoError,
  // kNoSpace; all calls that follow say so again.
  Status Spill();
  // Gives the buffer that was handed over to `sink` in the comparator's order. Errors: those of
  // `sink`. kOutOfOrder says that nothing was taken, and Spill() may follow; all calls that follow
  // say any other error again.
  Status DrainHandedOver(const Sink& sink);

  // Returns when the thread has done what it does.
  void WaitForThread() const {
    if (emptied_.valid()) emptied_.wait();
  }

  // Gives every entry to `sink` in the comparator's order, then is empty.
  // Errors: kDuplicateKey, kIoError, kNoSpace, kCorruption, those of `sink`.
  Status Drain(const Sink& sink);

  uint64_t entry_count() const { return entry_count_; }
  // Whether no buffer was full yet.
  bool is_in_memory() const { return !was_full_; }
  // Memory in use for entries.
  uint64_t buffered_bytes() const {
    return buffer_bytes_ + handed_over_bytes_.load(std::memory_order_relaxed);
  }
  // Of the runs. Any thread may ask.
  uint64_t file_bytes() const { return file_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Run {
    std::string path;
    uint64_t bytes = 0;
  };
  struct Buffer {
    std::vector<std::unique_ptr<char[]>> blocks;
    size_t block_left = 0;
    char* block_next = nullptr;
    std::vector<SortEntry> entries;
  };

  SortEntry Keep(std::string_view key, std::string_view value);
  void SortBuffer(Buffer* buffer) const;
  Status DrainBuffer(Buffer* buffer, const Sink& sink) const;
  Status Empty();
  void ForgetHandedOver();
  Status HandOver();
  Status AwaitThread();
  Status SpillHandedOver();
  Status WriteRun(size_t level, const std::function<Status(const Sink&)>& source);
  Status MergeRuns(const std::vector<Run>& runs, std::span<const SortEntry> in_memory,
                   uint64_t bytes_in_memory, const Sink& sink) const;
  void RemoveRuns(std::vector<Run>* runs);
  void WaitAfterRemoval() const;
  void RemoveAllRuns();

  rocksdb::Env* const env_;
  const rocksdb::Comparator* const comparator_;
  const std::optional<lsm::KeyOrder> order_;  // That of the comparator; none: it is not ours.
  const std::string name_;
  const SortSettings settings_;
  bool in_background_ = false;
  std::function<Status()> empty_;  // Empty: Spill() does it.
  Buffer buffer_;                  // That Add() fills.
  uint64_t buffer_bytes_ = 0;
  std::unordered_set<std::string_view> keys_;  // In buffer_.
  uint64_t entry_count_ = 0;
  bool was_full_ = false;
  // The thread's, while there is one: the buffer that it empties, and the runs.
  Buffer handed_over_;
  std::atomic<uint64_t> handed_over_bytes_{0};
  Status failure_;                        // Entries are lost.
  std::vector<std::vector<Run>> levels_;  // The runs of each are of like size.
  uint64_t run_count_ = 0;
  std::atomic<uint64_t> file_bytes_{0};
  std::future<Status> emptied_;  // What the thread says; not valid when there is none.
};

}  // namespace cairn
