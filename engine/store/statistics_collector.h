// Counts the entries of each index while a table file is written, and leaves the counts in the file as its
// property `__indexstats__` (spec/on-disk-format.md, 13).
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

// The codecs of indexes whose tables were opened since the start: they can tell the parts of a key, so that
// distinct values can be counted. Thread-safe. Mutex: mutex_ guards codecs_.
class KeyLayouts {
 public:
  void Add(IndexId id, std::shared_ptr<const IndexCodec> codec);
  void Remove(IndexId id);
  // Null when nobody opened the index's table yet.
  std::shared_ptr<const IndexCodec> Find(IndexId id) const;

  // Percentage of keys beyond the first kCountedRows of an index in a file on which distinct values are
  // counted; 0 and 100 mean all of them (rocksdb_table_stats_sampling_pct).
  void SetSamplingPercent(uint32_t percent) { percent_.store(percent, std::memory_order_relaxed); }
  uint32_t sampling_percent() const {
    const uint32_t percent = percent_.load(std::memory_order_relaxed);
    return percent == 0 || percent > 100 ? 100 : percent;
  }

 private:
  mutable std::mutex mutex_;
  std::map<IndexId, std::shared_ptr<const IndexCodec>> codecs_;
  std::atomic<uint32_t> percent_{10};
};

// So many rows of an index are counted in each file before sampling sets in: small tables get exact figures.
inline constexpr int64_t kCountedRows = 1000;

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> MakeStatisticsCollectorFactory(
    std::shared_ptr<const KeyLayouts> layouts);

}  // namespace cairn
