// What RocksDB has to say, in the engine's log: its warnings and errors, and what its background work met.
#pragma once

#include <memory>

#include "engine/base/log.h"
#include "rocksdb/env.h"
#include "rocksdb/listener.h"

namespace cairn {

// A logger that writes to `file` as before, and warnings and errors to `log` too where `file` takes them. Its level is
// that of `file`. `log` outlives it.
std::shared_ptr<rocksdb::Logger> MakeLibraryLog(std::shared_ptr<rocksdb::Logger> file, Log* log);

// Errors of flushes, compactions and the log of writes, after which RocksDB takes no writes, and that it does again.
std::shared_ptr<rocksdb::EventListener> MakeBackgroundErrorListener(Log* log);

}  // namespace cairn
