// Which rows and ranges a transaction locks, and what it meets when it asks for a lock.
#include <algorithm>

#include "engine/locks/interruptible_mutex.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/read_error.h"
#include "engine/txn/transaction.h"

namespace cairn {
namespace {

// What RocksDB keeps of a row lock: an entry in the table of locks and one in the transaction's
// list, each with the key.
constexpr uint64_t kRowLockBytes = 320;

// Whether RocksDB may hold the lock that it was asked for; a refusal says that it does not.
bool MayBeLocked(const rocksdb::Status& locked) {
  return !locked.IsTimedOut() && !locked.IsBusy() && !locked.IsExpired();
}

Status TooManyLocks() {
  return Status(StatusCode::kLockLimit,
                "Failed to acquire lock due to rocksdb_max_row_locks limit");
}

}  // namespace

Status Transaction::Lock(const ColumnFamily& family, std::string_view key, LockMode mode,
                         LockWait wait) {
  return LockAndRead(family, key, mode, nullptr, wait);
}

Status Transaction::LockUnchecked(std::string_view key, LockMode mode) {
  if (for_keys_.unchecked_locks >= settings_.max_row_locks / 2) return Status();
  const uint64_t before = lock_count_;
  ++for_keys_.unchecked_locks;  // Room for it.
  Status locked = Lock(database_->system_family(), key, mode);
  if (lock_count_ <= before) --for_keys_.unchecked_locks;
  return locked;
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
  if (lock_count_ >= settings_.max_row_locks + for_keys_.unchecked_locks) return TooManyLocks();
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
  rocksdb::ReadOptions options = family.ReadOptions();
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
      locked = GetMerged(family, options, key, value);
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

void Transaction::ClaimForeignKeyValues(const std::vector<uint32_t>& numbers) {
  if (!claims_.any() || claims_.ClaimForeignKeyValues(rocksdb_.get(), numbers)) return;
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
  CAIRN_RETURN_IF_ERROR(IndexBatch());
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
  settings.most_locks = settings_.max_row_locks + for_keys_.unchecked_locks;
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
  rocksdb::ReadOptions options = family.ReadOptions();
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

// RocksDB releases its own when the transaction ends there. With claims_.Hold().
void Transaction::ReleaseLocks() {
  claims_.Drop();
  if (lock_owner_ != nullptr && range_locks_ != nullptr) range_locks_->UnlockAll(lock_owner_.get());
}

void Transaction::CountLocks() {
  SetLockCount(range_locks_ != nullptr ? lock_owner_->locks().size() : rocksdb_->GetNumKeys());
}

void Transaction::SetLockCount(uint64_t count) {
  lock_count_ = count;
  lock_memory_.Set((count - claims_.noted_count()) * kRowLockBytes);
  facts_.SetLockCount(count);
}

}  // namespace cairn
