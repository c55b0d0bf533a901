// The one RocksDB instance: opened with every column family, closed with nothing left in memory.
//
// RocksDB itself is not hidden: callers use rocksdb() directly. This class owns what has to be
// right once: which options a directory is opened with, which column families exist, durability and
// shutdown.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/latency_histogram.h"
#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/locks/range_lock_table.h"
#include "engine/locks/table_claims.h"
#include "engine/lsm/level_zero_reads.h"
#include "engine/lsm/memtable_reads.h"
#include "engine/lsm/prefix_extractor.h"
#include "engine/lsm/read_verifier.h"
#include "engine/metrics/memory_account.h"
#include "engine/metrics/perf_context.h"
#include "engine/metrics/work_counters.h"
#include "engine/sst/dropped_indexes.h"
#include "engine/sst/expiry.h"
#include "engine/sst/file_statistics.h"
#include "engine/sst/statistics_collector.h"
#include "engine/store/backup_checkpoint.h"
#include "engine/store/column_family_options.h"
#include "engine/store/damaged_files.h"
#include "engine/store/log_failure.h"
#include "engine/store/shared_sync.h"
#include "engine/store/sort_directories.h"
#include "engine/store/unfinished_decisions.h"
#include "engine/store/write_stalls.h"
#include "rocksdb/options.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn {

// A column family of the open database. Lives as long as the Database; only its extractor changes.
struct ColumnFamily {
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  std::string name;
  uint32_t id = 0;       // RocksDB's number, persisted in the dictionary.
  bool reverse = false;  // Keys sort in descending order.
  mutable lsm::PrefixExtractor prefix_extractor;
  mutable lsm::MemtableReads memtable_reads;
  mutable lsm::LevelZeroReads level_zero_reads;
  // Nobody here deletes ranges of keys, and to look for such deletions costs every read; but
  // another program may have.
  bool opened_without_memtable = false;  // All that others have written was in files.
  mutable std::atomic<bool> may_have_range_deletions{true};
};

struct DatabaseOptions {
  std::string directory;
  rocksdb::DBOptions db;
  rocksdb::ColumnFamilyOptions column_family;  // Base of every family, table factory included.
  std::string default_column_family_text;      // rocksdb_default_cf_options
  std::string override_column_family_text;     // rocksdb_override_cf_options
  bool refuse_unknown_options = false;         // In the OPTIONS file of the directory.
  rocksdb::TransactionDBOptions transaction;
  bool remove_expired_rows = true;     // rocksdb_enable_ttl
  bool hide_expired_rows = true;       // rocksdb_enable_ttl_read_filtering
  bool collect_statistics = true;      // rocksdb_collect_sst_properties
  uint64_t bypass_memtable_bytes = 0;  // cairn_bypass_memtable_bytes; 0: no commit does.
  std::shared_ptr<IoPace> pace;  // Of compactions, where db.rate_limiter is not set; null: none.
  std::shared_ptr<CollectorControl> collector = std::make_shared<CollectorControl>();
};

// Thread-safe, but for Close(). Mutexes: families_mutex_ guards families_ and is held while a
// family is created; options_mutex_ is held while options of a family change; merge_mutex_ guards
// background_work_paused_ and is held while files are merged for reads.
class Database {
 public:
  // Opens or creates the database. `log` outlives the result.
  // Errors: kBusy (another process has the directory open), kInvalidArgument (options),
  // kNotSupported (written by a version that this one does not know), kCorruption, kIoError,
  // kNoSpace, kReadOnly (no permission to write). Nothing is changed when opening fails.
  static Result<std::unique_ptr<Database>> Open(DatabaseOptions options, Log* log);
  ~Database();

  rocksdb::TransactionDB* rocksdb() const { return db_.get(); }
  // What it was opened with.
  const DatabaseOptions& options() const { return options_; }
  const std::string& directory() const { return options_.directory; }
  // Of the write-ahead log; empty when that is directory().
  const std::string& log_directory() const { return options_.db.wal_dir; }
  // This start has left out changes of damaged logs: what table files have may be newer.
  bool has_left_out_changes() const { return has_left_out_changes_; }
  rocksdb::Env* env() const { return options_.db.env; }
  Log& log() const { return *log_; }
  DroppedIndexes& dropped_indexes() { return *dropped_indexes_; }
  Expiry& expiry() const { return *expiry_; }
  KeyLayouts& key_layouts() { return *key_layouts_; }
  CollectorControl& collector() const { return *options_.collector; }
  FileStatistics& file_statistics() { return *file_statistics_; }
  WorkCounters& work() { return work_; }
  const WorkCounters& work() const { return work_; }
  // What all statements together cost, as far as it was collected.
  PerfSums& perf_sums() { return perf_sums_; }
  // Microseconds that transactions with changes took to commit.
  LatencyHistogram& commit_latency() { return commit_latency_; }
  const LatencyHistogram& commit_latency() const { return commit_latency_; }
  UnfinishedDecisions& unfinished_decisions() { return unfinished_decisions_; }
  // From here on transactions lock with `table`, and not with RocksDB's locks. Called once, while
  // there is none.
  void UseRangeLocks(std::unique_ptr<RangeLockTable> table);
  // From what size on the batch of a prepared transaction becomes a memtable as it is
  // (txn/memtable_bypass.h); 0: none.
  uint64_t bypass_memtable_bytes() const { return options_.bypass_memtable_bytes; }
  // Null: transactions lock with RocksDB's locks, key by key.
  RangeLockTable* range_locks() const { return range_locks_.get(); }
  TableClaims& table_claims() { return table_claims_; }
  const DamagedFiles& damaged_files() const { return *damaged_files_; }
  WriteStalls& write_stalls() const { return *write_stalls_; }
  // Null: compactions have no pace of their own.
  IoPace* pace() const { return options_.pace.get(); }
  MemoryAccounts& memory_accounts() const { return memory_accounts_; }
  // Seconds since the epoch, by the clock that dates snapshots.
  uint64_t NowSeconds() const { return cairn::NowSeconds(db_.get()); }
  // Microseconds since the epoch.
  int64_t NowMicros() const { return static_cast<int64_t>(env()->NowMicros()); }

  const ColumnFamily& default_family() const { return *default_family_; }
  const ColumnFamily& system_family() const { return *system_family_; }
  // Null when there is none. The pointer stays valid as long as the Database.
  const ColumnFamily* FindFamily(std::string_view name) const;
  const ColumnFamily* FindFamily(uint32_t id) const;
  // The family of that name, created when missing. Errors: those of RocksDB.
  Result<const ColumnFamily*> FindOrCreateFamily(std::string_view name);
  std::vector<const ColumnFamily*> Families() const;

  // As DB::Get and DB::MultiGet. With a verifier, which is read_verifier(), the answers of readers
  // of ours are compared with RocksDB's own.
  rocksdb::Status Get(const ColumnFamily& family, const rocksdb::ReadOptions& options,
                      const rocksdb::Slice& key, rocksdb::PinnableSlice* value,
                      lsm::ReadVerifier* verifier = nullptr);
  void GetMany(const ColumnFamily& family, const rocksdb::ReadOptions& options, size_t count,
               const rocksdb::Slice* keys, rocksdb::PinnableSlice* values,
               rocksdb::Status* outcomes, lsm::ReadVerifier* verifier = nullptr);

  // An iterator over a family, for scans that mostly go forward. It shows the state of
  // options.snapshot or, without one, of now; what `options` points at outlives it.
  std::unique_ptr<rocksdb::Iterator> NewIterator(const ColumnFamily& family,
                                                 rocksdb::ReadOptions options,
                                                 lsm::ReadVerifier* verifier = nullptr);
  lsm::ReadVerifier& read_verifier() { return read_verifier_; }
  const lsm::ReadVerifier& read_verifier() const { return read_verifier_; }

  // Writes all memtables to files and waits for it.
  Status FlushMemtables();
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
  void AbortCompactions() {
    const IoPace::Haste haste(pace());
    db_->AbortAllCompactions();
  }
  void ResumeCompactions() { db_->ResumeAllCompactions(); }
  // Manual compactions of whole families since the start, and how many run now.
  uint64_t manual_compactions_processed() const { return compactions_processed_; }
  uint64_t manual_compactions_running() const { return compactions_running_; }

  // Compacts a whole family, or the files of level 0 of every family into level 1. The former is
  // logged. `threads`: that share the work; 0: as many as every compaction has.
  Status Compact(const ColumnFamily& family, uint32_t threads = 0);
  Status CompactLevelZero();
  // Compacts the keys of one index. With `cancel` nobody waits for it, and it ends early when that
  // becomes true.
  Status CompactIndex(const ColumnFamily& family, uint32_t index_number,
                      std::atomic<bool>* cancel = nullptr);
  // Makes a consistent copy in the directory `path`, which must not exist yet. Data files become
  // links where the file system allows. It is durable. Errors: those of CheckCheckpointPath, of
  // FinishCheckpoint, of RocksDB.
  Status CreateCheckpoint(std::string path);
  // The copy that mariadb-backup has made in the database's directory.
  BackupCheckpoint& backup_checkpoint() { return backup_checkpoint_; }
  const BackupCheckpoint& backup_checkpoint() const { return backup_checkpoint_; }
  // Changes options of open families: "cf1={write_buffer_size=8m};cf2={...}". A family that does
  // not exist is created. Errors: kInvalidArgument, naming the family and the option. Nothing was
  // changed then, unless the option is one that cannot change while the database is open: families
  // that stand before it have changed.
  Status UpdateFamilyOptions(std::string_view text);
  // Brings the statistics of the families whose files changed up to date.
  Status RefreshStatistics();
  // Where sorted runs lie that are not in directory().
  SortDirectories& sort_directories() { return *sort_directories_; }
  // A number for the names of the next sorted files, used once while the database is open.
  uint64_t NextSortedFileNumber() { return next_sorted_file_number_++; }

  // Writes the log's buffer to the file, so that a death of the process loses nothing of it.
  // Errors: kIoError, kNoSpace; once the log could not be written, until RocksDB has recovered from
  // that.
  Status WriteLog();
  // The same, and syncs the file, once for all that ask meanwhile; with rocksdb_allow_mmap_writes
  // RocksDB cannot do that at any time.
  Status SyncLog();

  // Everything that is committed is on disk when this returns, and so is what was decided of
  // prepared transactions.
  Status MakeCommitsDurable();

  // Stops background work, syncs the log and closes; no other call may run or follow. Memtables
  // stay in the log: callers that want them in files call FlushMemtables() first. Called by the
  // destructor too, which logs errors.
  Status Close();

 private:
  Database(std::unique_ptr<rocksdb::Env> env, DatabaseOptions options,
           ColumnFamilyOptionSource family_options, std::shared_ptr<DroppedIndexes> dropped_indexes,
           std::shared_ptr<Expiry> expiry, std::shared_ptr<KeyLayouts> key_layouts,
           std::shared_ptr<FileStatistics> file_statistics,
           std::shared_ptr<WriteStalls> write_stalls, std::shared_ptr<DamagedFiles> damaged_files,
           std::shared_ptr<LogFailure> log_failure, Log* log);

  bool ReadsBySequence() const;
  const ColumnFamily* Adopt(rocksdb::ColumnFamilyHandle* handle);
  Status MergeLevelZeroWhereItPays(const ColumnFamily& family);
  bool IsCompacting() const;
  Status CheckFamilyOptions(const std::string& name, const std::string& text) const;
  Result<std::string> Identity() const;
  void AdoptPrefixExtractor(const ColumnFamily& family) const;

  std::unique_ptr<rocksdb::Env> env_;  // options_.db.env
  DatabaseOptions options_;
  BackupCheckpoint backup_checkpoint_;
  ColumnFamilyOptionSource family_options_;
  std::shared_ptr<DroppedIndexes> dropped_indexes_;
  std::shared_ptr<Expiry> expiry_;
  std::shared_ptr<KeyLayouts> key_layouts_;
  std::shared_ptr<FileStatistics> file_statistics_;
  WorkCounters work_;
  PerfSums perf_sums_;
  LatencyHistogram commit_latency_;
  UnfinishedDecisions unfinished_decisions_;
  std::unique_ptr<RangeLockTable> range_locks_;
  TableClaims table_claims_;
  SharedSync log_sync_;
  std::shared_ptr<WriteStalls> write_stalls_;
  std::shared_ptr<DamagedFiles> damaged_files_;
  std::shared_ptr<LogFailure> log_failure_;
  Log* log_;
  lsm::ReadVerifier read_verifier_{log_};
  std::unique_ptr<rocksdb::TransactionDB> db_;
  std::mutex options_mutex_;
  std::mutex merge_mutex_;
  std::atomic<bool> pause_wanted_{false};  // Whoever holds merge_mutex_ lets it go soon.
  bool background_work_paused_ = false;
  mutable std::shared_mutex families_mutex_;
  std::map<std::string, std::unique_ptr<ColumnFamily>, std::less<>> families_;
  const ColumnFamily* default_family_ = nullptr;
  const ColumnFamily* system_family_ = nullptr;
  std::unique_ptr<SortDirectories> sort_directories_;
  mutable MemoryAccounts memory_accounts_;
  std::atomic<uint64_t> compactions_begun_{0};
  std::atomic<uint64_t> compactions_processed_{0};
  std::atomic<uint64_t> compactions_running_{0};
  std::atomic<uint64_t> memtables_written_for_reads_{0};
  std::atomic<uint64_t> level_zero_merges_for_reads_{0};
  std::atomic<uint64_t> next_sorted_file_number_{0};
  bool has_left_out_changes_ = false;
};

}  // namespace cairn
