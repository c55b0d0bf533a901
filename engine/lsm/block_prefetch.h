// Scans that wait less for memory: while the rows of one block are read, the next block is on its
// way to the processor.
//
// The blocks of a file lie anywhere in the block cache's memory, and each begins with a chain of
// look-ups (the cache's slot, the block, its end, its begin) that the processor cannot foresee. A
// scan of rows in the cache spent half of its time in these waits on one machine, and little on
// another (docs/measurements/full-scans.md). So an index iterator that moves forward reads one
// entry ahead, looks whether the block is in the cache, and asks the processor to fetch it. Nothing
// is read from files, nothing stays pinned, and what an iterator shows is the same as without.
//
// As the tables have an index reader of ours for it, that also keeps what reads of ours know of a
// table, and searches hash indexes (index_type=kHashSearch) as if they had no hashes; files are
// written without them. RocksDB loses entries with them in two cases:
// - A search for what lies before a key finds nothing in a file that has entries with the key's
//   prefix, where the index entry of their last block sorts before the key, and a prefix of the
//   same bucket follows farther on. (Its IndexBlockIter says that there is no such prefix, and a
//   search backward takes that for the end.)
// - What is shorter than a prefix of fixed length is hashed with the bytes that follow the key, a
//   version among them, which are others when the key is looked for.
//
// It depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <memory>
#include <string_view>

#include "rocksdb/table.h"

namespace rocksdb {
class TableReader;
}

namespace cairn::lsm {

struct PointTable;

// A factory with the options of `factory` that neither writes nor asks hash indexes, and whose
// readers prefetch where the block cache is a HyperClockCache; `factory` itself unless it makes
// block-based tables.
std::shared_ptr<rocksdb::TableFactory> WithBlockPrefetch(
    std::shared_ptr<rocksdb::TableFactory> factory);

// Asks the processor to fetch what an iterator over the block of these bytes looks at first: its
// end, where it says how many restart points it has, and its begin.
void FetchToProcessor(std::string_view block);

// What such a factory has kept of a table for reads of ours. Null: the table is not one that they
// know.
const PointTable* FindPointTable(const rocksdb::TableReader& table);

}  // namespace cairn::lsm
