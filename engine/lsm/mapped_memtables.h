// Memtables whose memory the system has back as soon as they are freed.
//
// A memtable consists of pieces of a mebibyte, entries of more than a quarter of that apart. From
// the C library's allocator they would come out of the arena of whichever thread has made them,
// between blocks of the cache, and stay there when they are freed
// (docs/measurements/tpcc-memory.md). RocksDB maps pieces by themselves where they are to be huge
// pages (memtable_huge_page_size), so Cairn asks for that, with an odd size, and maps ordinary
// pages: its MemMapping::AllocateHuge is replaced at link time. Whoever gives
// memtable_huge_page_size himself gets huge pages; with arena_block_size=1m memtables are malloc's.
#pragma once

#include "rocksdb/options.h"

namespace cairn::lsm {

// Has memtables mapped unless the options say something else about their pieces, or memtables are
// so small that their pieces are, too.
void MapMemtables(rocksdb::ColumnFamilyOptions* options);

}  // namespace cairn::lsm
