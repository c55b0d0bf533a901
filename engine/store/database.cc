#include "engine/store/database.h"

#include <sys/vfs.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "engine/lsm/forward_iterator.h"
#include "engine/lsm/key_locks.h"
#include "engine/lsm/manifest.h"
#include "engine/lsm/point_lookup.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/sst/compaction_filter.h"
#include "engine/store/directory_check.h"
#include "engine/store/directory_marker.h"
#include "engine/store/library_log.h"
#include "engine/store/log_check.h"
#include "engine/store/log_names.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/options_util.h"

namespace cairn {
namespace {

// Says in plain words why RocksDB refused a directory. RocksDB reports most of this as "IO error".
Status ExplainOpenFailure(const rocksdb::Status& status, const std::string& directory) {
  const std::string text = "Error opening instance, Status Code: " + std::to_string(status.code()) +
                           ", Status: " + status.ToString();
  const auto mentions = [&text](std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  if (status.IsIOError() && mentions("lock") &&
      (mentions("Resource temporarily unavailable") || mentions("lock hold by current process") ||
       mentions("already held"))) {
    return Status(StatusCode::kBusy, "the directory " + directory +
                                         " is in use by another process (its LOCK file is held); " +
                                         text);
  }
  if (status.IsIOError() && (mentions("Permission denied") || mentions("Read-only file system"))) {
    return Status(StatusCode::kReadOnly,
                  "the directory " + directory + " cannot be written; " + text);
  }
  if (mentions("unknown tag") || mentions("unsupported") || mentions("Unknown Footer version")) {
    return Status(
        StatusCode::kNotSupported,
        "the files in " + directory + " are damaged or of a newer RocksDB than this one; " + text);
  }
  if (mentions("does not match existing comparator")) {
    return Status(StatusCode::kInvalidArgument,
                  "the files in " + directory + " are another program's; " + text);
  }
  return Status(FromRocksDb(status).code(), "cannot open " + directory + ": " + text);
}

// Names of the families in the directory; only `default` when there is no database yet.
Result<std::vector<std::string>> ListFamilies(const DatabaseOptions& options, Log* log) {
  std::vector<std::string> names;
  rocksdb::Env* env = options.db.env;
  const rocksdb::Status exists = env->FileExists(options.directory + "/CURRENT");
  if (exists.IsNotFound()) {
    names.emplace_back(kDefaultColumnFamily);
    log->Write(Severity::kNote, "Got ENOENT when listing column families");
    log->Write(Severity::kNote, "  assuming that we're creating a new database");
    return names;
  }
  if (!exists.ok()) return ExplainOpenFailure(exists, options.directory);
  const rocksdb::Status listed =
      rocksdb::DB::ListColumnFamilies(options.db, options.directory, &names);
  if (!listed.ok()) return ExplainOpenFailure(listed, options.directory);
  log->Write(Severity::kNote, std::to_string(names.size()) + " column families found");
  return names;
}

// Compares the options with those that the directory was last opened with, unknown ones included.
Status CheckStoredOptions(const DatabaseOptions& options,
                          const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  if (options.db.env->FileExists(options.directory + "/CURRENT").IsNotFound()) return Status();
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  config.env = options.db.env;
  // Options may change from one start to the next.
  config.sanity_level = rocksdb::ConfigOptions::kSanityLevelLooselyCompatible;
  const rocksdb::Status checked =
      rocksdb::CheckOptionsCompatibility(config, options.directory, options.db, families);
  if (checked.ok()) return Status();
  return Status(StatusCode::kNotSupported,
                "Compatibility check against existing database options failed, Status Code: " +
                    std::to_string(checked.code()) + ", Status: " + checked.ToString());
}

// Looks at the directory before RocksDB does, unless somebody else has it open.
template <typename Look>
Status LookAlone(const DatabaseOptions& options, const Look& look) {
  rocksdb::Env* const env = options.db.env;
  rocksdb::FileLock* lock = nullptr;
  // What keeps the directory from being locked, RocksDB tells when it opens it.
  if (!env->LockFile(options.directory + "/LOCK", &lock).ok()) return Status();
  Status looked = look(env);
  const Status unlocked = FromRocksDb(env->UnlockFile(lock));
  return looked.ok() ? unlocked : looked;
}

using Descriptors = std::vector<rocksdb::ColumnFamilyDescriptor>;

// Whether RocksDB opens the database, of which it changes nothing. Logs, which are damaged, are not
// looked at: the directory's parent has none.
Status TryToOpen(const DatabaseOptions& options, const Descriptors& families) {
  rocksdb::DBOptions of_trial = options.db;
  std::filesystem::path directory(options.directory);
  if (!directory.has_filename()) directory = directory.parent_path();  // It ends with a slash.
  const std::filesystem::path parent = directory.parent_path();
  of_trial.wal_dir = parent.empty() ? "." : parent.string();
  of_trial.listeners.clear();
  of_trial.statistics.reset();
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::Status opened =
      rocksdb::DB::OpenForReadOnly(of_trial, options.directory, families, &handles, &db);
  for (rocksdb::ColumnFamilyHandle* handle : handles) delete handle;
  return opened.ok() ? Status() : ExplainOpenFailure(opened, options.directory);
}

// True: changes that may have been acknowledged are left out.
Result<bool> CheckLogs(const DatabaseOptions& options, const Descriptors& families, Log* log) {
  bool leaves_out = false;
  if (!options.db.env->FileExists(options.directory + "/CURRENT").ok()) return leaves_out;
  CAIRN_RETURN_IF_ERROR(LookAlone(options, [&](rocksdb::Env* env) -> Status {
    const std::string& logs = options.db.wal_dir.empty() ? options.directory : options.db.wal_dir;
    CAIRN_ASSIGN_OR_RETURN(leaves_out,
                           PrepareLogs(env, {.database = options.directory, .logs = logs},
                                       options.db.wal_recovery_mode, log,
                                       [&] { return TryToOpen(options, families); }));
    return Status();
  }));
  return leaves_out;
}

// RocksDB keeps max_write_buffer_number memtables that are in files already, where its locks look
// whether a row was changed since a snapshot that is older than the memtables after them. Files,
// where they look otherwise, are read for the row itself anyway; our own locks (cairn_range_locks)
// compare values. Those of the bypass it would take for empty, and keep all. With 1 the last one
// goes with the next writes; 0 means its default.
void KeepNoFlushedMemtables(rocksdb::ColumnFamilyOptions* options) {
  options->max_write_buffer_size_to_maintain = 1;
}

// RocksDB cannot do it at all with some options.
void SettleBypass(DatabaseOptions* options) {
  if (options->bypass_memtable_bytes == 0) return;
  if (options->db.enable_pipelined_write || options->db.unordered_write ||
      options->transaction.write_policy != rocksdb::TxnDBWritePolicy::WRITE_COMMITTED) {
    options->bypass_memtable_bytes = 0;
  }
}

constexpr long kZfs = 0x2FC12FC1;  // What statfs() gives for it.

// What a compaction writes would else pile up in the page cache, where it takes the place of blocks
// that are read, until its file ends and is synced: then every commit waits for all of it.
// A compaction that syncs piece by piece waits itself, and rests for it; a bytes_per_sync that was
// chosen stays. On ZFS RocksDB would sync the file for each piece, and with wal_bytes_per_sync
// commits would wait for pieces of the log.
void SettlePace(DatabaseOptions* options) {
  if (options->db.rate_limiter != nullptr) options->throttle = nullptr;
  if (options->throttle == nullptr) return;
  options->db.rate_limiter = options->throttle;
  if (options->db.bytes_per_sync != 0) return;
  options->db.bytes_per_sync = 1 << 20;
  struct statfs file_system {};
  options->db.strict_bytes_per_sync = options->db.wal_bytes_per_sync == 0 &&
                                      statfs(options->directory.c_str(), &file_system) == 0 &&
                                      file_system.f_type != kZfs;
}

// Microseconds since the epoch.
std::function<int64_t()> ClockOf(const DatabaseOptions& options) {
  return [env = options.db.env] { return static_cast<int64_t>(env->NowMicros()); };
}

SharedWithRocksDb MakeShared(const DatabaseOptions& options, Log* log) {
  SharedWithRocksDb shared;
  shared.dropped_indexes = std::make_shared<DroppedIndexes>();
  shared.expiry = std::make_shared<Expiry>();
  shared.expiry->SetRemoves(options.remove_expired_rows);
  shared.expiry->SetHides(options.hide_expired_rows);
  shared.key_layouts = std::make_shared<KeyLayouts>();
  shared.file_statistics = std::make_shared<FileStatistics>(shared.key_layouts, log);
  shared.write_stalls = std::make_shared<WriteStalls>(ClockOf(options), options.throttle);
  shared.damaged_files = std::make_shared<DamagedFiles>();
  shared.log_failure = std::make_shared<LogFailure>();
  if (options.transaction.write_policy == rocksdb::TxnDBWritePolicy::WRITE_PREPARED) {
    shared.ingested_files = std::make_shared<lsm::IngestedFiles>();
  }
  return shared;
}

// Has RocksDB call what tells `shared` of its work.
void Listen(const SharedWithRocksDb& shared, DatabaseOptions* options, Log* log) {
  if (options->collect_statistics) {
    options->column_family.table_properties_collector_factories = {
        MakeStatisticsCollectorFactory(options->collector, shared.key_layouts)};
  }
  auto& listeners = options->db.listeners;
  // First: what it takes back is no error for the others.
  listeners.push_back(MakeDamageListener(shared.damaged_files, ClockOf(*options), log));
  listeners.push_back(MakeStatisticsListener(shared.file_statistics));
  listeners.push_back(MakeStallListener(shared.write_stalls));
  listeners.push_back(MakeBackgroundErrorListener(log, options->throttle));
  listeners.push_back(MakeLogFailureListener(shared.log_failure));
  if (shared.ingested_files != nullptr) {
    listeners.push_back(lsm::MakeIngestionListener(shared.ingested_files));
  }
}

}  // namespace

Database::Database(std::unique_ptr<rocksdb::Env> env, DatabaseOptions options,
                   ColumnFamilyOptionSource family_options, SharedWithRocksDb shared,
                   std::unique_ptr<rocksdb::TransactionDB> db, Log* log)
    : env_(std::move(env)),
      options_(std::move(options)),
      shared_(std::move(shared)),
      log_(log),
      db_(std::move(db)),
      families_(db_.get(), std::move(family_options), shared_.write_stalls.get(), log),
      maintenance_({.db = db_.get(),
                    .directory = options_.directory,
                    .families = &families_,
                    .file_statistics = shared_.file_statistics.get(),
                    .write_stalls = shared_.write_stalls.get(),
                    .log_failure = shared_.log_failure.get(),
                    .throttle = options_.throttle.get(),
                    .log = log}) {}

Result<std::unique_ptr<Database>> Database::Open(DatabaseOptions options, Log* log) {
  SettlePace(&options);
  std::unique_ptr<rocksdb::Env> log_names = KeepLogNames(options.db.env);
  options.db.env = log_names.get();
  SharedWithRocksDb shared = MakeShared(options, log);
  Listen(shared, &options, log);
  // A filter turns the entry of a dropped index into a Delete although a SingleDelete of a session
  // may lie above it, and the stock plug-in's does that with expired entries too. Such pairs are no
  // damage.
  options.db.enforce_single_del_contracts = false;
  KeepNoFlushedMemtables(&options.column_family);
  SettleBypass(&options);
  CAIRN_ASSIGN_OR_RETURN(
      ColumnFamilyOptionSource family_options,
      ColumnFamilyOptionSource::Parse(
          options.column_family, options.default_column_family_text,
          options.override_column_family_text,
          MakeCompactionFilterFactory(shared.dropped_indexes, shared.expiry, log)));
  CAIRN_RETURN_IF_ERROR(LookAlone(options, [&](rocksdb::Env* env) {
    CAIRN_RETURN_IF_ERROR(CheckDirectory(env, options.directory, options.db.wal_dir, log));
    return lsm::CheckManifest(env, options.directory);
  }));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFamilies(options, log));

  Descriptors descriptors;
  descriptors.reserve(names.size());
  for (const std::string& name : names) descriptors.emplace_back(name, family_options.For(name));

  if (options.refuse_unknown_options) {
    CAIRN_RETURN_IF_ERROR(CheckStoredOptions(options, descriptors));
  }

  CAIRN_ASSIGN_OR_RETURN(const bool leaves_out, CheckLogs(options, descriptors, log));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  lsm::UseKeyLocks(&options.transaction);
  rocksdb::TransactionDB* db = nullptr;
  const rocksdb::Status opened = rocksdb::TransactionDB::Open(
      options.db, options.transaction, options.directory, descriptors, &handles, &db);
  if (!opened.ok()) return ExplainOpenFailure(opened, options.directory);

  std::unique_ptr<Database> database(
      new Database(std::move(log_names), std::move(options), std::move(family_options),
                   std::move(shared), std::unique_ptr<rocksdb::TransactionDB>(db), log));
  database->has_left_out_changes_ = leaves_out;
  CAIRN_RETURN_IF_ERROR(database->FinishOpening(handles));
  return database;
}

Status Database::FinishOpening(const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  RemoveUnfinishedFiles(env(), directory(), log_);
  if (!ReadsBySequence()) CAIRN_RETURN_IF_ERROR(WriteWritePreparedMark(env(), directory()));
  CAIRN_ASSIGN_OR_RETURN(has_prepared_writes_, HasWritePreparedMark(env(), directory()));
  maintenance_.backup_checkpoint().RemoveLeft(log_);
  std::string identity;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(db_->GetDbIdentity(identity)));
  sort_directories_ = std::make_unique<SortDirectories>(env(), directory(), identity);
  sort_directories_->RemoveLeftRuns(log_);
  shared_.expiry->Bind(db_.get());
  shared_.write_stalls->Bind(db_.get());
  CAIRN_RETURN_IF_ERROR(families_.Adopt(handles));
  shared_.write_stalls->List();  // A directory may open with too much to compact.
  return Status();
}

Database::~Database() {
  const Status closed = Close();
  if (!closed.ok()) log_->Write(Severity::kError, "closing the database: " + closed.ToString());
}

// With the other policies it takes more than a sequence number to know what is visible.
bool Database::ReadsBySequence() const {
  return options_.transaction.write_policy == rocksdb::TxnDBWritePolicy::WRITE_COMMITTED;
}

Status Database::Ingest(const std::vector<rocksdb::IngestExternalFileArg>& files) {
  return FromRocksDb(shared_.ingested_files == nullptr
                         ? db_->IngestExternalFiles(files)
                         : shared_.ingested_files->Ingest(db_.get(), files));
}

std::shared_lock<std::shared_mutex> Database::KeepIngestionOut() {
  return shared_.ingested_files == nullptr ? std::shared_lock<std::shared_mutex>()
                                           : shared_.ingested_files->KeepOut();
}

rocksdb::Status Database::Get(const ColumnFamily& family, const rocksdb::ReadOptions& options,
                              const rocksdb::Slice& key, rocksdb::PinnableSlice* value,
                              lsm::ReadVerifier* verifier) {
  return ReadsBySequence() ? lsm::LookUp(db_.get(), family.handle, options, key, value, verifier)
                           : db_->Get(options, family.handle, key, value);
}

void Database::GetMany(const ColumnFamily& family, const rocksdb::ReadOptions& options,
                       size_t count, const rocksdb::Slice* keys, rocksdb::PinnableSlice* values,
                       rocksdb::Status* outcomes, lsm::ReadVerifier* verifier) {
  if (ReadsBySequence()) {
    lsm::LookUpMany(db_.get(), family.handle, options, count, keys, values, outcomes, verifier);
  } else {
    db_->MultiGet(options, family.handle, count, keys, values, outcomes);
  }
}

std::unique_ptr<rocksdb::Iterator> Database::NewIterator(const ColumnFamily& family,
                                                         rocksdb::ReadOptions options,
                                                         lsm::ReadVerifier* verifier) {
  options.ignore_range_deletions = !family.may_have_range_deletions.load(std::memory_order_relaxed);
  if (!ReadsBySequence()) {
    // Without a snapshot, RocksDB takes one.
    const auto lock =
        options.snapshot == nullptr ? KeepIngestionOut() : std::shared_lock<std::shared_mutex>();
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options, family.handle));
  }
  return lsm::NewForwardIterator(
      db_.get(), family.handle, options,
      {.memtable = &family.memtable_reads, .level_zero = &family.level_zero_reads}, verifier);
}

Status Database::SyncLog() {
  if (options_.db.allow_mmap_writes) return WriteLog();
  return log_sync_.Run([this] {
    const Status failure = shared_.log_failure->Check();
    return failure.ok() ? FromRocksDb(db_->FlushWAL(/*sync=*/true)) : failure;
  });
}

void Database::UseRangeLocks(std::unique_ptr<RangeLockTable> table) {
  CAIRN_ASSERT(range_locks_ == nullptr);
  range_locks_ = std::move(table);
}

Status Database::WriteLog() {
  CAIRN_RETURN_IF_ERROR(shared_.log_failure->Check());
  return FromRocksDb(db_->FlushWAL(/*sync=*/false));
}

Status Database::MakeCommitsDurable() {
  // RocksDB adds what it writes for a commit to what it wrote for the last try, which nothing could
  // take by now.
  CAIRN_RETURN_IF_ERROR(shared_.log_failure->Check());
  // One that waits for the next start keeps nothing else from the disk.
  Status finished = unfinished_decisions_.Retry(db_.get(), range_locks_.get());
  CAIRN_RETURN_IF_ERROR(SyncLog());
  return finished;
}

Status Database::Close() {
  if (db_ == nullptr) return Status();
  const CompactionThrottle::Haste haste(throttle());
  rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true);
  shared_.expiry->Bind(nullptr);
  shared_.write_stalls->Bind(nullptr);
  unfinished_decisions_.Clear();
  Status result = SyncLog();
  const Status released = families_.Release();
  if (result.ok()) result = released;
  const rocksdb::Status closed = db_->Close();
  if (result.ok()) result = FromRocksDb(closed);
  db_.reset();
  return result;
}

}  // namespace cairn
