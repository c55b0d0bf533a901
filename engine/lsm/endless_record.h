// Damaged records that RocksDB's reader of logs never gets past.
//
// Where a record says that it is one of a reused file, in a file that has others before it, the
// reader looks at the same record again and again: for that one damaged byte is enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "rocksdb/env.h"

namespace cairn::lsm {

// Where such records begin in a write-ahead log or a manifest, as far as the reader comes when it
// leaves out what is damaged: with the rest of the block. Errors: kIoError.
Result<std::vector<uint64_t>> FindEndlessRecords(rocksdb::Env* env, const std::string& path);

// Makes them damaged ones that the reader leaves out. Errors: kIoError.
Status EndRecords(rocksdb::Env* env, const std::string& path, const std::vector<uint64_t>& places);

}  // namespace cairn::lsm
