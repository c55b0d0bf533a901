// What is done with the whole database, in the background or because somebody asks: memtables
// written out, files merged, background work paused, copies made.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/sst/file_statistics.h"
#include "engine/store/backup_checkpoint.h"
#include "engine/store/column_families.h"
#include "engine/store/compaction_throttle.h"
#include "engine/store/log_failure.h"
#include "engine/store/write_stalls.h"
#include "rocksdb/db.h"

namespace cairn {

// Thread-safe. Mutex: merge_mutex_ guards background_work_paused_ and is held while files of level
// 0 are merged.
class Maintenance {
 public:
  // The parts of a database that this works with.
  struct Parts {
    rocksdb::DB* db = nullptr;
    std::string directory;
    const ColumnFamilies* families = nullptr;
    FileStatistics* file_statistics = nullptr;
    WriteStalls* write_stalls = nullptr;
    const LogFailure* log_failure = nullptr;
    CompactionThrottle* throttle = nullptr;  // Null: compactions have no throttle of their own.
    Log* log = nullptr;
  };

  // The parts outlive this.
  explicit Maintenance(const Parts& parts);

  // Writes all memtables to files and waits for it.
  Status FlushMemtables();
  // The same if anything was written without the log since the start: what is logged from now on,
  // or written to files, then follows from nothing that a crash loses. Writes that begin during
  // the call may be missed.
  Status FlushUnloggedWrites();
  // Any thread, before the write.
  void NoteUnloggedWrites() { has_unlogged_writes_.store(true, std::memory_order_relaxed); }
  // Begins to write out those memtables for whose scans that pays: see MemtableReads.
  Status FlushMemtablesWhereItPays();
  // Merges files of level 0 for whose reads that pays, see LevelZeroReads, and waits for it. Begins
  // with no further family once `cancel` is true; what runs ends early by AbortCompactions(). The
  // first error of any family.
  Status MergeLevelZeroWhereItPays(const std::atomic<bool>& cancel);
  // How often each of these two has done so since the start.
  uint64_t memtables_written_for_reads() const { return memtables_written_for_reads_; }
  uint64_t level_zero_merges_for_reads() const { return level_zero_merges_for_reads_; }

  // Waits until flushes and compactions have ended; none begins until the next call of the second.
  // Calls do not nest.
  Status PauseBackgroundWork();
  Status ContinueBackgroundWork();
  // Ends the compactions that run, whoever has asked for them, and waits for it; none begins until
  // the second is called.
  void AbortCompactions();
  void ResumeCompactions();

  // Compacts a whole family, or the files of level 0 of every family into level 1. The former is
  // logged. `threads`: that share the work; 0: as many as every compaction has.
  Status Compact(const ColumnFamily& family, uint32_t threads = 0);
  Status CompactLevelZero();
  // Compacts the keys of one index. With `cancel` nobody waits for it, and it ends early when that
  // becomes true.
  Status CompactIndex(const ColumnFamily& family, uint32_t index_number,
                      std::atomic<bool>* cancel = nullptr);
  // Calls of Compact() since the start that have ended, and how many run now.
  uint64_t manual_compactions_processed() const { return compactions_processed_; }
  uint64_t manual_compactions_running() const { return compactions_running_; }

  // Makes a consistent copy in the directory `path`, which must not exist yet. Data files become
  // links where the file system allows. It is durable. Errors: those of CheckCheckpointPath, of
  // FinishCheckpoint, of RocksDB.
  Status CreateCheckpoint(std::string path);
  // The copy that mariadb-backup has made in the database's directory.
  BackupCheckpoint& backup_checkpoint() { return backup_checkpoint_; }
  const BackupCheckpoint& backup_checkpoint() const { return backup_checkpoint_; }

  // Brings the statistics of the families whose files changed up to date.
  Status RefreshStatistics();

 private:
  Status MergeLevelZeroWhereItPays(const ColumnFamily& family);
  bool IsCompacting() const;
  void NoteMerged(const ColumnFamily& family);

  const Parts parts_;
  rocksdb::DB* const db_;
  BackupCheckpoint backup_checkpoint_;
  std::mutex merge_mutex_;
  std::atomic<bool> pause_wanted_{false};  // Whoever holds merge_mutex_ lets it go soon.
  bool background_work_paused_ = false;
  std::atomic<bool> has_unlogged_writes_{false};
  std::atomic<uint64_t> compactions_begun_{0};
  std::atomic<uint64_t> compactions_processed_{0};
  std::atomic<uint64_t> compactions_running_{0};
  std::atomic<uint64_t> memtables_written_for_reads_{0};
  std::atomic<uint64_t> level_zero_merges_for_reads_{0};
};

}  // namespace cairn
