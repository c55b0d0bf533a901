// What a transaction sees: its snapshots, and its reads.
#include <algorithm>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/read_error.h"
#include "engine/txn/transaction.h"

namespace cairn {

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

bool Transaction::MayBeBehind() const {
  return RepeatsReads() && rocksdb_->GetSnapshot() != nullptr &&
         rocksdb_->GetSnapshot()->GetSequenceNumber() !=
             database_->rocksdb()->GetLatestSequenceNumber();
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

const rocksdb::Snapshot* Transaction::SnapshotOfStatement() {
  if (statement_.latest == nullptr) {
    const auto lock = database_->KeepIngestionOut();
    statement_.latest = database_->rocksdb()->GetSnapshot();
  }
  return statement_.latest;
}

void Transaction::RenewSnapshot() {
  if (!RepeatsReads()) ForgetSnapshot();
}

void Transaction::ForgetSnapshot() {
  ReleaseStatementSnapshots();
  rocksdb_->ClearSnapshot();  // Of statements before that repeated reads.
  ++epoch_;
}

void Transaction::ReleaseSnapshot(const rocksdb::Snapshot** taken) {
  database_->rocksdb()->ReleaseSnapshot(*taken);
  *taken = nullptr;
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

// With the transaction's own changes. RocksDB merges both for the keys that it has written; of all
// others our own reader, which takes a third of the time, tells what is committed.
rocksdb::Status Transaction::GetMerged(const ColumnFamily& family,
                                       const rocksdb::ReadOptions& options,
                                       const rocksdb::Slice& key, rocksdb::PinnableSlice* value) {
  if (has_writes()) {
    const Status indexed = IndexBatch();
    if (!indexed.ok()) return rocksdb::Status::Corruption(indexed.ToString());
    const std::unique_ptr<rocksdb::WBWIIterator> written(
        rocksdb_->GetWriteBatch()->NewIterator(family.handle));
    written->Seek(key);
    if (!written->status().ok()) return written->status();
    if (written->Valid() && written->Entry().key == key) {
      return rocksdb_->Get(options, family.handle, key, value);
    }
  }
  return database_->Get(family, options, key, value, verifier());
}

Status Transaction::Get(const ColumnFamily& family, std::string_view key, View view,
                        rocksdb::PinnableSlice* value) {
  database_->work().Count(Work::kPointReads);
  rocksdb::ReadOptions options = family.ReadOptions();
  bool merges_writes;
  CAIRN_RETURN_IF_ERROR(SetView(view, &options, &merges_writes));
  return FromRead(database_, family, key,
                  merges_writes ? GetMerged(family, options, key, value)
                                : database_->Get(family, options, key, value, verifier()));
}

// For a key that Get does not find.
Result<bool> Transaction::HasDeleted(const ColumnFamily& family, std::string_view key, View view) {
  if (!has_writes()) return false;
  rocksdb::ReadOptions options = family.ReadOptions();
  bool merges_writes;
  CAIRN_RETURN_IF_ERROR(SetView(view, &options, &merges_writes));
  if (!merges_writes) return false;
  rocksdb::PinnableSlice value;
  const Status read =
      FromRead(database_, family, key, database_->Get(family, options, key, &value, verifier()));
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  return true;
}

Result<bool> Transaction::HasPut(const ColumnFamily& family, std::string_view key) {
  if (!has_writes()) return false;
  rocksdb::PinnableSlice value;
  const Status read = GetOwnWrite(family, key, &value);
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  return true;
}

void Transaction::GetMany(const ColumnFamily& family, size_t count, const rocksdb::Slice* keys,
                          View view, rocksdb::PinnableSlice* values, rocksdb::Status* outcomes) {
  database_->work().Count(Work::kPointReads, count);
  rocksdb::ReadOptions options = family.ReadOptions();
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
    outcomes[i] = GetMerged(family, options, keys[i], &values[i]);
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
  const Status indexed = IndexBatch();
  if (!indexed.ok()) {
    return std::unique_ptr<rocksdb::Iterator>(
        rocksdb::NewErrorIterator(rocksdb::Status::Aborted(indexed.ToString())));
  }
  return std::unique_ptr<rocksdb::Iterator>(
      rocksdb_->GetWriteBatch()->NewIteratorWithBase(family.handle, committed.release(), &options));
}

}  // namespace cairn
