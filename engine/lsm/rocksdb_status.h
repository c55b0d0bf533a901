// Turns RocksDB's statuses into ours. Nothing above store/ looks at a rocksdb::Status.
#pragma once

#include "engine/base/status.h"
#include "rocksdb/status.h"

namespace cairn {

// The Status with the same meaning. "Busy" without a deadlock means that a row changed after the
// transaction's snapshot.
Status FromRocksDb(const rocksdb::Status& status);

}  // namespace cairn
