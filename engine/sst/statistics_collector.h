// Counts the entries of each index while a table file is written, and leaves the counts in the file
// as its property `__indexstats__` (docs/stock-format.md, 13).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "engine/codec/dictionary_record.h"
#include "engine/codec/index_codec.h"
#include "rocksdb/table_properties.h"

namespace cairn {

// The codecs of indexes whose tables were opened since the start: they can tell the parts of a key,
// so that distinct values can be counted. Thread-safe. Mutex: mutex_ guards codecs_.
class KeyLayouts {
 public:
  void Add(IndexId id, std::shared_ptr<const IndexCodec> codec);
  void Remove(IndexId id);
  // Null when nobody opened the index's table yet.
  std::shared_ptr<const IndexCodec> Find(IndexId id) const;

 private:
  mutable std::mutex mutex_;
  std::map<IndexId, std::shared_ptr<const IndexCodec>> codecs_;
};

// What may be changed while files are written, for those begun from then on, and what was counted
// since the start. Thread-safe.
struct CollectorControl {
  // Percentage of keys beyond the first kCountedRows of an index in a file on which distinct values
  // are counted; 0 and 100 mean all of them (rocksdb_table_stats_sampling_pct).
  std::atomic<uint32_t> sampling_percent{100};
  // A file is compacted again when it is larger than `delete_heavy_file_bytes` and holds more than
  // `delete_heavy_count` deletions in some run of `delete_heavy_window` entries; 0 of either: never
  // (rocksdb_compaction_sequential_deletes...).
  std::atomic<int64_t> delete_heavy_count{0};
  std::atomic<int64_t> delete_heavy_window{0};
  std::atomic<int64_t> delete_heavy_file_bytes{0};
  std::atomic<bool> single_deletes_count{false};  // As deletions, for that rule.

  // Entries of the files finished since the start.
  std::atomic<uint64_t> puts{0};
  std::atomic<uint64_t> deletes{0};
  std::atomic<uint64_t> single_deletes{0};
  std::atomic<uint64_t> merges{0};
  std::atomic<uint64_t> others{0};
};

// So many rows of an index are counted in each file before sampling, if it is asked for, sets in:
// small tables get exact figures.
inline constexpr int64_t kCountedRows = 1000;

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> MakeStatisticsCollectorFactory(
    std::shared_ptr<CollectorControl> control, std::shared_ptr<const KeyLayouts> layouts);

}  // namespace cairn
