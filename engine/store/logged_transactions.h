// The prepared transactions that the write-ahead logs of a directory hold, found without opening
// the database: RocksDB would replay the logs into new files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/log_check.h"
#include "rocksdb/env.h"

namespace cairn {

// A log that recovery would read.
struct TransactionLog {
  uint64_t number = 0;
  std::string path;
  int64_t written_s = 0;  // When it was last written, in seconds since the epoch.
  // The transactions that were prepared and committed within it, in the order of their commits.
  std::vector<std::string> committed;
};

// One that is neither committed nor rolled back.
struct LoggedTransaction {
  std::string name;
  uint64_t log_number = 0;  // Where it was prepared.
  uint64_t changes = 0;     // Entries that it puts, merges or deletes.
  uint64_t bytes = 0;       // Of their keys and values.
};

struct LoggedTransactions {
  std::vector<LoggedTransaction> prepared;  // In the order in which they were prepared.
  std::vector<TransactionLog> logs;         // By number.
  // What the logs hold was written before it was committed (rocksdb_write_policy=write_prepared).
  bool write_prepared = false;
};

// Reads only. The caller has the directories to itself. A record that a crash cut off at the very
// end counts as not written, as for a start. Errors: kCorruption (any other damage), kNotSupported
// (logs of both write policies, or of one that is not known), kIoError.
Result<LoggedTransactions> FindLoggedTransactions(rocksdb::Env* env, const LogPlaces& places);

}  // namespace cairn
