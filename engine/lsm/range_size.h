// How many bytes of table files a range of keys takes, for the optimizer, which asks before nearly
// every range.
//
// RocksDB's GetApproximateSizes() makes iterators over the indexes of the files where the range
// begins and ends. This searches the bytes of those index blocks (block_search.h), 3,300
// instructions where that took 6,900, and leaves what is unusual to it: files that are not plain
// (point_table.h), indexes that are not in the block cache.
//
// range_size.cc depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <cstdint>

#include "engine/base/status.h"
#include "rocksdb/db.h"
#include "rocksdb/slice.h"

namespace cairn::lsm {

// Of the keys from `start` to before `limit`, in the family's order; off by a data block at each
// end of each file. Memtables are not counted. `family` belongs to `database`. Errors: kIoError,
// kCorruption.
Result<uint64_t> FileBytesBetween(rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                                  const rocksdb::Slice& start, const rocksdb::Slice& limit);

}  // namespace cairn::lsm
