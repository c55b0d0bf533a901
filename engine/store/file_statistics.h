// Statistics of the indexes in each data file: gathered while RocksDB writes the file, kept in it as the
// property `__indexstats__` (spec/on-disk-format.md, 13.2).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/index_statistics.h"
#include "engine/store/known_indexes.h"
#include "rocksdb/table_properties.h"

namespace cairn {

// What sessions may change while files are written, and what was counted since the start. Thread-safe.
struct FileStatisticsControl {
  // Percentage of the keys that are looked at for distinct prefixes; 0 and 100: all.
  std::atomic<uint32_t> sampled_percent{10};
  // A file is marked for compaction when it is larger than `delete_heavy_file_bytes` and holds more than
  // `delete_heavy_count` deletions in some run of `delete_heavy_window` entries; 0 of either: never.
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

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> MakeFileStatisticsFactory(
    std::shared_ptr<FileStatisticsControl> control,
    std::shared_ptr<const KnownIndexes> known_indexes);

// The statistics in a file's properties; none when the file has none. Errors: those of
// DecodeIndexStatistics.
Result<std::vector<IndexStatistics>> ReadFileStatistics(const rocksdb::TableProperties& properties);

}  // namespace cairn
