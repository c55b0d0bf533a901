// The records of a file in RocksDB's log format: a write-ahead log or a manifest.
//
// log_records.cc depends on RocksDB's internal headers, and so on the pinned version.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/status.h"
#include "rocksdb/env.h"
#include "rocksdb/slice.h"

namespace cairn::lsm {

// Whether RocksDB's reader comes to the end of the file `path`. Errors: kCorruption (a record that
// it would not get past), kIoError (also: there is no such file).
Status CheckReaderEnds(rocksdb::Env* env, const std::string& path);

// Calls `use` with each record of the file `path` in their order, until it fails; a record is valid
// during the call. `number` is that of a write-ahead log, 0 of a manifest. Reads only. A record
// that a crash cut off at the end is left out. Errors: kCorruption (any other damage), kIoError,
// those of `use`.
Status ForEachRecord(rocksdb::Env* env, const std::string& path, uint64_t number,
                     const std::function<Status(const rocksdb::Slice&)>& use);

}  // namespace cairn::lsm
