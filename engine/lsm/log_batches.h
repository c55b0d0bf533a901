// The write batches in a write-ahead log, read as RocksDB's recovery reads them, while nobody has
// the database open.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/status.h"
#include "rocksdb/env.h"
#include "rocksdb/write_batch.h"

namespace cairn::lsm {

// Calls `use` with each batch of the log `path`, whose number is `number`, in the order in which
// they were written, until it fails; a batch is valid during the call. Reads only. A record that a
// crash cut off at the end of the log is left out. Errors: kCorruption (any other damage),
// kIoError, those of `use`.
Status ForEachBatch(rocksdb::Env* env, const std::string& path, uint64_t number,
                    const std::function<Status(const rocksdb::WriteBatch&)>& use);

}  // namespace cairn::lsm
