// The statistics of indexes, summed over the table files that are live (docs/stock-format.md, 13).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/codec/index_statistics.h"
#include "engine/sst/file_sums.h"
#include "engine/sst/statistics_collector.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"

namespace cairn {

// An index as the files showed it when they were counted last.
struct IndexInFiles {
  IndexStatistics sums;
  uint64_t disk_bytes = 0;  // With its share of the blocks that belong to the whole file.
};

// Thread-safe. A flush, a compaction or an ingestion makes a column family stale; Refresh() sums up
// its files again, so that no sequence of events can make the sums drift. Mutex: mutex_ guards
// everything.
class FileStatistics {
 public:
  FileStatistics(std::shared_ptr<const KeyLayouts> layouts, Log* log)
      : layouts_(std::move(layouts)), log_(log) {}

  // What an earlier run left in the dictionary. Holds until the index's family is refreshed.
  void Restore(const IndexStatistics& statistics);
  // The files of a family changed.
  void MarkStale(uint32_t column_family);
  std::vector<uint32_t> StaleFamilies() const;

  // Sums up the files of a family. Unreadable statistics are logged and count as missing.
  Status Refresh(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family);

  // Whether a file of a family had a deletion of a range of keys when they were last counted, or
  // was not counted yet.
  bool MayHaveRangeDeletions(uint32_t column_family) const;

  // The sums of an index, while they are those of all its files: not when files have changed since,
  // and not while files without the property are among them.
  std::optional<IndexStatistics> Find(IndexId id) const;
  // The same, with the values; without them when the files were not looked at since the start.
  std::optional<IndexSums> FindSums(IndexId id) const;

  // The last sums of an index, also when files have changed since; zeros when none are known.
  IndexInFiles FindLast(IndexId id) const;
  // When the files of a family were counted last, in microseconds since the epoch; none since the
  // start.
  std::optional<int64_t> CountedAt(uint32_t column_family) const;

  // The indexes whose sums changed since the last call.
  std::vector<IndexStatistics> TakeChanged();
  void Remove(IndexId id);

 private:
  const std::shared_ptr<const KeyLayouts> layouts_;
  Log* const log_;
  mutable std::mutex mutex_;
  std::map<IndexId, IndexSums> sums_;
  std::map<IndexId, uint64_t> disk_bytes_;  // Of IndexInFiles, as far as counted since the start.
  std::map<uint32_t, int64_t> counted_at_;  // By family.
  std::set<IndexId> changed_;
  std::set<uint32_t> stale_;       // Families.
  std::set<uint32_t> incomplete_;  // Families with files that have no statistics.
  std::set<uint32_t> with_range_deletions_;
};

std::shared_ptr<rocksdb::EventListener> MakeStatisticsListener(
    std::shared_ptr<FileStatistics> statistics);

}  // namespace cairn
