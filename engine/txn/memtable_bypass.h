// Large commits whose write batch becomes a memtable as it is, in place of being copied into one
// entry by entry (cairn_bypass_memtable_bytes).
//
// RocksDB does that with prepared transactions from a size on, if their batch holds no merges and
// nothing that the batch's index lacks. It cannot take the batch back: when such a commit fails,
// the log alone knows what was prepared.
#pragma once

#include <vector>

#include "engine/store/database.h"
#include "rocksdb/db.h"
#include "rocksdb/utilities/write_batch_with_index.h"

namespace cairn {

// Whether the batch is so large that RocksDB commits it so once it is prepared, or nearly.
bool MayBypassMemtable(const Database& database, rocksdb::WriteBatchWithIndex* batch);

// Whether there is room for the log that RocksDB begins with such a commit. Without, the database
// takes no more writes until the next start.
bool HasRoomForBypass(const Database& database);

// Makes RocksDB commit the batch in the ordinary way, however large it is.
rocksdb::Status KeepInMemtable(const Database& database, rocksdb::WriteBatchWithIndex* batch);

std::vector<rocksdb::ColumnFamilyHandle*> ChangedFamilies(const Database& database,
                                                          rocksdb::WriteBatchWithIndex* batch);

// Waits until the memtables of the families are in files, and their memory is free: RocksDB does
// not count what a batch takes that has become a memtable. Errors are logged; the log has what was
// committed.
void WriteOut(const Database& database, const std::vector<rocksdb::ColumnFamilyHandle*>& families);

}  // namespace cairn
