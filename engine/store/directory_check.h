// Whether a directory may be opened as it lies there, found out before RocksDB opens it.
//
// Where there is no CURRENT, RocksDB makes a new database and removes the table files of the old
// one; and it looks for logs only where rocksdb_wal_dir points, so that those of a copy, which lie
// beside the table files, or those where the option has pointed before, are passed over with all
// that is nowhere else. This is refused here instead.
#pragma once

#include <string>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "rocksdb/env.h"

namespace cairn {

// Reads only. `log_directory` is rocksdb_wal_dir, empty when the logs lie in `directory`; `log` is
// told of logs without records that lie in the wrong place. A directory that does not exist is
// fine. The caller has the directory to itself. Errors: kCorruption (files of a database without
// CURRENT; the text says which, and how to go on), kInvalidArgument (logs with records in
// `directory`, or where the database had them when it was last open, although `log_directory` is
// another one), kIoError.
Status CheckDirectory(rocksdb::Env* env, const std::string& directory,
                      const std::string& log_directory, Log* log);

}  // namespace cairn
