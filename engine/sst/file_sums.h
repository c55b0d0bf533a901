// What the statistics in the table files of a column family say of each of its indexes when they
// are put together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/codec/index_statistics.h"
#include "engine/codec/value_sample.h"
#include "engine/sst/statistics_collector.h"
#include "rocksdb/db.h"
#include "rocksdb/table_properties.h"

namespace cairn {

// Element i: the values of the first i+1 parts of an index's keys, in all files.
using ValuesOfPrefixes = std::vector<SharedValues>;

// Distinct values are counted once within a sorted run, such as a level below 0, also those that
// begin in one file and end in the next; values that several runs share are told by samples.
// Entries that a deletion in another file hides count until both are merged.
struct IndexSums {
  // The distinct counts are empty unless files that have them hold most of the entries.
  IndexStatistics sums;
  std::shared_ptr<const ValuesOfPrefixes> values;  // As many as distinct counts.
};

struct FileSums {
  std::map<IndexId, IndexSums> indexes;
  std::map<IndexId, uint64_t>
      disk_bytes;                // With their shares of the blocks that belong to whole files.
  bool complete = true;          // Every file has statistics.
  bool range_deletions = false;  // Some file has a deletion of a range of keys.
};

// `files` are some of the family's, or all. Unreadable statistics are logged and count as missing.
FileSums SumFiles(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                  const rocksdb::TablePropertiesCollection& files, const KeyLayouts& layouts,
                  Log* log);

// The statistics in a file's properties; nothing when it has none. Errors: those of
// DecodeIndexStatistics.
Result<std::optional<std::vector<IndexStatistics>>> ReadFileStatistics(
    const rocksdb::TableProperties& properties);

}  // namespace cairn
