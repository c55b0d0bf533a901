// Which table, index and key a read of RocksDB's was for that met damage: RocksDB itself names the
// file alone.
#pragma once

#include <string_view>

#include "engine/base/status.h"
#include "engine/store/database.h"
#include "rocksdb/status.h"

namespace cairn {

// FromRocksDb(status) for a read in `family`. `key` begins with the number of its index, and is
// that number alone where no single key was looked for. Damage gets in front: "table db.t, index
// `k` (260): ", and the key behind it.
Status FromRead(Database* database, const ColumnFamily& family, std::string_view key,
                const rocksdb::Status& status);

}  // namespace cairn
