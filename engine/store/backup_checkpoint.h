// What is done to copies of the database before and after RocksDB makes them
// (Maintenance::CreateCheckpoint), and to the one that mariadb-backup has made in the database's
// own directory.
//
// The tool removes that one when it has copied it; killed, or with its target full, it does not.
// Then the copy keeps every table file on the disk that it names, also those that compactions have
// replaced long ago.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "rocksdb/env.h"

namespace cairn {

inline constexpr std::string_view kBackupCheckpointName = "mariabackup-checkpoint";

// Where a copy of the database in `directory` may be made: anywhere by an absolute path; by a
// relative one only in `directory`, as any other would lie among the databases and be taken for
// one. Errors: kInvalidArgument.
Status CheckCheckpointPath(const std::string& directory, const std::string& path);

// Makes a copy that RocksDB has made in `path` complete and durable: with the mark of the format of
// `directory`, and synced with its name. Errors: kIoError, kNoSpace; the copy is removed then.
Status FinishCheckpoint(rocksdb::Env* env, const std::string& directory, const std::string& path);

// mariadb-backup's copy in a database's directory. Thread-safe; mutex_ guards made_seconds_.
class BackupCheckpoint {
 public:
  // `env` outlives this.
  BackupCheckpoint(rocksdb::Env* env, const std::string& directory);

  const std::string& path() const { return path_; }
  // To be told of every copy that was made, wherever it is.
  void NoteMade(const std::string& path, uint64_t now_seconds);
  // Of its files; 0 when it is not there.
  uint64_t bytes() const;
  // Whether one is there that was made so long ago.
  bool IsOlderThan(uint64_t seconds, uint64_t now_seconds) const;
  // Removes it and what was begun of it, if anything is there. Errors: kIoError.
  Status Remove();
  // The same for what an earlier process left, which is noted.
  void RemoveLeft(Log* log);

 private:
  rocksdb::Env* const env_;
  const std::string path_;
  std::atomic<uint64_t> bytes_{0};
  mutable std::mutex mutex_;
  uint64_t made_seconds_ = 0;
};

}  // namespace cairn
