// Builds of indexes that go on: what each has done so far.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cairn {

// Of one index. Relaxed counters: any thread reads them.
struct NewIndexFigures {
  std::string name;
  std::atomic<uint64_t> entries_written{0};  // To sorted files.
  std::atomic<uint64_t> temporary_bytes{0};  // In files that are not RocksDB's (yet).
  std::atomic<uint64_t> suspects{0};         // Unique values that were met twice.
  std::atomic<uint64_t> delta_written{0};    // By writers, whatever became of their transactions.
  std::atomic<uint64_t> delta_merged{0};
  std::atomic<uint64_t> delta_settled{0};  // Of delta_written: what no round need look at again.

  // Entries that are still to be merged, about: those written since the last round began count,
  // also of transactions that are rolled back, and several of one key.
  uint64_t DeltaLeft() const {
    const uint64_t settled = delta_settled.load(std::memory_order_relaxed);
    const uint64_t written = delta_written.load(std::memory_order_relaxed);
    return written > settled ? written - settled : 0;
  }
};

// Of all indexes that one statement builds in one table or partition.
class IndexBuildFigures {
 public:
  // kWait: until nobody uses the table.
  enum class Stage : uint8_t { kScan, kSort, kMerge, kWait, kLastMerge };

  // `table_name`: the dictionary's.
  IndexBuildFigures(std::string table_name, const std::vector<std::string>& index_names)
      : table_name_(std::move(table_name)), indexes_(index_names.size()) {
    for (size_t i = 0; i < indexes_.size(); ++i) indexes_[i].name = index_names[i];
  }

  const std::string& table_name() const { return table_name_; }
  std::vector<NewIndexFigures>& indexes() { return indexes_; }
  const std::vector<NewIndexFigures>& indexes() const { return indexes_; }
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }
  // One figure of all indexes.
  uint64_t Sum(std::atomic<uint64_t> NewIndexFigures::*figure) const {
    uint64_t sum = 0;
    for (const NewIndexFigures& index : indexes_) sum += index.*figure;
    return sum;
  }

  std::atomic<Stage> stage{Stage::kScan};
  std::atomic<uint64_t> rows_read{0};
  std::atomic<uint64_t> rows_estimated{0};

 private:
  const std::string table_name_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::vector<NewIndexFigures> indexes_;
};

// Thread-safe.
class IndexBuildList {
 public:
  void Add(std::shared_ptr<const IndexBuildFigures> build);
  enum class End : uint8_t { kFinished, kAbandoned };
  void Remove(const IndexBuildFigures* build, End end);

  // Those that go on, in the order in which they began.
  std::vector<std::shared_ptr<const IndexBuildFigures>> Running() const;
  // Since the start.
  uint64_t finished() const { return finished_.load(std::memory_order_relaxed); }
  uint64_t abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const IndexBuildFigures>> running_;  // Guarded by mutex_.
  std::atomic<uint64_t> finished_{0};
  std::atomic<uint64_t> abandoned_{0};
};

}  // namespace cairn
