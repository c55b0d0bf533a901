#include "engine/store/database.h"

#include <sys/vfs.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/lsm/comparator.h"
#include "engine/lsm/forward_iterator.h"
#include "engine/lsm/point_lookup.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/sst/compaction_filter.h"
#include "engine/store/directory_check.h"
#include "engine/store/index_range.h"
#include "engine/store/library_log.h"
#include "engine/store/log_check.h"
#include "engine/store/log_names.h"
#include "engine/store/option_text.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/checkpoint.h"
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

void LogSizes(const rocksdb::ColumnFamilyOptions& options, Log* log) {
  log->Write(Severity::kNote, "    write_buffer_size=" + std::to_string(options.write_buffer_size));
  log->Write(Severity::kNote,
             "    target_file_size_base=" + std::to_string(options.target_file_size_base));
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

// Whether RocksDB opens the database, of which it changes nothing.
Status TryToOpen(const DatabaseOptions& options, const Descriptors& families) {
  rocksdb::DBOptions of_trial = options.db;
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
// that are read, until its file ends and is synced: then every commit waits for all of it. Waited
// for piece by piece, it can be rested for. On ZFS RocksDB would sync the file for each piece, and
// with wal_bytes_per_sync commits would wait for pieces of the log.
void SettlePace(DatabaseOptions* options) {
  if (options->db.rate_limiter != nullptr) options->pace = nullptr;
  if (options->pace == nullptr) return;
  options->db.rate_limiter = options->pace;
  if (options->db.bytes_per_sync != 0) return;
  options->db.bytes_per_sync = 1 << 20;
  struct statfs file_system {};
  options->db.strict_bytes_per_sync = options->db.wal_bytes_per_sync == 0 &&
                                      statfs(options->directory.c_str(), &file_system) == 0 &&
                                      file_system.f_type != kZfs;
}

}  // namespace

Database::Database(std::unique_ptr<rocksdb::Env> env, DatabaseOptions options,
                   ColumnFamilyOptionSource family_options,
                   std::shared_ptr<DroppedIndexes> dropped_indexes, std::shared_ptr<Expiry> expiry,
                   std::shared_ptr<KeyLayouts> key_layouts,
                   std::shared_ptr<FileStatistics> file_statistics,
                   std::shared_ptr<WriteStalls> write_stalls,
                   std::shared_ptr<DamagedFiles> damaged_files,
                   std::shared_ptr<LogFailure> log_failure, Log* log)
    : env_(std::move(env)),
      options_(std::move(options)),
      backup_checkpoint_(options_.db.env, options_.directory),
      family_options_(std::move(family_options)),
      dropped_indexes_(std::move(dropped_indexes)),
      expiry_(std::move(expiry)),
      key_layouts_(std::move(key_layouts)),
      file_statistics_(std::move(file_statistics)),
      write_stalls_(std::move(write_stalls)),
      damaged_files_(std::move(damaged_files)),
      log_failure_(std::move(log_failure)),
      log_(log) {}

Result<std::unique_ptr<Database>> Database::Open(DatabaseOptions options, Log* log) {
  auto dropped_indexes = std::make_shared<DroppedIndexes>();
  auto expiry = std::make_shared<Expiry>();
  expiry->SetRemoves(options.remove_expired_rows);
  expiry->SetHides(options.hide_expired_rows);
  auto key_layouts = std::make_shared<KeyLayouts>();
  auto file_statistics = std::make_shared<FileStatistics>(key_layouts, log);
  SettlePace(&options);
  std::unique_ptr<rocksdb::Env> log_names = KeepLogNames(options.db.env);
  options.db.env = log_names.get();
  const auto now_us = [env = options.db.env] { return static_cast<int64_t>(env->NowMicros()); };
  auto write_stalls = std::make_shared<WriteStalls>(now_us, options.pace);
  auto damaged_files = std::make_shared<DamagedFiles>();
  auto log_failure = std::make_shared<LogFailure>();
  if (options.collect_statistics) {
    options.column_family.table_properties_collector_factories = {
        MakeStatisticsCollectorFactory(options.collector, key_layouts)};
  }
  // First: what it takes back is no error for the others.
  options.db.listeners.push_back(MakeDamageListener(damaged_files, now_us, log));
  options.db.listeners.push_back(MakeStatisticsListener(file_statistics));
  options.db.listeners.push_back(MakeStallListener(write_stalls));
  options.db.listeners.push_back(MakeBackgroundErrorListener(log, options.pace));
  options.db.listeners.push_back(MakeLogFailureListener(log_failure));
  // A filter turns the entry of a dropped index into a Delete although a SingleDelete of a session
  // may lie above it, and the stock plug-in's does that with expired entries too. Such pairs are no
  // damage.
  options.db.enforce_single_del_contracts = false;
  KeepNoFlushedMemtables(&options.column_family);
  SettleBypass(&options);
  CAIRN_ASSIGN_OR_RETURN(
      ColumnFamilyOptionSource family_options,
      ColumnFamilyOptionSource::Parse(options.column_family, options.default_column_family_text,
                                      options.override_column_family_text,
                                      MakeCompactionFilterFactory(dropped_indexes, expiry, log)));
  CAIRN_RETURN_IF_ERROR(LookAlone(options, [&](rocksdb::Env* env) {
    return CheckDirectory(env, options.directory, options.db.wal_dir, log);
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
  rocksdb::TransactionDB* db = nullptr;
  const rocksdb::Status opened = rocksdb::TransactionDB::Open(
      options.db, options.transaction, options.directory, descriptors, &handles, &db);
  if (!opened.ok()) return ExplainOpenFailure(opened, options.directory);

  std::unique_ptr<Database> database(
      new Database(std::move(log_names), std::move(options), std::move(family_options),
                   std::move(dropped_indexes), std::move(expiry), std::move(key_layouts),
                   std::move(file_statistics), std::move(write_stalls), std::move(damaged_files),
                   std::move(log_failure), log));
  database->db_.reset(db);
  database->has_left_out_changes_ = leaves_out;
  RemoveUnfinishedFiles(database->options_.db.env, database->options_.directory, log);
  database->backup_checkpoint_.RemoveLeft(log);
  CAIRN_ASSIGN_OR_RETURN(const std::string identity, database->Identity());
  database->sort_directories_ =
      std::make_unique<SortDirectories>(database->env(), database->directory(), identity);
  database->sort_directories_->RemoveLeftRuns(log);
  database->expiry_->Bind(db);
  database->write_stalls_->Bind(db);
  for (rocksdb::ColumnFamilyHandle* handle : handles) database->Adopt(handle);
  database->default_family_ = database->FindFamily(kDefaultColumnFamily);
  CAIRN_ASSIGN_OR_RETURN(database->system_family_,
                         database->FindOrCreateFamily(kSystemColumnFamily));
  log->Write(Severity::kNote, "Column Families at start:");
  for (const ColumnFamily* family : database->Families()) {
    log->Write(Severity::kNote, "  cf=" + family->name);
    LogSizes(database->db_->GetOptions(family->handle), log);
  }
  database->write_stalls_->List();  // A directory may open with too much to compact.
  return database;
}

Database::~Database() {
  const Status closed = Close();
  if (!closed.ok()) log_->Write(Severity::kError, "closing the database: " + closed.ToString());
}

Result<std::string> Database::Identity() const {
  std::string identity;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(db_->GetDbIdentity(identity)));
  return identity;
}

const ColumnFamily* Database::Adopt(rocksdb::ColumnFamilyHandle* handle) {
  auto family = std::make_unique<ColumnFamily>();
  family->handle = handle;
  family->name = handle->GetName();
  family->id = handle->GetID();
  family->reverse = lsm::IsReverseColumnFamily(family->name);
  write_stalls_->AddFamily(family->name, handle);
  AdoptPrefixExtractor(*family);
  uint64_t active = 1;
  uint64_t waiting = 1;
  family->opened_without_memtable =
      db_->GetIntProperty(handle, rocksdb::DB::Properties::kNumEntriesActiveMemTable, &active) &&
      db_->GetIntProperty(handle, rocksdb::DB::Properties::kNumEntriesImmMemTables, &waiting) &&
      active + waiting == 0;
  const ColumnFamily* adopted = family.get();
  families_.emplace(family->name, std::move(family));
  return adopted;
}

// The prefix iterators of hashed memtables go one way only.
void Database::AdoptPrefixExtractor(const ColumnFamily& family) const {
  const rocksdb::Options options = db_->GetOptions(family.handle);
  const bool seeks_prefixes = options.memtable_factory->IsInstanceOf("SkipListFactory");
  family.prefix_extractor.Replace(seeks_prefixes ? options.prefix_extractor : nullptr);
}

const ColumnFamily* Database::FindFamily(std::string_view name) const {
  std::shared_lock lock(families_mutex_);
  const auto found = families_.find(name);
  return found == families_.end() ? nullptr : found->second.get();
}

const ColumnFamily* Database::FindFamily(uint32_t id) const {
  std::shared_lock lock(families_mutex_);
  for (const auto& [name, family] : families_) {
    if (family->id == id) return family.get();
  }
  return nullptr;
}

Result<const ColumnFamily*> Database::FindOrCreateFamily(std::string_view name) {
  if (const ColumnFamily* found = FindFamily(name)) return found;
  std::unique_lock lock(families_mutex_);
  const auto found = families_.find(name);
  if (found != families_.end()) return static_cast<const ColumnFamily*>(found->second.get());
  const rocksdb::ColumnFamilyOptions options = family_options_.For(name);
  log_->Write(Severity::kNote, "creating a column family " + std::string(name));
  LogSizes(options, log_);
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  const Status created = FromRocksDb(db_->CreateColumnFamily(options, std::string(name), &handle));
  if (!created.ok()) {
    return created.WithContext("creating the column family \"" + std::string(name) + "\"");
  }
  return Adopt(handle);
}

std::vector<const ColumnFamily*> Database::Families() const {
  std::shared_lock lock(families_mutex_);
  std::vector<const ColumnFamily*> families;
  families.reserve(families_.size());
  for (const auto& [name, family] : families_) families.push_back(family.get());
  std::sort(families.begin(), families.end(),
            [](const ColumnFamily* a, const ColumnFamily* b) { return a->id < b->id; });
  return families;
}

// With the other policies it takes more than a sequence number to know what is visible.
bool Database::ReadsBySequence() const {
  return options_.transaction.write_policy == rocksdb::TxnDBWritePolicy::WRITE_COMMITTED;
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
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options, family.handle));
  }
  return lsm::NewForwardIterator(
      db_.get(), family.handle, options,
      {.memtable = &family.memtable_reads, .level_zero = &family.level_zero_reads}, verifier);
}

Status Database::FlushMemtables() {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (const ColumnFamily* family : Families()) handles.push_back(family->handle);
  return FromRocksDb(db_->Flush(rocksdb::FlushOptions(), handles));
}

Status Database::PauseBackgroundWork() {
  const IoPace::Haste haste(pace());
  pause_wanted_ = true;
  std::lock_guard lock(merge_mutex_);
  pause_wanted_ = false;
  if (background_work_paused_) return Status();
  CAIRN_RETURN_IF_ERROR(FromRocksDb(db_->PauseBackgroundWork()));
  background_work_paused_ = true;
  return Status();
}

Status Database::ContinueBackgroundWork() {
  const IoPace::Haste haste(pace());
  std::lock_guard lock(merge_mutex_);
  if (!background_work_paused_) return Status();
  CAIRN_RETURN_IF_ERROR(FromRocksDb(db_->ContinueBackgroundWork()));
  background_work_paused_ = false;
  return Status();
}

Status Database::Compact(const ColumnFamily& family, uint32_t threads) {
  const IoPace::Haste haste(pace());
  rocksdb::CompactRangeOptions options;
  options.max_subcompactions = threads;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  ++compactions_running_;
  const std::string what =
      "Manual Compaction id " + std::to_string(++compactions_begun_) + " cf " + family.name;
  log_->Write(Severity::kNote, what + " started.");
  const Status compacted = FromRocksDb(db_->CompactRange(options, family.handle, nullptr, nullptr));
  log_->Write(Severity::kNote,
              what + (compacted.ok() ? " ended." : " aborted. " + compacted.ToString()));
  --compactions_running_;
  ++compactions_processed_;
  return compacted;
}

Status Database::CompactIndex(const ColumnFamily& family, uint32_t index_number,
                              std::atomic<bool>* cancel) {
  const IoPace::Haste haste(cancel == nullptr ? pace() : nullptr);
  const IndexRange range(family, index_number);
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = cancel;
  return FromRocksDb(db_->CompactRange(options, family.handle, &range.lower(), &range.upper()));
}

Status Database::CompactLevelZero() {
  const IoPace::Haste haste(pace());
  std::lock_guard lock(merge_mutex_);  // A merge for reads may leave its file in level 0.
  for (const ColumnFamily* family : Families()) {
    rocksdb::ColumnFamilyMetaData metadata;
    db_->GetColumnFamilyMetaData(family->handle, &metadata);
    std::vector<std::string> files;
    for (const rocksdb::SstFileMetaData& file : metadata.levels[0].files) {
      if (!file.being_compacted) files.push_back(file.name);
    }
    if (files.empty()) continue;
    const rocksdb::Status compacted =
        db_->CompactFiles(rocksdb::CompactionOptions(), family->handle, files, /*output_level=*/1);
    // RocksDB tells nobody of what it is asked for like that.
    file_statistics_->MarkStale(family->id);
    write_stalls_->Look(family->name);
    // A background compaction took some of the files in the meantime: they leave level 0 as well.
    if (!compacted.ok() && !compacted.IsInvalidArgument() && !compacted.IsAborted()) {
      return FromRocksDb(compacted);
    }
  }
  return Status();
}

Status Database::CreateCheckpoint(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  CAIRN_RETURN_IF_ERROR(CheckCheckpointPath(options_.directory, path));
  log_->Write(Severity::kNote, "creating checkpoint in directory : " + path);
  rocksdb::Checkpoint* made = nullptr;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(db_.get(), &made)));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  CAIRN_RETURN_IF_ERROR(FromRocksDb(checkpoint->CreateCheckpoint(path))
                            .WithContext("creating a checkpoint in " + path));
  CAIRN_RETURN_IF_ERROR(FinishCheckpoint(env(), options_.directory, path));
  backup_checkpoint_.NoteMade(path, NowSeconds());
  log_->Write(Severity::kNote, "created checkpoint in directory : " + path);
  return Status();
}

Status Database::CheckFamilyOptions(const std::string& name, const std::string& text) const {
  const ColumnFamily* const family = FindFamily(name);
  const rocksdb::ColumnFamilyOptions now =
      family == nullptr ? family_options_.For(name)
                        : rocksdb::ColumnFamilyOptions(db_->GetOptions(family->handle));
  const auto changed = ApplyOptionText(now, text);
  return changed.ok() ? Status() : changed.status().WithContext("column family \"" + name + "\"");
}

Status Database::UpdateFamilyOptions(std::string_view text) {
  std::lock_guard lock(options_mutex_);
  const auto read = [this, text]() -> decltype(SplitFamilyOptions(text)) {
    CAIRN_ASSIGN_OR_RETURN(auto split, SplitFamilyOptions(text));
    for (const auto& [name, options] : split) {
      CAIRN_RETURN_IF_ERROR(CheckFamilyOptions(name, options));
    }
    return split;
  };
  const auto families = read();
  if (!families.ok()) {
    log_->Write(Severity::kWarning,
                "MyRocks: failed to parse the updated column family options = '" +
                    std::string(text) + "'. " + families.status().ToString());
    return families.status();
  }
  for (const auto& [name, options] : *families) {
    CAIRN_ASSIGN_OR_RETURN(const ColumnFamily* family, FindOrCreateFamily(name));
    std::unordered_map<std::string, std::string> map;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb::StringToMap(options, &map)));
    if (map.empty()) continue;
    family->prefix_extractor.Suspend();
    const Status set = FromRocksDb(db_->SetOptions(family->handle, map));
    AdoptPrefixExtractor(*family);
    if (!set.ok()) {
      log_->Write(Severity::kWarning, "MyRocks: failed to apply the options for column family '" +
                                          name + "'. " + set.ToString());
      return set.WithContext("options of the column family \"" + name + "\" stay as they are");
    }
    log_->Write(Severity::kNote, "MyRocks: options for column family '" + name +
                                     "' have been successfully updated.");
  }
  return Status();
}

Status Database::RefreshStatistics() {
  Status result;
  const std::vector<uint32_t> stale = file_statistics_->StaleFamilies();
  for (const ColumnFamily* family : Families()) {
    if (family->id == system_family_->id) continue;
    const bool is_stale = std::find(stale.begin(), stale.end(), family->id) != stale.end();
    // Looked at once since the start, also when nothing has changed.
    if (!is_stale && file_statistics_->CountedAt(family->id).has_value()) continue;
    const Status refreshed = file_statistics_->Refresh(db_.get(), family->handle);
    if (result.ok()) result = refreshed;
    // As long as they are not there they never will be.
    if (family->opened_without_memtable && !file_statistics_->MayHaveRangeDeletions(family->id)) {
      family->may_have_range_deletions.store(false, std::memory_order_relaxed);
    }
  }
  return result;
}

Status Database::SyncLog() {
  if (options_.db.allow_mmap_writes) return WriteLog();
  return log_sync_.Run([this] {
    const Status failure = log_failure_->Check();
    return failure.ok() ? FromRocksDb(db_->FlushWAL(/*sync=*/true)) : failure;
  });
}

void Database::UseRangeLocks(std::unique_ptr<RangeLockTable> table) {
  CAIRN_ASSERT(range_locks_ == nullptr);
  range_locks_ = std::move(table);
}

Status Database::WriteLog() {
  CAIRN_RETURN_IF_ERROR(log_failure_->Check());
  return FromRocksDb(db_->FlushWAL(/*sync=*/false));
}

Status Database::MakeCommitsDurable() {
  // RocksDB adds what it writes for a commit to what it wrote for the last try, which nothing could
  // take by now.
  CAIRN_RETURN_IF_ERROR(log_failure_->Check());
  // One that waits for the next start keeps nothing else from the disk.
  Status finished = unfinished_decisions_.Retry(db_.get(), range_locks_.get());
  CAIRN_RETURN_IF_ERROR(SyncLog());
  return finished;
}

Status Database::Close() {
  if (db_ == nullptr) return Status();
  const IoPace::Haste haste(pace());
  rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true);
  expiry_->Bind(nullptr);
  write_stalls_->Bind(nullptr);
  unfinished_decisions_.Clear();
  Status result = SyncLog();
  for (auto& [name, family] : families_) {
    const rocksdb::Status destroyed = db_->DestroyColumnFamilyHandle(family->handle);
    if (result.ok()) result = FromRocksDb(destroyed);
  }
  families_.clear();
  const rocksdb::Status closed = db_->Close();
  if (result.ok()) result = FromRocksDb(closed);
  db_.reset();
  return result;
}

}  // namespace cairn
