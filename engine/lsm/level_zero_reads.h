// What reads pay because files of level 0 lie beside one another, so that they are merged early
// when that pays.
//
// A read asks every file of level 0 whose range of keys it meets, where one file would do, and a
// scan passes the older versions of a row that lie in each of them. RocksDB merges them when there
// are level0_file_num_compaction_trigger of them, and until then, which is forever if nobody
// writes, every read pays. They can be merged
// - with one another: that costs their own size, and one of them is left;
// - with the level below: that costs as much of that level as if there were more of them, so what
//   is lost is what would have been shared with those that are not there yet.
// Either is done once reads have wasted about as much: whatever is read and written later, that is
// about twice the better of the two choices at most.
//
// All functions may be called from any thread; what iterators that end at the same time have wasted
// may get lost.
#pragma once

#include <atomic>
#include <cstdint>

namespace cairn::lsm {

enum class LevelZeroMerge : uint8_t { kNone, kAmongThemselves, kWithLevelBelow };

class LevelZeroReads {
 public:
  // The files of level 0, and what merging them takes.
  struct Files {
    uint64_t oldest = 0;  // The number of the oldest one, which every merge replaces.
    uint64_t count = 0;
    uint64_t trigger = 0;  // With so many RocksDB merges them without being asked.
    uint64_t asked =
        0;  // How often reads of single keys asked one of them, those included that found theirs.
    uint64_t bytes = 0;        // Of them all.
    uint64_t bytes_below = 0;  // That merging them with the level below rewrites beside.
  };

  // What an iterator has done over `files` files of level 0 beside other data.
  struct Scan {
    uint64_t files = 0;
    uint64_t seeks = 0;
    uint64_t moves = 0;   // To the next entry.
    uint64_t passed = 0;  // Entries in files that were not shown.
  };

  // `oldest`: see Files.
  void Add(uint64_t oldest, const Scan& scan) {
    if (oldest_.exchange(oldest, std::memory_order_relaxed) != oldest) {
      waste_ns_.store(0, std::memory_order_relaxed);
    }
    waste_ns_.fetch_add(
        scan.files * (kSeekNs * scan.seeks + kMoveNs * scan.moves) + kPassNs * scan.passed,
        std::memory_order_relaxed);
  }

  // Whether it may pay to merge files of which `oldest` is the oldest one and which were asked so
  // often, whatever their sizes are.
  bool MayPay(uint64_t oldest, uint64_t asked) const { return WasteNs(oldest, asked) >= kMergeNs; }

  // What it pays to do with `files` now.
  LevelZeroMerge Choose(const Files& files) const {
    if (files.count == 0 || files.count >= files.trigger) return LevelZeroMerge::kNone;
    const auto count = static_cast<double>(files.count);
    const auto trigger = static_cast<double>(files.trigger);  // As large as can be for "never".
    const auto bytes = static_cast<double>(files.bytes);
    const auto waste_ns = static_cast<double>(WasteNs(files.oldest, files.asked));
    const double among_ns = kMergeNs + kByteNs * bytes;
    const double below_ns = kMergeNs + kByteNs * (bytes + static_cast<double>(files.bytes_below)) *
                                           (trigger - count) / trigger;
    // One file is left of them, which goes on to be asked.
    const double saved_ns = waste_ns * (count - 1) / count;
    if (among_ns < below_ns && saved_ns >= among_ns) return LevelZeroMerge::kAmongThemselves;
    return waste_ns >= below_ns ? LevelZeroMerge::kWithLevelBelow : LevelZeroMerge::kNone;
  }

 private:
  uint64_t WasteNs(uint64_t oldest, uint64_t asked) const {
    const bool same = oldest_.load(std::memory_order_relaxed) == oldest;
    return (same ? waste_ns_.load(std::memory_order_relaxed) : 0) + kGetNs * asked;
  }

  // Nanoseconds of a processor, measured on an AMD EPYC. For each file: to ask its filter, to
  // search it, to compare its next key with those of the others.
  static constexpr uint64_t kGetNs = 400;
  static constexpr uint64_t kSeekNs = 1300;
  static constexpr uint64_t kMoveNs = 20;
  static constexpr uint64_t kPassNs = 250;
  // To merge a byte of a file, and to begin and to end a merge.
  static constexpr uint64_t kByteNs = 20;
  static constexpr uint64_t kMergeNs = 200'000'000;

  std::atomic<uint64_t> oldest_{0};
  std::atomic<uint64_t> waste_ns_{0};
};

}  // namespace cairn::lsm
