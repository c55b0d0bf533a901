// Whether the files of a column family are still the ones that were looked at.
#pragma once

#include <cstdint>

#include "rocksdb/db.h"

namespace cairn::lsm {

// A number that changes with every flush, compaction and ingestion of files of a family, and with
// its options; 1 at the least. Costs one load, takes no lock; any thread.
uint64_t FilesVersion(const rocksdb::ColumnFamilyHandle* family);

}  // namespace cairn::lsm
