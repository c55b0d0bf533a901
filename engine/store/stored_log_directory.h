// Where a database had its logs when it was last open, as RocksDB has noted in the newest OPTIONS
// file of its directory.
#pragma once

#include <string>

#include "engine/base/status.h"
#include "rocksdb/env.h"

namespace cairn {

// The directory (rocksdb_wal_dir); empty when the logs lie beside the table files, or when nothing
// is noted. Errors: kIoError.
Result<std::string> StoredLogDirectory(rocksdb::Env* env, const std::string& directory);

// Notes in a copy of a database, whose logs lie beside the table files, that they do. Errors:
// kIoError, kNoSpace.
Status ForgetStoredLogDirectory(rocksdb::Env* env, const std::string& directory);

}  // namespace cairn
