#include "engine/txn/transaction.h"

#include "engine/lsm/key_locks.h"
#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

// What RocksDB keeps of an entry of a batch beside its bytes: a node of the batch's index.
constexpr uint64_t kBatchEntryBytes = 72;
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

// Where nobody but this object reads the index: RocksDB does where prepared changes are written, or
// where a batch becomes a memtable.
bool Transaction::MayIndexLater() const {
  return database_->bypass_memtable_bytes() == 0 &&
         database_->options().transaction.write_policy == rocksdb::WRITE_COMMITTED;
}

void Transaction::BeginRocksDb() {
  begun_.indexes_later = MayIndexLater();
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
  rocksdb_ =
      lsm::BeginTransaction(database_->rocksdb(), write_options, options, std::move(rocksdb_));
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
  lock_count_ = for_keys_.unchecked_locks = 0;
  ordered_.reset();
  lock_list_.clear();
  auto_increment_raises_.Clear();
  row_counts_.Commit();  // Nothing is left of what was rolled back.
  for_keys_.found_parents.Clear();
  for_keys_.actions.Clear();
  if (!builds_.empty()) builds_.Leave(&database_->dropped_indexes());
  facts_.Finished();
  ++epoch_;
  savepoints_.Clear();
  statement_.savepoint.reset();
  started_ = prepared_ = bypass_.may = statement_.begun = statement_.wrote = false;
  wrote_unlocked_ = false;
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
  if (!auto_increment_raises_.empty()) auto_increment_raises_.WriteForRollback(database_);
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
  statement_.wrote = statement_.follows_moves = false;
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
  for_keys_.found_parents.Forget();
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

// Puts all that the batch has into its index, and from now on what comes. Errors: kCorruption.
Status Transaction::IndexBatch() {
  if (!begun_.indexes_later) return Status();
  rocksdb::WriteBatchWithIndex& batch = *rocksdb_->GetWriteBatch();
  if (batch.GetWriteBatch()->Count() > 0) {
    // RocksDB makes an index anew when it goes back to a savepoint, here to one at the end.
    batch.SetSavePoint();
    CAIRN_RETURN_IF_ERROR(FromRocksDb(batch.RollbackToSavePoint()));
  }
  begun_.indexes_later = false;
  return Status();
}

// Straight into the batch: the row's lock is held already, and entries of secondary indexes need
// none. Errors: kCorruption.
Status Transaction::BatchForWrite(const ColumnFamily& family, rocksdb::WriteBatchBase** batch) {
  CAIRN_ASSERT(started_);
  begun_.touched = true;
  // An index that is made later does not learn how a family sorts.
  if (family.reverse) CAIRN_RETURN_IF_ERROR(IndexBatch());
  rocksdb::WriteBatchWithIndex* const indexed = rocksdb_->GetWriteBatch();
  savepoints_.BeforeWrite(indexed);
  statement_.wrote = true;
  *batch = indexed;
  if (begun_.indexes_later) *batch = indexed->GetWriteBatch();
  return Status();
}

void Transaction::CountWrites() {
  const rocksdb::WriteBatch& batch = *rocksdb_->GetWriteBatch()->GetWriteBatch();
  batch_memory_.Set(batch.GetDataSize() + batch.Count() * kBatchEntryBytes + claims_.noted_bytes());
  facts_.SetWriteCount(batch.Count());
}

Status Transaction::AfterWrite(const rocksdb::Status& written) {
  CountWrites();
  if (written.ok()) [[likely]]
    return Status();
  if (!written.IsAborted() || written.subcode() != rocksdb::Status::SubCode::kMemoryLimit) {
    return FromRocksDb(written);
  }
  return Status(StatusCode::kAborted,
                "Operation aborted: the changes of the transaction have reached "
                "rocksdb_write_batch_max_bytes (" +
                    std::to_string(settings_.max_write_batch_bytes) + ")");
}

Status Transaction::Put(const ColumnFamily& family, std::string_view key, std::string_view value) {
  rocksdb::WriteBatchBase* batch;
  CAIRN_RETURN_IF_ERROR(BatchForWrite(family, &batch));
  return AfterWrite(batch->Put(family.handle, key, value));
}

Status Transaction::Delete(const ColumnFamily& family, std::string_view key) {
  rocksdb::WriteBatchBase* batch;
  CAIRN_RETURN_IF_ERROR(BatchForWrite(family, &batch));
  return AfterWrite(batch->Delete(family.handle, key));
}

Status Transaction::SingleDelete(const ColumnFamily& family, std::string_view key) {
  if (database_->has_prepared_writes()) return Delete(family, key);
  rocksdb::WriteBatchBase* batch;
  CAIRN_RETURN_IF_ERROR(BatchForWrite(family, &batch));
  return AfterWrite(batch->SingleDelete(family.handle, key));
}

Result<std::optional<uint32_t>> Transaction::JoinBuild(
    const std::shared_ptr<IndexBuildState>& build) {
  CAIRN_ASSERT(started_ && !prepared_);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<uint32_t> generation,
                         builds_.Join(build, &database_->dropped_indexes()));
  if (generation.has_value() && !settings_.write_log) {
    begun_.touched = true;
    settings_.write_log = begun_.with.write_log = true;
    rocksdb_->GetWriteOptions()->disableWAL = false;
  }
  return generation;
}

void Transaction::RaiseAutoIncrement(const TableDefinition& table, uint64_t next_value) {
  auto_increment_raises_.Raise(table, next_value);
}

}  // namespace cairn
