// Makes the names of RocksDB's write-ahead logs durable as soon as they exist.
//
// RocksDB 11.8.1 syncs the log's directory before the first sync of a new log counts, but not
// always: with DBOptions::two_write_queues a write with sync=true takes the directory for synced
// before anything is (WriteImpl and MarkLogsSynced in db/db_impl). Where the sync of a file does
// not keep its name, a power cut would then take the whole log, with all that was acknowledged.
#pragma once

#include <memory>

#include "rocksdb/env.h"

namespace cairn {

// `env` with a file system that syncs a log's directory before it hands out the new log
// (NNNNNN.log). What that sync fails with, creating the log fails with. `env` outlives the result.
// Thread-safe.
std::unique_ptr<rocksdb::Env> KeepLogNames(rocksdb::Env* env);

}  // namespace cairn
