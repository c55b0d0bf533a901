// Transaction: commit, in one phase, in two, or in pieces.
#include <chrono>
#include <utility>

#include "engine/base/assert.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/txn/memtable_bypass.h"
#include "engine/txn/prepared_transactions.h"
#include "engine/txn/transaction.h"

namespace cairn {

// What the engine adds at the end is small, and nobody could do anything about a batch that is full
// by then.
void Transaction::LiftBatchLimit() { rocksdb_->GetWriteBatch()->SetMaxBytes(0); }

// The transaction reads nothing any more, so they need no place in the batch's index.
Status Transaction::AddAutoIncrementMerges() {
  begun_.touched = true;
  LiftBatchLimit();
  return auto_increment_raises_.MoveTo(*database_, rocksdb_->GetWriteBatch()->GetWriteBatch());
}

// A batch that becomes a memtable must not hold merges. They are written before the transaction is
// in the log, so that no crash leaves its rows without.
Status Transaction::SettleBypass() {
  rocksdb::WriteBatchWithIndex* const batch = rocksdb_->GetWriteBatch();
  bypass_.may = MayBypassMemtable(*database_, batch);
  if (bypass_.may && !HasRoomForBypass(*database_)) {
    LiftBatchLimit();
    CAIRN_RETURN_IF_ERROR(FromRocksDb(KeepInMemtable(*database_, batch)));
    bypass_.may = false;
  }
  return bypass_.may ? auto_increment_raises_.Write(database_) : AddAutoIncrementMerges();
}

// The batch deletes what it puts, so that the locks are in the log alone.
Status Transaction::AddLockList() {
  if (!settings_.prepares_locks || ListedLocks().empty()) return Status();
  LiftBatchLimit();
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  const std::string key = LockListKey();
  rocksdb::WriteBatchWithIndex& batch = *rocksdb_->GetWriteBatch();
  CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.Put(system, key, EncodeLockList(ListedLocks()))));
  return FromRocksDb(batch.Delete(system, key));
}

const LockList& Transaction::ListedLocks() const {
  return range_locks_ != nullptr ? lock_owner_->locks() : lock_list_;
}

// For the prepared transaction of this name, which this object leaves; RocksDB keeps its own with
// it.
void Transaction::KeepLocks() {
  if (range_locks_ == nullptr) return;
  range_locks_->Keep(rocksdb_->GetName(), std::exchange(lock_owner_, nullptr));
}

Status Transaction::Commit(Durability durability) {
  if (!started_) return Status();
  if (!ordered_.has_value() && !prepared_ && !has_writes()) {
    return Rollback();  // Nothing to sync.
  }
  if (ordered_.has_value()) return FinishOrdered(durability);
  Status result = prepared_ ? Status() : AddAutoIncrementMerges();
  const bool large = IsLarge();
  const bool logged = !rocksdb_->GetWriteOptions()->disableWAL;
  {
    const ClaimedTables::Held held = claims_.Hold();
    if (result.ok()) result = CommitToRocksDb(durability == Durability::kSync);
    if (!result.ok()) result = AfterFailedCommit(result);
    ReleaseLocks();
  }
  WriteOutBypassed();
  if (large) rocksdb_.reset();
  Finish();
  return result.ok() && logged ? WriteLogIfWanted(durability) : result;
}

// Log records stay in RocksDB's buffer until they are synced, or written by this.
Status Transaction::WriteLogIfWanted(Durability durability) {
  if (durability != Durability::kWritten) return Status();
  return database_->WriteLog().WithContext("the transaction is committed but may not last");
}

Status Transaction::CommitToRocksDb(bool sync) {
  using std::chrono::steady_clock;
  facts_.SetState(TransactionState::kAwaitingCommit);
  const steady_clock::time_point begin = steady_clock::now();
  rocksdb::WriteOptions* const options = rocksdb_->GetWriteOptions();
  options->sync = sync && !options->disableWAL;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  if (bypass_.may) families = ChangedFamilies(*database_, rocksdb_->GetWriteBatch());
  Status committed = FromRocksDb(rocksdb_->Commit());
  // Others may have taken a table for empty; rows that were not locked are in nobody's way.
  if (!settings_.lock_rows || wrote_unlocked_) database_->table_claims().RevokeAll();
  if (committed.ok()) bypass_.changed = std::move(families);
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begin);
  database_->commit_latency().Add(static_cast<uint64_t>(took.count()));
  return committed;
}

// Others need not wait for that: the locks are released.
void Transaction::WriteOutBypassed() {
  if (bypass_.changed.empty()) return;
  WriteOut(*database_, bypass_.changed);
  bypass_.changed.clear();
}

// What is prepared may have been decided by others as well, and stays; all else is rolled back.
Status Transaction::AfterFailedCommit(const Status& failure) {
  if (prepared_) {
    StayPrepared(UnfinishedDecisions::Decision::kCommit);
    return failure.WithContext("the transaction stays prepared until it can be committed");
  }
  const rocksdb::Status rolled_back = rocksdb_->Rollback();
  if (!rolled_back.ok()) rocksdb_.reset();  // Its destructor releases the locks.
  row_counts_.Rollback();
  return failure.WithContext("the transaction was rolled back");
}

// With claims_.Hold(). Nobody may write what it wrote before the decision is carried out.
void Transaction::StayPrepared(UnfinishedDecisions::Decision decision) {
  KeepLocks();
  claims_.ExchangeForLocks();
  TellPreparedIndexes();
  LeaveUnfinished(database_, &rocksdb_, decision, /*holder=*/nullptr);
}

// What it fails to read was written by this process.
void Transaction::TellPreparedIndexes() {
  const Status told = database_->prepared_indexes().Add(rocksdb_.get());
  if (!told.ok()) {
    database_->log().Write(Severity::kError, "the indexes that the prepared transaction " +
                                                 rocksdb_->GetName() +
                                                 " has entries for: " + told.ToString());
  }
}

void Transaction::CommitOrdered() {
  if (!started_ || (!prepared_ && !has_writes())) return;
  const ClaimedTables::Held held = claims_.Hold();
  ordered_ = OrderedCommit{};
  ordered_->large = IsLarge();
  ordered_->synced_by_others = prepared_ || rocksdb_->GetWriteOptions()->disableWAL;
  if (!prepared_) ordered_->status = AddAutoIncrementMerges();
  if (ordered_->status.ok()) ordered_->status = CommitToRocksDb(/*sync=*/false);
  if (ordered_->status.ok()) ReleaseLocks();
}

Status Transaction::FinishOrdered(Durability durability) {
  const OrderedCommit ordered = std::move(*ordered_);
  Status result = ordered.status;
  if (!result.ok()) {
    const ClaimedTables::Held held = claims_.Hold();
    result = AfterFailedCommit(result);
    ReleaseLocks();
  }
  WriteOutBypassed();
  if (ordered.large) rocksdb_.reset();
  Finish();
  if (!result.ok() || ordered.synced_by_others) return result;
  if (durability != Durability::kSync) return WriteLogIfWanted(durability);
  return database_->SyncLog().WithContext("the transaction is committed but may not last");
}

Status Transaction::EndPiece(Durability durability) {
  if (!reads_apart() || !started_ || prepared_) return Status();
  if (rocksdb_->GetWriteBatch()->GetWriteBatch()->Count() < settings_.changes_per_piece) {
    return Status();
  }
  return CommitPiece(durability);
}

Status Transaction::CommitPiece(Durability durability) {
  const ClaimedTables::Held held = claims_.Hold();
  CAIRN_RETURN_IF_ERROR(AddAutoIncrementMerges());
  const Status committed = CommitToRocksDb(durability == Durability::kSync);
  if (!committed.ok()) {
    const rocksdb::Status rolled_back = rocksdb_->Rollback();
    if (!rolled_back.ok()) rocksdb_.reset();
    row_counts_.Rollback();
  }
  row_counts_.Commit();
  for_keys_.found_parents.Clear();
  // The statement's snapshot stays; iterators that merge the changes would read what is gone.
  ReleaseLocks();
  BeginRocksDb();
  CountWrites();
  CountLocks();
  savepoints_.BatchCommitted();
  ++epoch_;
  if (committed.ok()) return WriteLogIfWanted(durability);
  return committed.WithContext("the last changes of the statement were rolled back");
}

Status Transaction::Prepare(const TransactionId& id, Durability durability) {
  CAIRN_ASSERT(started_ && !prepared_);
  const ClaimedTables::Held held = claims_.Hold();
  begun_.touched = true;
  CAIRN_RETURN_IF_ERROR(AddLockList());
  CAIRN_RETURN_IF_ERROR(SettleBypass());
  const std::string name = EncodeTransactionName(id);
  CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb_->SetName(name)));
  facts_.SetName(name);
  facts_.SetState(TransactionState::kAwaitingPrepare);
  // The decision follows into the log what was prepared there.
  rocksdb_->GetWriteOptions()->disableWAL = false;
  rocksdb_->GetWriteOptions()->sync = durability == Durability::kSync;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb_->Prepare()));
  prepared_ = true;
  facts_.SetState(TransactionState::kPrepared);
  return WriteLogIfWanted(durability);
}

void Transaction::Detach() {
  CAIRN_ASSERT(prepared_);
  const ClaimedTables::Held held = claims_.Hold();
  KeepLocks();
  claims_.ExchangeForLocks();
  TellPreparedIndexes();
  LeavePrepared(&rocksdb_);
  Finish();
}

}  // namespace cairn
