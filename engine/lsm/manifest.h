// What RocksDB's manifest says of the write-ahead logs, read before RocksDB opens the directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "rocksdb/env.h"

namespace cairn::lsm {

// What a column family has in table files.
struct FamilyFiles {
  // They have all changes of logs below this number, and may have none of this log and of later
  // ones.
  uint64_t oldest_needed_log = 0;
  uint64_t files = 0;
};

// Of each column family, in no order, by the manifest that CURRENT in `directory` names. Errors:
// kCorruption, kIoError.
Result<std::vector<FamilyFiles>> ReadFamilyFiles(rocksdb::Env* env, const std::string& directory);

}  // namespace cairn::lsm
