// What RocksDB's manifest says of table files and logs, read before RocksDB opens the directory.
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

struct Manifest {
  std::vector<FamilyFiles> families;  // In no order.
  uint64_t oldest_needed_log = 0;  // RocksDB reads none before, for prepared transactions either.
};

// Whether RocksDB's reader gets to the end of the manifest that CURRENT in `directory` names; what
// else may be wrong with either is RocksDB's to tell. Errors: kCorruption, kIoError.
Status CheckManifest(rocksdb::Env* env, const std::string& directory);

// Of the manifest that CURRENT in `directory` names. Errors: kCorruption, kIoError.
Result<Manifest> ReadManifest(rocksdb::Env* env, const std::string& directory);

}  // namespace cairn::lsm
