// Directories beside the database's own that sorted runs are written to (rocksdb_tmpdir). A file in
// the database's directory remembers them, so that the next start removes there what a crash has
// left.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "rocksdb/env.h"

namespace cairn {

// How the name of a file ends that is of use only while it is being worked on. Those that a crash
// leaves in the database's directory are removed when it is opened.
inline constexpr std::string_view kUnfinishedFileSuffix = ".bulk_load.tmp";

// The file's name; in it each directory is followed by a zero byte. The stock plug-in ignores the
// file.
inline constexpr std::string_view kSortDirectoriesName = "CAIRN_SORT_DIRECTORIES";

// Removes the files that an interrupted load or sort left in the database's directory. Errors are
// logged.
void RemoveUnfinishedFiles(rocksdb::Env* env, const std::string& directory, Log* log);

// Thread-safe. Mutex: mutex_ guards directories_ and the file.
class SortDirectories {
 public:
  // `home` is the database's directory, of which one process at a time makes use, and `identity`
  // RocksDB's of the database. `env` outlives this.
  SortDirectories(rocksdb::Env* env, const std::string& home, std::string_view identity);

  // How the names of all runs begin. Other servers may use the same directories: it differs with
  // the machine, the database's directory and its identity.
  const std::string& run_prefix() const { return run_prefix_; }

  // To be called before a run is written to `directory`. Errors: kIoError, kNoSpace.
  Status Remember(const std::string& directory);

  // Removes the runs of earlier processes, before the first is written. Errors are logged, and
  // tried again at the next start.
  void RemoveLeftRuns(Log* log);

 private:
  std::string FilePath() const { return home_ + "/" + std::string(kSortDirectoriesName); }
  Status WriteFile() const;
  Status RemoveRunsIn(const std::string& directory) const;

  rocksdb::Env* const env_;
  const std::string home_;
  const std::string run_prefix_;
  std::mutex mutex_;
  std::set<std::string> directories_;  // Absolute paths, as the file has them.
};

}  // namespace cairn
