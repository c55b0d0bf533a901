// Whether RocksDB's write-ahead logs are whole, found out before RocksDB replays them.
//
// RocksDB takes any log that ends within a record for one that a crash cut off, also when later
// transactions follow in the next one; it passes over zeros in silence; and it refuses a tail that
// a file system has filled with zeros. What a start leaves out of the logs is decided here instead,
// by rocksdb_wal_recovery_mode:
//
//   0  leaves out the record that a crash cut off at the very end; refuses any other damage
//   1  refuses both
//   2  goes back to before the first damage; refuses where table files have later changes already
//   3  leaves out what is damaged and goes on behind it
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace cairn {

// The first place in a log that is not as it was written.
struct LogDamage {
  enum class Kind : uint8_t {
    kCutOff,   // The last record of the file lacks its end, which is missing or zeros. Nothing
               // follows.
    kZeros,    // Zeros between records.
    kDamaged,  // Anything else.
  };
  std::string path;
  uint64_t number = 0;  // Of the log.
  Kind kind = Kind::kDamaged;
  uint64_t offset = 0;    // Where the record begins: all before it is whole.
  uint64_t size = 0;      // Of the file.
  bool followed = false;  // By whole records, in this log or a later one.
};

// A log, and whether it holds changes: one that was begun and not used has none.
struct FoundLog {
  std::string path;
  bool has_changes = false;  // Also in a log that is damaged.
};

// All logs in `directory`, by number. Errors: kIoError.
Result<std::vector<FoundLog>> FindLogs(rocksdb::Env* env, const std::string& directory);

// Looks at all logs in `directory`, in the order in which they were written. Errors: kIoError.
Result<std::vector<LogDamage>> FindLogDamage(rocksdb::Env* env, const std::string& directory);

// Where a database has its files, and its logs, which may be elsewhere.
struct LogPlaces {
  std::string database;
  std::string logs;
};

// Lets a start go on by `mode`, or says why it cannot; `log` is told what it leaves out. What mode
// 2 leaves out, and damage at the very end, which nothing whole follows, is cut away, so that
// neither RocksDB nor a later start finds it. Nothing else is changed. The caller has the
// directories to itself. Errors: kCorruption, kIoError.
Status PrepareLogs(rocksdb::Env* env, const LogPlaces& places, rocksdb::WALRecoveryMode mode,
                   Log* log);

}  // namespace cairn
