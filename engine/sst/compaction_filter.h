// What compactions leave out: the entries of dropped indexes (docs/stock-format.md, 14), what was
// merged of deltas (dropped_indexes.h), and entries that have expired (section 8).
#pragma once

#include <memory>

#include "engine/base/log.h"
#include "engine/sst/dropped_indexes.h"
#include "engine/sst/expiry.h"
#include "rocksdb/compaction_filter.h"

namespace cairn {

// `log` outlives the database.
std::shared_ptr<rocksdb::CompactionFilterFactory> MakeCompactionFilterFactory(
    std::shared_ptr<const DroppedIndexes> dropped_indexes, std::shared_ptr<Expiry> expiry,
    Log* log);

}  // namespace cairn
