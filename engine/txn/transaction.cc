#include "engine/txn/transaction.h"

#include <algorithm>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/read_error.h"

namespace cairn {
namespace {

rocksdb::ReadOptions ReadOptionsFor(const ColumnFamily& family) {
  rocksdb::ReadOptions options;
  options.ignore_range_deletions = !family.may_have_range_deletions.load(std::memory_order_relaxed);
  return options;
}

// What RocksDB keeps of an entry of a batch beside its bytes: a node of the batch's index.
constexpr uint64_t kBatchEntryBytes = 72;
// And of a row lock: an entry in the table of locks and one in the transaction's list, each with
// the key.
constexpr uint64_t kRowLockBytes = 288;
// Whether RocksDB may hold the lock that it was asked for; a refusal says that it does not.
bool MayBeLocked(const rocksdb::Status& locked) {
  return !locked.IsTimedOut() && !locked.IsBusy() && !locked.IsExpired();
}

Status TooManyLocks() {
  return Status(StatusCode::kLockLimit,
                "Failed to acquire lock due to rocksdb_max_row_locks limit");
}

// A finished transaction keeps its buffer for the next one if it is not larger.
constexpr uint64_t kKeptBatchBytes = 1 << 20;

}  // namespace

Transaction::Transaction(Database* database)
    : database_(database),
      batch_memory_(&database->memory_accounts(), MemoryPart::kWriteBatches),
      lock_memory_(&database->memory_accounts(), MemoryPart::kRowLocks),
      claims_(database) {}

Transaction::~Transaction() {
  if (prepared_) {
    Detach();
  } else if (started_) {
    const Status rolled_back = Rollback();
    if (!rolled_back.ok()) {
      database_->log().Write(Severity::kError,
                             "rolling back an open transaction: " + rolled_back.ToString());
    }
  }
}

void Transaction::Start(const TransactionSettings& settings) {
  if (started_) {
    settings_.changes_per_piece = settings.changes_per_piece;
    settings_.lock_ranges = settings.lock_ranges;
    settings_.repeat_reads = settings.repeat_reads;
    settings_.verify_reads = settings.verify_reads;
    if (!statement_.begun) {
      // A scan that has begun under another rule would lock rows that it did not look for.
      settings_.snapshot_conflicts = settings.snapshot_conflicts;
      RenewSnapshot();
    }
    settings_.max_row_locks = settings.max_row_locks;
    if (settings_.lock_wait_timeout_ms != settings.lock_wait_timeout_ms) {
      settings_.lock_wait_timeout_ms = settings.lock_wait_timeout_ms;
      const ClaimedTables::Held held = claims_.Hold();
      rocksdb_->SetLockTimeout(settings.lock_wait_timeout_ms);
      begun_.with.lock_wait_timeout_ms = settings.lock_wait_timeout_ms;
      facts_.SetTimeout(settings.lock_wait_timeout_ms);
    }
    return;
  }
  settings_ = settings;
  BeginRocksDb();
  started_ = true;
  ++epoch_;
}

// Whether rocksdb_ is what BeginRocksDb() would make of it: to begin and roll back costs more than
// a read.
bool Transaction::IsAsBegun() const {
  return rocksdb_ != nullptr && !begun_.touched &&
         begun_.with.lock_wait_timeout_ms == settings_.lock_wait_timeout_ms &&
         begun_.with.deadlock_detect == settings_.deadlock_detect &&
         begun_.with.deadlock_detect_depth == settings_.deadlock_detect_depth &&
         begun_.with.max_write_batch_bytes == settings_.max_write_batch_bytes &&
         begun_.with.write_log == settings_.write_log && range_locks_ == database_->range_locks();
}

void Transaction::BeginRocksDb() {
  if (IsAsBegun()) {
    facts_.Started({rocksdb_->GetID(), settings_.lock_wait_timeout_ms, settings_.deadlock_detect});
    return;
  }
  rocksdb::TransactionOptions options;
  options.lock_timeout = settings_.lock_wait_timeout_ms;
  options.deadlock_detect = settings_.deadlock_detect;
  options.deadlock_detect_depth = settings_.deadlock_detect_depth;
  options.max_write_batch_size = settings_.max_write_batch_bytes;
  options.large_txn_commit_optimize_byte_threshold = database_->bypass_memtable_bytes();
  range_locks_ = database_->range_locks();
  options.skip_concurrency_control = range_locks_ != nullptr;
  rocksdb::WriteOptions write_options;
  write_options.disableWAL = !settings_.write_log;
  if (!settings_.write_log) database_->maintenance().NoteUnloggedWrites();
  rocksdb_.reset(
      database_->rocksdb()->BeginTransaction(write_options, options, rocksdb_.release()));
  begun_.with = settings_;
  begun_.touched = false;
  facts_.Started({rocksdb_->GetID(), settings_.lock_wait_timeout_ms, settings_.deadlock_detect});
  if (range_locks_ == nullptr) return;
  if (lock_owner_ == nullptr) lock_owner_ = std::make_unique<RangeLockTable::Owner>(0);
  lock_owner_->set_id(rocksdb_->GetID());
}

bool Transaction::has_writes() const {
  return started_ && begun_.touched && rocksdb_->GetWriteBatch()->GetWriteBatch()->Count() > 0;
}

bool Transaction::RepeatsReads() const {
  if (settings_.autocommit || reads_apart() || !settings_.repeat_reads) return false;
  // What a transaction at SERIALIZABLE reads under range locks repeats by itself.
  const bool locks_all = range_locks_ != nullptr && !settings_.only_reads;
  return settings_.isolation == IsolationLevel::kRepeatableRead ||
         (settings_.isolation == IsolationLevel::kSerializable && !locks_all);
}

bool Transaction::TakesLatest() const {
  return settings_.snapshot_conflicts == SnapshotConflicts::kLatest && RepeatsReads() &&
         settings_.isolation == IsolationLevel::kRepeatableRead;
}

void Transaction::ReleaseStatementSnapshots() {
  const auto release = [this](const rocksdb::Snapshot** taken) {
    if (*taken == nullptr) return;
    database_->rocksdb()->ReleaseSnapshot(*taken);
    *taken = nullptr;
  };
  release(&statement_.snapshot);
  release(&statement_.latest);
}

// RocksDB would keep the buffer of its batch for as long as the session lives.
bool Transaction::IsLarge() const {
  return rocksdb_->GetWriteBatch()->GetWriteBatch()->GetDataSize() > kKeptBatchBytes;
}

// Everything that ends with the transaction, but for the RocksDB object, which is reused.
void Transaction::Finish() {
  ReleaseStatementSnapshots();
  // RocksDB would keep it until the object starts again, and an idle session would hold compactions
  // back.
  if (rocksdb_ != nullptr) rocksdb_->ClearSnapshot();
  ReleaseLocks();
  batch_memory_.Set(0);
  lock_memory_.Set(0);
  lock_count_ = 0;
  ordered_.reset();
  lock_list_.clear();
  auto_increment_raises_.Clear();
  row_counts_.Commit();  // Nothing is left of what was rolled back.
  builds_.Leave(&database_->dropped_indexes());
  facts_.Finished();
  ++epoch_;
  savepoints_.Clear();
  statement_.savepoint.reset();
  started_ = prepared_ = bypass_.may = statement_.begun = statement_.wrote = false;
  wrote_unlocked_ = false;
}

// RocksDB releases its own when the transaction ends there. With claims_.Hold().
void Transaction::ReleaseLocks() {
  claims_.Drop();
  if (lock_owner_ != nullptr && range_locks_ != nullptr) range_locks_->UnlockAll(lock_owner_.get());
}

// What earlier statements left uncommitted is to be seen, what this one writes is not.
Status Transaction::ReadApart() {
  return has_writes() && !statement_.wrote ? CommitPiece(Durability::kDelayed) : Status();
}

Status Transaction::Rollback() {
  if (!started_) return Status();
  const ClaimedTables::Held held = claims_.Hold();
  Status result;
  if (begun_.touched && auto_increment_raises_.empty()) {
    // They are in the batch once it is to be prepared.
    auto_increment_raises_ =
        AutoIncrementRaises::Of(*database_, *rocksdb_->GetWriteBatch()->GetWriteBatch());
  }
  // First, so that nobody takes a table for one that no prepared transaction has changed.
  auto_increment_raises_.WriteForRollback(database_);
  if (begun_.touched) {
    facts_.SetState(TransactionState::kAwaitingRollback);
    const bool large = IsLarge();
    result = FromRocksDb(rocksdb_->Rollback());
    if (!result.ok() && prepared_) {
      StayPrepared(UnfinishedDecisions::Decision::kRollback);
      result = result.WithContext("the transaction stays prepared until it can be rolled back");
    } else if (!result.ok() || large || prepared_) {
      // RocksDB would keep the name of a prepared one, and nobody else could use it.
      rocksdb_.reset();
    }
  }
  row_counts_.Rollback();
  Finish();
  return result;
}

void Transaction::BeginStatement() {
  if (statement_.begun) return;
  statement_.begun = true;
  statement_.wrote = false;
  if (!settings_.autocommit) statement_.savepoint = savepoints_.Set();
}

void Transaction::EndStatement() {
  if (statement_.savepoint.has_value()) {
    ReleaseSavepoint(*statement_.savepoint, Savepoints::Later::kRelease);
    statement_.savepoint.reset();
  }
  statement_.begun = false;
  ReleaseStatementSnapshots();
  row_counts_.EndStatement();
  ++epoch_;
}

Status Transaction::RollbackStatement() {
  Status result;
  if (statement_.savepoint.has_value()) result = RollbackToSavepoint(*statement_.savepoint);
  EndStatement();
  return result;
}

// On the batch alone: RocksDB's transaction would also give up locks, which readers at SERIALIZABLE
// count on, and the snapshot if it was taken since.
Status Transaction::RollbackToSavepoint(Savepoint savepoint) {
  CAIRN_ASSERT(started_ && !prepared_);
  CAIRN_RETURN_IF_ERROR(savepoints_.RollbackTo(savepoint, rocksdb_->GetWriteBatch()));
  row_counts_.RollbackTo(savepoint);
  CountWrites();
  ++epoch_;
  return Status();
}

void Transaction::ReleaseSavepoint(Savepoint savepoint, Savepoints::Later later) {
  const Savepoint last = later == Savepoints::Later::kRelease ? savepoints_.newest() : savepoint;
  const Savepoint before = savepoints_.Release(savepoint, later, rocksdb_->GetWriteBatch());
  row_counts_.Release(savepoint, last, before);
}

void Transaction::EnsureSnapshot() {
  CAIRN_ASSERT(started_);
  if (RepeatsReads()) {
    PinSnapshot();
  } else if (statement_.snapshot == nullptr && rocksdb_->GetSnapshot() == nullptr) {
    const auto lock = database_->KeepIngestionOut();
    statement_.snapshot = database_->rocksdb()->GetSnapshot();
  }
}

void Transaction::PinSnapshot() {
  if (rocksdb_->GetSnapshot() != nullptr) return;
  const auto lock = database_->KeepIngestionOut();
  rocksdb_->SetSnapshot();
}

const rocksdb::Snapshot* Transaction::CurrentSnapshot() const {
  if (statement_.snapshot != nullptr || !started_) return statement_.snapshot;
  return rocksdb_->GetSnapshot();
}

void Transaction::RenewSnapshot() {
  if (RepeatsReads()) return;
  ReleaseStatementSnapshots();
  rocksdb_->ClearSnapshot();  // Of statements before that repeated reads.
  ++epoch_;
}

uint64_t Transaction::SnapshotNumber() const {
  const rocksdb::Snapshot* const snapshot = CurrentSnapshot();
  return snapshot == nullptr ? 0 : snapshot->GetSequenceNumber();
}

uint64_t Transaction::ViewTime(View view) const {
  const rocksdb::Snapshot* const snapshot =
      view != View::kSnapshot && TakesLatest() ? statement_.latest : CurrentSnapshot();
  return snapshot != nullptr ? static_cast<uint64_t>(snapshot->GetUnixTime())
                             : database_->NowSeconds();
}

bool Transaction::HidesExpiredImpl(std::string_view value, uint64_t ttl_seconds, View view) const {
  Expiry& expiry = database_->expiry();
  // A value without a whole stamp is damaged, which decoding it reports.
  if (!expiry.hides() || value.size() < kTtlStampBytes) return false;
  const bool expired =
      IsExpired(LoadBigEndian<uint64_t>(value.data()), ttl_seconds, ViewTime(view));
  if (expired) expiry.CountHidden();
  return expired;
}

// Sets what a read sees, and whether that is more than what is committed.
Status Transaction::SetView(View view, rocksdb::ReadOptions* options, bool* merges_writes) {
  options->fill_cache = options->fill_cache && settings_.fill_block_cache;
  *merges_writes = has_writes();
  if (view == View::kLatest) return Status();
  if (reads_apart()) {
    CAIRN_RETURN_IF_ERROR(ReadApart());
    *merges_writes = false;
  }
  if (view == View::kStatement && TakesLatest()) {
    options->snapshot = SnapshotOfStatement();
    return Status();
  }
  EnsureSnapshot();
  options->snapshot = CurrentSnapshot();
  return Status();
}

const rocksdb::Snapshot* Transaction::SnapshotOfStatement() {
  if (statement_.latest == nullptr) {
    const auto lock = database_->KeepIngestionOut();
    statement_.latest = database_->rocksdb()->GetSnapshot();
  }
  return statement_.latest;
}

Status Transaction::Get(const ColumnFamily& family, std::string_view key, View view,
                        rocksdb::PinnableSlice* value) {
  database_->work().Count(Work::kPointReads);
  rocksdb::ReadOptions options = ReadOptionsFor(family);
  bool merges_writes;
  CAIRN_RETURN_IF_ERROR(SetView(view, &options, &merges_writes));
  return FromRead(database_, family, key,
                  merges_writes ? rocksdb_->Get(options, family.handle, key, value)
                                : database_->Get(family, options, key, value, verifier()));
}

void Transaction::GetMany(const ColumnFamily& family, size_t count, const rocksdb::Slice* keys,
                          View view, rocksdb::PinnableSlice* values, rocksdb::Status* outcomes) {
  database_->work().Count(Work::kPointReads, count);
  rocksdb::ReadOptions options = ReadOptionsFor(family);
  bool merges_writes;
  const Status set = SetView(view, &options, &merges_writes);
  if (!set.ok()) {
    std::fill_n(outcomes, count, rocksdb::Status::Aborted(set.ToString()));
    return;
  }
  if (!merges_writes) {
    database_->GetMany(family, options, count, keys, values, outcomes, verifier());
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    values[i].Reset();
    outcomes[i] = rocksdb_->Get(options, family.handle, keys[i], &values[i]);
  }
}

std::unique_ptr<rocksdb::Iterator> Transaction::NewIterator(const ColumnFamily& family,
                                                            rocksdb::ReadOptions options,
                                                            View view) {
  database_->work().Count(Work::kRangeReads);
  bool merges_writes;
  const Status set = SetView(view, &options, &merges_writes);
  if (!set.ok()) {
    return std::unique_ptr<rocksdb::Iterator>(
        rocksdb::NewErrorIterator(rocksdb::Status::Aborted(set.ToString())));
  }
  std::unique_ptr<rocksdb::Iterator> committed =
      database_->NewIterator(family, options, verifier());
  if (!merges_writes) return committed;
  return std::unique_ptr<rocksdb::Iterator>(
      rocksdb_->GetWriteBatch()->NewIteratorWithBase(family.handle, committed.release(), &options));
}

Status Transaction::Lock(const ColumnFamily& family, std::string_view key, LockMode mode,
                         LockWait wait) {
  return LockAndRead(family, key, mode, nullptr, wait);
}

Status Transaction::GetForUpdate(const ColumnFamily& family, std::string_view key, LockMode mode,
                                 rocksdb::PinnableSlice* value, LockWait wait) {
  CAIRN_RETURN_IF_ERROR(LockAndRead(family, key, mode, value, wait));
  // In REPEATABLE READ a first statement that locks sees the row as it is now, and so does every
  // later read: the snapshot follows the lock. Where locks take no notice of the snapshot, only a
  // plain read takes one.
  if (RepeatsReads() && !TakesLatest()) PinSnapshot();
  return Status();
}

Status Transaction::LockAndRead(const ColumnFamily& family, std::string_view key, LockMode mode,
                                rocksdb::PinnableSlice* value, LockWait wait) {
  CAIRN_ASSERT(started_);
  if (!settings_.lock_rows) {
    return value == nullptr ? Status() : Get(family, key, View::kLatest, value);
  }
  if (range_locks_ == nullptr) return LockAndReadOne(family, key, mode, value, wait);
  CAIRN_RETURN_IF_ERROR(LockInTable(RangeOfKey(family.id, key), mode, wait));
  if (MayMeetConflicts()) {
    CAIRN_RETURN_IF_ERROR(CheckUnchangedSince(rocksdb_->GetSnapshot(), family, key));
  }
  return value == nullptr ? Status() : Get(family, key, View::kLatest, value);
}

// With RocksDB's locks.
Status Transaction::LockAndReadOne(const ColumnFamily& family, std::string_view key, LockMode mode,
                                   rocksdb::PinnableSlice* value, LockWait wait) {
  if (lock_count_ >= settings_.max_row_locks) return TooManyLocks();
  if (claims_.any()) {
    using Cover = ClaimedTables::Cover;
    const Cover cover = NoteClaimed(key, mode);
    if (cover != Cover::kNone && value == nullptr) return Status();
    if (cover == Cover::kNoted) return Get(family, key, View::kLatest, value);
    if (cover == Cover::kOwn) return GetOwnWrite(family, key, value);
    if (cover == Cover::kUnused) return Status(StatusCode::kNotFound);
  }
  // Whether the row changed since the snapshot matters only when reads repeat; the transaction has
  // a snapshot of its own only then.
  rocksdb::ReadOptions options = ReadOptionsFor(family);
  options.fill_cache = settings_.fill_block_cache;
  if (value != nullptr) database_->work().Count(Work::kPointReads);
  constexpr rocksdb::PinnableSlice* kNoValue = nullptr;
  const bool validates = !TakesLatest();
  begun_.touched = true;
  locking_.family = &family;
  locking_.key = key;
  if (wait == LockWait::kRefuse) rocksdb_->SetLockTimeout(0);
  rocksdb::Status locked;
  uint64_t claims_ended;
  do {
    claims_ended = database_->table_claims().ended();
    locked = rocksdb_->GetForUpdate(options, family.handle, key, kNoValue,
                                    /*exclusive=*/mode == LockMode::kExclusive, validates);
    if (locked.ok() && value != nullptr) {
      locked = has_writes() ? rocksdb_->Get(options, family.handle, key, value)
                            : database_->Get(family, options, key, value, verifier());
    }
  } while (MayBeLocked(locked) && GiveWay(family, key, claims_ended));
  if (wait == LockWait::kRefuse) rocksdb_->SetLockTimeout(settings_.lock_wait_timeout_ms);
  locking_.family = nullptr;
  CountLocks();
  if (settings_.prepares_locks && (locked.ok() || locked.IsNotFound())) {
    LockMode& listed = lock_list_[RangeOfKey(family.id, key)];
    listed = std::max(listed, mode);
  }
  if (locked.ok()) return Status();
  if (locked.IsTimedOut() && WaitInterrupted()) return Status(StatusCode::kInterrupted);
  Status refused = FromRead(database_, family, key, locked);
  if (wait == LockWait::kWait) CountRefusedLock(refused);
  return refused;
}

// What somebody has claimed is not locked yet where he needs it: he gets his locks first. The lock
// is given back, and what was read under it is forgotten, if there is such a claim or was one that
// has ended since `claims_ended`.
bool Transaction::GiveWay(const ColumnFamily& family, std::string_view key, uint64_t claims_ended) {
  TableClaims& claims = database_->table_claims();
  const std::shared_ptr<TableClaims::Claimant> claimant =
      claims.any() ? claims.ClaimantOf(TableClaims::IndexNumberOf(key)) : nullptr;
  if (claimant == nullptr && claims.ended() == claims_ended) return false;
  rocksdb_->UndoGetForUpdate(family.handle, key);
  if (claimant != nullptr) claims.Revoke(claimant);
  return true;
}

void Transaction::Claim(const TableDefinition& table) {
  CAIRN_ASSERT(started_ && !prepared_);
  if (range_locks_ != nullptr || !settings_.lock_rows || !settings_.autocommit ||
      settings_.prepares_locks || reads_apart()) {
    return;
  }
  begun_.touched = true;
  if (claims_.Claim(rocksdb_.get(), table)) return;
  const ClaimedTables::Held held = claims_.Hold();
  rocksdb_->SetLockTimeout(settings_.lock_wait_timeout_ms);
}

ClaimedTables::Cover Transaction::NoteClaimed(std::string_view key, LockMode mode) {
  const ClaimedTables::Cover cover = claims_.Note(key, mode);
  if (cover == ClaimedTables::Cover::kNone) {
    EndClaims();
  } else {
    SetLockCount(lock_count_ + 1);
  }
  return cover;
}

// With claims_.Hold(), if they may stand.
void Transaction::EndClaims() {
  claims_.ExchangeForLocks();
  rocksdb_->SetLockTimeout(settings_.lock_wait_timeout_ms);
  CountLocks();
}

Status Transaction::GetOwnWrite(const ColumnFamily& family, std::string_view key,
                                rocksdb::PinnableSlice* value) {
  value->Reset();
  const rocksdb::Status read = rocksdb_->GetWriteBatch()->GetFromBatch(
      family.handle, database_->options().db, key, value->GetSelf());
  if (read.ok()) value->PinSelf();
  return FromRocksDb(read);
}

bool Transaction::LocksRanges() const {
  return LocksEntries() && settings_.lock_ranges &&
         settings_.isolation != IsolationLevel::kReadCommitted;
}

bool Transaction::MayBeBehind() const {
  return RepeatsReads() && rocksdb_->GetSnapshot() != nullptr &&
         rocksdb_->GetSnapshot()->GetSequenceNumber() !=
             database_->rocksdb()->GetLatestSequenceNumber();
}

Status Transaction::LockRange(const ColumnFamily& family, std::string_view first,
                              std::string_view end, LockMode mode) {
  CAIRN_ASSERT(started_ && LocksRanges());
  return LockInTable({family.id, std::string(first), std::string(end)}, mode, LockWait::kWait);
}

Status Transaction::LockInTable(const KeySpan& range, LockMode mode, LockWait wait) {
  LockWaitSettings settings;
  settings.timeout_ms = wait == LockWait::kRefuse ? 0 : settings_.lock_wait_timeout_ms;
  settings.detect_deadlocks = settings_.deadlock_detect;
  settings.detect_depth = settings_.deadlock_detect_depth;
  settings.most_locks = settings_.max_row_locks;
  locking_.span = &range;
  Status locked = range_locks_->Lock(lock_owner_.get(), range, mode, settings);
  locking_.span = nullptr;
  CountLocks();
  if (locked.ok()) return Status();
  if (locked.code() == StatusCode::kLockLimit) return TooManyLocks();
  if (locked.code() == StatusCode::kLockTimeout && WaitInterrupted()) {
    return Status(StatusCode::kInterrupted);
  }
  if (wait == LockWait::kWait) CountRefusedLock(locked);
  return locked;
}

Status Transaction::CheckStatementUnchanged(const ColumnFamily& family, std::string_view key) {
  const rocksdb::Snapshot* const seen = statement_.latest;
  const bool may_differ =
      seen != nullptr && settings_.lock_rows &&
      seen->GetSequenceNumber() != database_->rocksdb()->GetLatestSequenceNumber();
  return may_differ ? CheckUnchangedSince(seen, family, key) : Status();
}

// Whether the locked key has the value that the snapshot shows, the transaction's own changes
// apart. RocksDB, which looks after this with its own locks, compares versions; a row that others
// have put back as it was is no conflict.
Status Transaction::CheckUnchangedSince(const rocksdb::Snapshot* snapshot,
                                        const ColumnFamily& family, std::string_view key) {
  rocksdb::TransactionDB* const database = database_->rocksdb();
  rocksdb::ReadOptions options;
  options.fill_cache = settings_.fill_block_cache;
  rocksdb::PinnableSlice now;
  const rocksdb::Status read_now = database->Get(options, family.handle, key, &now);
  options.snapshot = snapshot;
  rocksdb::PinnableSlice seen;
  const rocksdb::Status read_seen = database->Get(options, family.handle, key, &seen);
  for (const rocksdb::Status* read : {&read_now, &read_seen}) {
    if (!read->ok() && !read->IsNotFound()) return FromRead(database_, family, key, *read);
  }
  if (read_now.ok() == read_seen.ok() && (!read_now.ok() || now == seen)) return Status();
  return SnapshotConflict();
}

Status Transaction::SnapshotConflict() {
  Status conflict(StatusCode::kSnapshotConflict);
  CountRefusedLock(conflict);
  return conflict;
}

void Transaction::CountRefusedLock(const Status& refusal) {
  if (refusal.code() == StatusCode::kDeadlock) database_->work().Count(Work::kDeadlocks);
  if (refusal.code() == StatusCode::kLockTimeout) database_->work().Count(Work::kLockTimeouts);
  if (refusal.code() == StatusCode::kSnapshotConflict) {
    database_->work().Count(Work::kSnapshotConflicts);
  }
}

void Transaction::WaitBegins() {
  if (locking_.span != nullptr) {
    facts_.WaitBegins(*locking_.span);
  } else if (locking_.family != nullptr) {
    facts_.WaitBegins(RangeOfKey(locking_.family->id, locking_.key));
  }
}

void Transaction::WaitEnds() {
  if (locking_.span != nullptr || locking_.family != nullptr) facts_.WaitEnds();
}

std::vector<uint64_t> Transaction::LockHolders() const {
  if (range_locks_ != nullptr) return lock_owner_->WaitsFor();
  uint32_t family = 0;
  std::string key;
  return rocksdb_->GetWaitingTxns(&family, &key);
}

std::optional<LockMode> Transaction::PlainReadLock() const {
  if (settings_.isolation != IsolationLevel::kSerializable || settings_.only_reads) return {};
  return LockMode::kShared;
}

void Transaction::Unlock(const ColumnFamily& family, std::string_view key) {
  if (started_ && settings_.isolation != IsolationLevel::kSerializable) TakeBackLock(family, key);
}

void Transaction::TakeBackLock(const ColumnFamily& family, std::string_view key) {
  if (range_locks_ != nullptr) {
    range_locks_->UnlockKey(lock_owner_.get(), RangeOfKey(family.id, key));
    return CountLocks();
  }
  if (claims_.any()) {
    const ClaimedTables::Held held = claims_.Hold();
    if (claims_.Stand()) {
      const size_t noted = claims_.noted_count();
      claims_.TakeBack(key);
      return SetLockCount(lock_count_ - (noted - claims_.noted_count()));
    }
    EndClaims();
  }
  const uint64_t before = lock_count_;
  rocksdb_->UndoGetForUpdate(family.handle, key);
  CountLocks();
  if (settings_.prepares_locks && lock_count_ < before) {
    lock_list_.erase(RangeOfKey(family.id, key));
  }
}

rocksdb::WriteBatchWithIndex& Transaction::BatchForWrite() {
  CAIRN_ASSERT(started_);
  begun_.touched = true;
  savepoints_.BeforeWrite(rocksdb_->GetWriteBatch());
  // Straight into the batch: the row's lock is held already, and entries of secondary indexes need
  // none.
  statement_.wrote = true;
  return *rocksdb_->GetWriteBatch();
}

void Transaction::CountWrites() {
  const rocksdb::WriteBatch& batch = *rocksdb_->GetWriteBatch()->GetWriteBatch();
  batch_memory_.Set(batch.GetDataSize() + batch.Count() * kBatchEntryBytes + claims_.noted_bytes());
  facts_.SetWriteCount(batch.Count());
}

void Transaction::CountLocks() {
  SetLockCount(range_locks_ != nullptr ? lock_owner_->locks().size() : rocksdb_->GetNumKeys());
}

void Transaction::SetLockCount(uint64_t count) {
  lock_count_ = count;
  lock_memory_.Set((count - claims_.noted_count()) * kRowLockBytes);
  facts_.SetLockCount(count);
}

Status Transaction::AfterWrite(const rocksdb::Status& written) {
  CountWrites();
  if (!written.IsAborted() || written.subcode() != rocksdb::Status::SubCode::kMemoryLimit) {
    return FromRocksDb(written);
  }
  return Status(StatusCode::kAborted,
                "Operation aborted: the changes of the transaction have reached "
                "rocksdb_write_batch_max_bytes (" +
                    std::to_string(settings_.max_write_batch_bytes) + ")");
}

Status Transaction::Put(const ColumnFamily& family, std::string_view key, std::string_view value) {
  const rocksdb::Status put = BatchForWrite().Put(family.handle, key, value);
  return AfterWrite(put);
}

Status Transaction::Delete(const ColumnFamily& family, std::string_view key) {
  const rocksdb::Status deleted = BatchForWrite().Delete(family.handle, key);
  return AfterWrite(deleted);
}

Status Transaction::SingleDelete(const ColumnFamily& family, std::string_view key) {
  const rocksdb::Status deleted = BatchForWrite().SingleDelete(family.handle, key);
  return AfterWrite(deleted);
}

Result<bool> Transaction::JoinBuild(const std::shared_ptr<IndexBuildState>& build) {
  CAIRN_ASSERT(started_ && !prepared_);
  CAIRN_ASSIGN_OR_RETURN(const bool writes, builds_.Join(build, &database_->dropped_indexes()));
  if (writes && !settings_.write_log) {
    begun_.touched = true;
    settings_.write_log = begun_.with.write_log = true;
    rocksdb_->GetWriteOptions()->disableWAL = false;
  }
  return writes;
}

void Transaction::RaiseAutoIncrement(const TableDefinition& table, uint64_t next_value) {
  auto_increment_raises_.Raise(table, next_value);
}

}  // namespace cairn
