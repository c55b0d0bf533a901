// Reads of single keys at a fraction of the instructions that RocksDB's DB::Get takes.
//
// RocksDB walks to a row through layers that keep what few callers need: merge operands, blobs,
// wide columns, times of writing, figures of the thread, caches of rows. This goes straight there:
// the memtables, then in each file that may have the key its filter, its index and one block, all
// of them looked up in the block cache and searched as they lie there (block_search.h). It answers
// what is a plain value or a deletion, in a block that is in the cache or that one read brings
// there. As soon as it meets anything else (another kind of entry, another layout, damage, an
// error), it forgets what it has and RocksDB's own answers, errors included.
//
// The statistics of the database count as if RocksDB had answered; its traces of queries and of the
// block cache, which nothing here starts, would miss what is answered.
//
// It depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <cstddef>

#include "engine/lsm/read_verifier.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/slice.h"

namespace cairn::lsm {

// As DB::Get. `database` is a DB that reads with no other visibility than sequence numbers: not one
// of the policies write-prepared and write-unprepared. With a verifier, what RocksDB's own iterator
// finds is compared with the answer; unlike a look-up it also meets files that are damaged
// elsewhere.
rocksdb::Status LookUp(rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                       const rocksdb::ReadOptions& options, const rocksdb::Slice& key,
                       rocksdb::PinnableSlice* value, ReadVerifier* verifier = nullptr);

// As DB::MultiGet, for the same databases. What is not in memory is read by MultiGet, all of it
// together.
void LookUpMany(rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                const rocksdb::ReadOptions& options, size_t count, const rocksdb::Slice* keys,
                rocksdb::PinnableSlice* values, rocksdb::Status* outcomes,
                ReadVerifier* verifier = nullptr);

}  // namespace cairn::lsm
