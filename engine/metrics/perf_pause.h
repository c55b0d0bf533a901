// Work that a thread does for the engine in the middle of a statement, and that is not to count as
// the statement's.
#pragma once

#include "rocksdb/perf_level.h"

namespace cairn {

// While it lives, RocksDB counts and times nothing for the calling thread.
class PerfPause {
 public:
  PerfPause() : level_(rocksdb::GetPerfLevel()) { rocksdb::SetPerfLevel(rocksdb::kDisable); }
  ~PerfPause() { rocksdb::SetPerfLevel(level_); }
  PerfPause(const PerfPause&) = delete;
  PerfPause& operator=(const PerfPause&) = delete;

 private:
  const rocksdb::PerfLevel level_;
};

}  // namespace cairn
