// What scans of a memtable cost beyond what they would cost in files, so that it is written out
// when that pays.
//
// A memtable keeps each old version of a row, and what it has is merged with the rows of files; a
// file that is written of it has fewer of them and is merged with the others. In a tree
// (memtable_tree.h) old versions are passed without being met, in a skip list one by one. To write
// it out, and to merge the file into the others, costs something as well. So it is done once reads
// have wasted about as much: whatever is read later, that is about twice the better of the two
// choices at most.
//
// All functions may be called from any thread; figures of scans that end at the same time may get
// lost.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace cairn::lsm {

class MemtableReads {
 public:
  // The state of the memtable in which entries were met last, and what that has wasted.
  struct Figures {
    uint64_t entries = 0;
    uint64_t bytes = 0;
    uint64_t given = 0;
    uint64_t passed = 0;  // Old versions, and what searches for the next row cost in their place.

    uint64_t Waste() const { return given + kPassedCost * passed; }  // In entries that were given.
  };

  // A scan has met entries in a memtable, which it gave or passed over. `start` is the number of
  // the last change before that memtable began.
  void Add(uint64_t start, uint64_t entries, uint64_t bytes, uint64_t given, uint64_t passed) {
    if (start_.exchange(start, std::memory_order_relaxed) != start) Forget();
    entries_.store(entries, std::memory_order_relaxed);
    bytes_.store(bytes, std::memory_order_relaxed);
    given_.fetch_add(given, std::memory_order_relaxed);
    passed_.fetch_add(passed, std::memory_order_relaxed);
  }

  void Forget() {
    given_.store(0, std::memory_order_relaxed);
    passed_.store(0, std::memory_order_relaxed);
  }

  Figures figures() const {
    return {entries_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed),
            given_.load(std::memory_order_relaxed), passed_.load(std::memory_order_relaxed)};
  }

  // Whether it pays to write the memtable out, after which `merged_bytes` of files are to be merged
  // with it.
  static bool Pays(const Figures& figures, uint64_t merged_bytes) {
    if (figures.entries == 0 || figures.Waste() == 0) return false;
    const uint64_t entry_bytes = figures.bytes / figures.entries + 1;
    // Of the entries those are written that are the last of their row: the share that scans are
    // given, which may have met a part of the rows alone.
    const double given =
        static_cast<double>(figures.given) / static_cast<double>(figures.given + figures.passed);
    const double last = std::max(given, kLeastWritten);
    const double entries = static_cast<double>(figures.entries);
    const uint64_t merged_entries = merged_bytes / entry_bytes;
    return static_cast<double>(figures.Waste()) >=
           kStepCost * entries + kWriteCost * (last * entries + static_cast<double>(kFlushCost) +
                                               static_cast<double>(merged_entries));
  }

 private:
  // To pass over an old version is to step and to compare it with the one before.
  static constexpr uint64_t kPassedCost = 2;
  // What it takes to come to an entry when the memtable is written out, and to write one and to
  // merge it later: the latter is microseconds, as against a sixth of one.
  static constexpr uint64_t kStepCost = 2;
  static constexpr uint64_t kWriteCost = 16;
  // The smallest share of entries that is taken to be written.
  static constexpr double kLeastWritten = 0.25;
  // A file is made and synced; in entries that are written.
  static constexpr uint64_t kFlushCost = 20'000;

  std::atomic<uint64_t> start_{0};
  std::atomic<uint64_t> entries_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> given_{0};
  std::atomic<uint64_t> passed_{0};
};

}  // namespace cairn::lsm
