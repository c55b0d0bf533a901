// Whether RocksDB's write-ahead logs are whole, found out before RocksDB replays them.
//
// RocksDB takes any log that ends within a record for one that a crash cut off, also when later
// transactions follow in the next one; it passes over zeros in silence; and it refuses a tail that
// a file system has filled with zeros. What a start leaves out of the logs is decided here instead,
// by rocksdb_wal_recovery_mode:
//
//   0  leaves out the record that a crash cut off at the very end; refuses any other damage, and an
//      end that others than a crash have cut off: table files have changes from behind it
//   1  refuses both
//   2  goes back to before the first damage; refuses where table files have later changes already
//   3  leaves out what is damaged and goes on behind it
#pragma once

#include <cstdint>
#include <functional>
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
    kCutOff,   // The last record of the file lacks its end, which is missing, or zeros from the
               // begin of a sector on. Nothing follows.
    kZeros,    // Zeros between records.
    kDamaged,  // Anything else.
  };
  std::string path;
  uint64_t number = 0;  // Of the log.
  Kind kind = Kind::kDamaged;
  uint64_t offset = 0;         // Where the record begins: all before it is whole.
  uint64_t size = 0;           // Of the file.
  bool followed_here = false;  // By whole records, in this log.
  bool followed = false;       // In this log or a later one.
};

// A log, and whether it holds changes: one that was begun and not used has none.
struct FoundLog {
  std::string path;
  uint64_t number = 0;
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
// 2 leaves out, and damage at the end of a log, is cut away, so that neither RocksDB nor a later
// start finds it. Before mode 2 cuts anything, `try_to_open` says whether RocksDB opens the
// database; an error of it is returned, and nothing was changed. In what mode 3 leaves out, types
// of records are changed that RocksDB's reader would not get past. All logs are on the disk
// afterwards, as RocksDB does not sync those that it replays. The caller has the directories to
// itself. True: changes that may have been acknowledged are left out. Errors: kCorruption,
// kIoError, those of `try_to_open`.
Result<bool> PrepareLogs(rocksdb::Env* env, const LogPlaces& places, rocksdb::WALRecoveryMode mode,
                         Log* log, const std::function<Status()>& try_to_open);

}  // namespace cairn
