// An iterator for scans that go forward, which is nearly all of them, at a quarter of the cost of
// RocksDB's own.
//
// RocksDB's iterator keeps what few callers need: merge operands, wide columns, values in blob
// files, times of writing, directions that change, figures of the thread. This one stands on the
// same internal iterators, which give all versions of all keys in order, and picks the newest that
// is visible. As soon as it is asked for more (another direction) or meets more (any other kind of
// entry), it puts RocksDB's own in its place, over the same versions.
//
// Between bounds, of an index for example, it takes those files alone that have keys between them,
// and goes through these by itself where their blocks are in the cache (level_iterator.h).
//
// The active memtable is kept apart from what is older. It is where the versions of a row pile up
// until the next flush: they are passed by a search in it alone, which is one step in a tree
// (memtable_tree.h), where RocksDB's iterator searches all files again.
//
// It depends on RocksDB's internal headers, and so on the pinned version. README.md says which
// files do.
#pragma once

#include <memory>

#include "engine/lsm/level_zero_reads.h"
#include "engine/lsm/memtable_reads.h"
#include "engine/lsm/read_verifier.h"
#include "rocksdb/db.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"

namespace cairn::lsm {

// Whom an iterator tells what its reads have met; they outlive it. Null: nobody.
struct ReadFigures {
  MemtableReads* memtable = nullptr;  // Entries in the active memtable.
  LevelZeroReads* level_zero = nullptr;
};

// As DB::NewIterator: it shows the state of options.snapshot or, without one, of now. What
// `options` points at outlives the result, and does not change. `database` is a DB that reads with
// no other visibility than sequence numbers: not one of the policies write-prepared and
// write-unprepared. With a verifier, which outlives the result, RocksDB's own iterator makes each
// move as well, and the entries are compared.
std::unique_ptr<rocksdb::Iterator> NewForwardIterator(rocksdb::DB* database,
                                                      rocksdb::ColumnFamilyHandle* family,
                                                      const rocksdb::ReadOptions& options,
                                                      const ReadFigures& figures = {},
                                                      ReadVerifier* verifier = nullptr);

}  // namespace cairn::lsm
