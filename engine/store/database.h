// The one RocksDB instance: opened with every column family, closed with nothing left in memory.
//
// RocksDB itself is not hidden: callers use rocksdb() directly. This class owns what has to be
// right once: which options a directory is opened with, durability and shutdown. Its parts know
// which column families exist (ColumnFamilies) and look after the data (Maintenance).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "engine/base/latency_histogram.h"
#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/locks/range_lock_table.h"
#include "engine/locks/table_claims.h"
#include "engine/lsm/ingested_files.h"
#include "engine/lsm/read_verifier.h"
#include "engine/metrics/index_builds.h"
#include "engine/metrics/memory_account.h"
#include "engine/metrics/perf_context.h"
#include "engine/metrics/work_counters.h"
#include "engine/sst/dropped_indexes.h"
#include "engine/sst/expiry.h"
#include "engine/sst/file_statistics.h"
#include "engine/sst/statistics_collector.h"
#include "engine/store/column_families.h"
#include "engine/store/column_family_options.h"
#include "engine/store/compaction_throttle.h"
#include "engine/store/damaged_files.h"
#include "engine/store/log_failure.h"
#include "engine/store/maintenance.h"
#include "engine/store/prepared_indexes.h"
#include "engine/store/shared_sync.h"
#include "engine/store/sort_directories.h"
#include "engine/store/unfinished_decisions.h"
#include "engine/store/write_stalls.h"
#include "rocksdb/options.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn {

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
  std::shared_ptr<CompactionThrottle>
      throttle;  // Of compactions, where db.rate_limiter is not set; null: none.
  std::shared_ptr<CollectorControl> collector = std::make_shared<CollectorControl>();
};

// What RocksDB's threads ask and tell: the listeners, filters and collectors that they call have a
// share in it.
struct SharedWithRocksDb {
  std::shared_ptr<DroppedIndexes> dropped_indexes;
  std::shared_ptr<Expiry> expiry;
  std::shared_ptr<KeyLayouts> key_layouts;
  std::shared_ptr<FileStatistics> file_statistics;
  std::shared_ptr<WriteStalls> write_stalls;
  std::shared_ptr<DamagedFiles> damaged_files;
  std::shared_ptr<LogFailure> log_failure;
  // Null where a sequence number says what is committed.
  std::shared_ptr<lsm::IngestedFiles> ingested_files;
};

// Thread-safe, but for UseRangeLocks() and Close().
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
  // Whether values may lie above each other that a SingleDelete would uncover (directory_marker.h).
  bool has_prepared_writes() const { return has_prepared_writes_; }
  rocksdb::Env* env() const { return options_.db.env; }
  Log& log() const { return *log_; }

  ColumnFamilies& families() { return families_; }
  const ColumnFamilies& families() const { return families_; }
  const ColumnFamily& default_family() const { return families_.default_family(); }
  const ColumnFamily& system_family() const { return families_.system_family(); }
  Maintenance& maintenance() { return maintenance_; }
  const Maintenance& maintenance() const { return maintenance_; }
  DroppedIndexes& dropped_indexes() { return *shared_.dropped_indexes; }
  Expiry& expiry() const { return *shared_.expiry; }
  KeyLayouts& key_layouts() { return *shared_.key_layouts; }
  CollectorControl& collector() const { return *options_.collector; }
  FileStatistics& file_statistics() { return *shared_.file_statistics; }
  WorkCounters& work() { return work_; }
  const WorkCounters& work() const { return work_; }
  // What all statements together cost, as far as it was collected.
  PerfSums& perf_sums() { return perf_sums_; }
  // Microseconds that transactions with changes took to commit.
  LatencyHistogram& commit_latency() { return commit_latency_; }
  const LatencyHistogram& commit_latency() const { return commit_latency_; }
  UnfinishedDecisions& unfinished_decisions() { return unfinished_decisions_; }
  PreparedIndexes& prepared_indexes() { return prepared_indexes_; }
  // From here on transactions lock with `table`, and not with RocksDB's locks. Called once, while
  // there is none.
  void UseRangeLocks(std::unique_ptr<RangeLockTable> table);
  // From what size on the batch of a prepared transaction becomes a memtable as it is
  // (txn/memtable_bypass.h); 0: none.
  uint64_t bypass_memtable_bytes() const { return options_.bypass_memtable_bytes; }
  // Null: transactions lock with RocksDB's locks, key by key.
  RangeLockTable* range_locks() const { return range_locks_.get(); }
  TableClaims& table_claims() { return table_claims_; }
  IndexBuildList& index_builds() { return index_builds_; }
  const IndexBuildList& index_builds() const { return index_builds_; }
  const DamagedFiles& damaged_files() const { return *shared_.damaged_files; }
  WriteStalls& write_stalls() const { return *shared_.write_stalls; }
  // Null: compactions have no throttle of their own.
  CompactionThrottle* throttle() const { return options_.throttle.get(); }
  MemoryAccounts& memory_accounts() const { return memory_accounts_; }
  // Seconds since the epoch, by the clock that dates snapshots.
  uint64_t NowSeconds() const { return cairn::NowSeconds(db_.get()); }
  // Microseconds since the epoch.
  int64_t NowMicros() const { return static_cast<int64_t>(env()->NowMicros()); }

  // As DB::IngestExternalFiles. Errors: kIoError, kNoSpace, kInternal.
  Status Ingest(const std::vector<rocksdb::IngestExternalFileArg>& files);

  // Held by whoever takes a snapshot of rocksdb(): with a policy that writes before it commits,
  // files do not come meanwhile (lsm/ingested_files.h). Nothing else is to be done under it.
  std::shared_lock<std::shared_mutex> KeepIngestionOut();

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
  // stay in the log: callers that want them in files flush them first. Called by the destructor
  // too, which logs errors.
  Status Close();

 private:
  Database(std::unique_ptr<rocksdb::Env> env, DatabaseOptions options,
           ColumnFamilyOptionSource family_options, SharedWithRocksDb shared,
           std::unique_ptr<rocksdb::TransactionDB> db, Log* log);

  Status FinishOpening(const std::vector<rocksdb::ColumnFamilyHandle*>& handles);
  bool ReadsBySequence() const;

  std::unique_ptr<rocksdb::Env> env_;  // options_.db.env
  DatabaseOptions options_;
  SharedWithRocksDb shared_;
  Log* log_;
  lsm::ReadVerifier read_verifier_{log_};
  std::unique_ptr<rocksdb::TransactionDB> db_;
  ColumnFamilies families_;
  Maintenance maintenance_;
  WorkCounters work_;
  PerfSums perf_sums_;
  LatencyHistogram commit_latency_;
  UnfinishedDecisions unfinished_decisions_;
  PreparedIndexes prepared_indexes_;
  std::unique_ptr<RangeLockTable> range_locks_;
  TableClaims table_claims_;
  IndexBuildList index_builds_;
  SharedSync log_sync_;
  std::unique_ptr<SortDirectories> sort_directories_;
  mutable MemoryAccounts memory_accounts_;
  std::atomic<uint64_t> next_sorted_file_number_{0};
  bool has_left_out_changes_ = false;
  bool has_prepared_writes_ = false;  // Since the database was opened.
};

}  // namespace cairn
