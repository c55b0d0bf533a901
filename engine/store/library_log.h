// What RocksDB has to say, in the engine's log: its messages, and what its background work met.
#pragma once

#include <memory>

#include "engine/base/log.h"
#include "engine/store/compaction_throttle.h"
#include "rocksdb/env.h"
#include "rocksdb/listener.h"

namespace cairn {

// A logger that writes messages to `file`, RocksDB's LOG, from INFO_LEVEL on (or from `copied`,
// where that is less), and those from `copied` on to `log` too. SetInfoLogLevel sets `copied`, at
// any time. `log` outlives it.
std::shared_ptr<rocksdb::Logger> MakeLibraryLog(std::shared_ptr<rocksdb::Logger> file, Log* log,
                                                rocksdb::InfoLogLevel copied);

// Errors of flushes, compactions and the log of writes, after which RocksDB takes no writes, and
// that it does again. `throttle`, if there is one, learns of them too.
std::shared_ptr<rocksdb::EventListener> MakeBackgroundErrorListener(
    Log* log, std::shared_ptr<CompactionThrottle> throttle = nullptr);

}  // namespace cairn
