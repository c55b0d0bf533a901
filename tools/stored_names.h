// What RocksDB's tools must know to read a directory of the engine: the orders of keys and the
// merge operator that its files name.
#pragma once

#include <string>
#include <vector>

#include "engine/base/status.h"
#include "rocksdb/db.h"

namespace cairn {

// From now on RocksDB finds the engine's comparators by their names in files.
void RegisterOrders();

// The column families of a directory, with the order and the merge operator of each; none when
// there is no directory to read. Errors: kCorruption where RocksDB would not get past the manifest,
// kIoError.
Result<std::vector<rocksdb::ColumnFamilyDescriptor>> StoredColumnFamilies(
    const std::string& directory);

}  // namespace cairn
