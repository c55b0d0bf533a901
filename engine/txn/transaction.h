// A transaction of one session: what it sees, which rows it locks, what it will write.
//
// One object serves a session from connect to disconnect; it starts lazily and is reused. The rules
// of isolation live here and nowhere else:
// - READ COMMITTED: each statement reads at its own snapshot; a locking read takes the latest
//   version.
// - REPEATABLE READ: all statements read at the snapshot of the first read; locking or writing a
//   row that changed since gives kSnapshotConflict. An autocommitted statement has nothing to
//   repeat and takes the latest version of the rows it locks. With SnapshotConflicts::kLatest there
//   is no such conflict: statements lock and change what is committed last, as at READ COMMITTED,
//   and plain reads alone repeat.
// - SERIALIZABLE: as REPEATABLE READ, and rows are locked as they are read, so that they stay as
//   they were until the transaction ends. Rows that were not there are not locked, but for a key
//   that was asked for: others may still insert into a range that was read.
// With range locks (Database::range_locks()), locking reads at the last two lock the ranges where
// they look, which nobody can insert into. SERIALIZABLE then reads what is committed last, as
// whatever it has read stays as it is, and meets no conflict with a snapshot.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/metrics/memory_account.h"
#include "engine/store/database.h"
#include "engine/txn/action_counts.h"
#include "engine/txn/auto_increment_raises.h"
#include "engine/txn/claimed_tables.h"
#include "engine/txn/found_parents.h"
#include "engine/txn/joined_builds.h"
#include "engine/txn/lock_list.h"
#include "engine/txn/row_count_changes.h"
#include "engine/txn/savepoints.h"
#include "engine/txn/transaction_facts.h"
#include "engine/txn/transaction_id.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/write_batch_with_index.h"

namespace cairn {

enum class IsolationLevel : uint8_t { kReadCommitted, kRepeatableRead, kSerializable };
enum class LockWait : uint8_t { kWait, kRefuse };
// What becomes of a statement at REPEATABLE READ that locks or changes a row which others have
// changed since the transaction's snapshot.
enum class SnapshotConflicts : uint8_t {
  kError,   // It fails with kSnapshotConflict.
  kLatest,  // It takes the row as it is now.
};
enum class Durability : uint8_t {
  kSync,     // The log is on disk when Commit returns.
  kWritten,  // It is with the operating system, which the death of the process leaves alone, and
             // reaches the disk within about a second.
  kDelayed,  // It leaves the process, and reaches the disk, within about a second (upkeep/).
};

struct TransactionSettings {
  IsolationLevel isolation = IsolationLevel::kRepeatableRead;
  bool autocommit = true;   // The transaction is this one statement.
  bool only_reads = false;  // Nothing that it reads matters to what it writes.
  int64_t lock_wait_timeout_ms = 1000;
  bool deadlock_detect = true;
  int64_t deadlock_detect_depth = 50;
  uint64_t max_row_locks = 1 << 20;
  uint64_t max_write_batch_bytes = 0;  // 0: no limit.
  bool write_log =
      true;  // Off: a crash loses what is not in data files; prepared changes are logged.
  bool fill_block_cache = true;
  // Off: rows are neither locked nor checked for changes by others, for loads that are alone.
  bool lock_rows = true;
  // The transaction may be prepared and decided by name (XA), which a crash may come between: its
  // locks, not only those of the rows that it changes, are prepared with it.
  bool prepares_locks = false;
  // Off: what the statement reads leads it to the rows that it was told to change, and what lies
  // between them matters to nobody. Locking reads lock rows alone.
  bool lock_ranges = true;
  // Off: each statement reads at its own snapshot and locks what is committed last, whatever the
  // isolation level.
  bool repeat_reads = true;
  SnapshotConflicts snapshot_conflicts = SnapshotConflicts::kError;
  // The changes of a statement are committed in pieces of so many (rocksdb_commit_in_the_middle);
  // 0: at the end. Each statement then reads at its own snapshot and does not see its own changes.
  uint64_t changes_per_piece = 0;
  // What our own readers answer is compared with what RocksDB's answer.
  bool verify_reads = false;
};

// Used by one thread at a time; CommitOrdered() may be called by another one than the rest.
class Transaction {
 public:
  // `database` outlives the transaction.
  explicit Transaction(Database* database);
  Database& database() const { return *database_; }
  ~Transaction();  // Rolls back what is open; a prepared transaction stays prepared.
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // --- Life -------------------------------------------------------------------------------------

  bool started() const { return started_; }
  // Starts the transaction if it is not started; a started one takes over the time-out, the limit
  // of row locks and what is of the statement: changes_per_piece, lock_ranges, repeat_reads, and
  // snapshot_conflicts if none has begun.
  void Start(const TransactionSettings& settings);
  // Whether anything would be written at commit.
  bool has_writes() const;

  // Ends the transaction and releases its locks and snapshots. A prepared one that cannot be
  // committed or rolled back stays prepared, with its locks, in Database::unfinished_decisions();
  // any other is rolled back after an error of Commit(), unless the error says otherwise.
  Status Commit(Durability durability);
  Status Rollback();
  // Makes the changes visible and releases the locks, without a sync; the order of the calls is the
  // order of the commits. Commit() must follow, on the transaction's own thread: it ends the
  // transaction, makes what was not prepared as durable as it is told, and gives the error if there
  // was one.
  void CommitOrdered();

  // Two-phase commit: makes the changes durable under a name; then Commit() or Rollback() decides.
  Status Prepare(const TransactionId& id, Durability durability);
  bool prepared() const { return prepared_; }
  // Whether the rows that the transaction changes are locked (TransactionSettings::lock_rows).
  bool locks_rows() const { return settings_.lock_rows; }
  // Leaves a prepared transaction to be decided by name, by anybody. This object is free again.
  void Detach();

  // Commits what there is if that is a piece, and goes on. What was committed stays when the
  // statement or the transaction is rolled back. Errors as Commit(); the transaction goes on all
  // the same.
  Status EndPiece(Durability durability);

  // --- Statements -------------------------------------------------------------------------------

  // A statement begins, unless one has. What it writes can be undone by RollbackStatement.
  void BeginStatement();
  // The statement is over; its snapshot, if it has its own, is released.
  void EndStatement();
  // Undoes the writes of the current statement and ends it. Its locks stay. An autocommitted
  // statement can only be undone with its transaction.
  Status RollbackStatement();

  // --- Savepoints -------------------------------------------------------------------------------

  // Between statements, or within one, which may then be undone in part.
  Savepoint SetSavepoint() { return savepoints_.Set(); }
  // Undoes what was written since. Locks and the snapshot stay as they are, and auto-increment
  // values that were given out are not given out again. Errors: kInternal.
  Status RollbackToSavepoint(Savepoint savepoint);
  // Whether pieces that were committed since (EndPiece) keep RollbackToSavepoint from undoing
  // everything.
  bool CommittedSince(Savepoint savepoint) const { return savepoints_.CommittedSince(savepoint); }
  void ReleaseSavepoint(Savepoint savepoint, Savepoints::Later later);

  // --- Reading ----------------------------------------------------------------------------------

  // Takes the snapshot that this statement reads at, if there is none yet.
  void EnsureSnapshot();
  // RocksDB's number of the state that this statement reads at, which grows with every change; 0
  // while it has no snapshot.
  uint64_t SnapshotNumber() const;
  // The statement goes on with a snapshot of what is committed now, if it has its own.
  void RenewSnapshot();
  bool has_snapshot() const { return CurrentSnapshot() != nullptr; }
  // The next read takes the snapshot, as if nothing had been read: what was, was not shown to
  // anybody, and nothing was written.
  void ForgetSnapshot();
  // The transaction's snapshot is taken now and kept (START TRANSACTION WITH CONSISTENT SNAPSHOT).
  void PinSnapshot();

  // Each shows the transaction's own changes as well.
  enum class View : uint8_t {
    kSnapshot,   // What this statement sees: its snapshot.
    kStatement,  // What was committed when this statement first locked rows, whatever its snapshot
                 // is: for reads that lock, where these do not repeat.
    kLatest,     // What is committed now.
  };
  // What the statement sees where it looks for rows that are to be locked.
  View ViewOfLockingReads() const { return TakesLatest() ? View::kStatement : View::kSnapshot; }

  // The time at which reads with that view see the database, in seconds since the epoch: that of
  // their snapshot or, while there is none, now.
  uint64_t ViewTime(View view = View::kSnapshot) const;
  // Whether such reads pass over an entry with this value, in a table whose rows expire after so
  // many seconds (0: never).
  bool HidesExpired(std::string_view value, uint64_t ttl_seconds,
                    View view = View::kSnapshot) const {
    return ttl_seconds != 0 && HidesExpiredImpl(value, ttl_seconds, view);
  }

  // Errors: kNotFound, kCorruption, kIoError.
  Status Get(const ColumnFamily& family, std::string_view key, View view,
             rocksdb::PinnableSlice* value);
  // The same for several keys at once, where the transaction has no writes to be seen (else it
  // reads them one by one). Each has its own outcome.
  void GetMany(const ColumnFamily& family, size_t count, const rocksdb::Slice* keys, View view,
               rocksdb::PinnableSlice* values, rocksdb::Status* outcomes);
  // Whether the transaction will put the key when it commits, or not. Errors: kCorruption.
  Result<bool> HasPut(const ColumnFamily& family, std::string_view key);
  // An iterator over a family. `options` brings bounds and caching; its snapshot is set here. Valid
  // until the end of the statement.
  std::unique_ptr<rocksdb::Iterator> NewIterator(const ColumnFamily& family,
                                                 rocksdb::ReadOptions options, View view);

  // --- Locking ----------------------------------------------------------------------------------

  // Locks a key without reading it. Errors: kLockTimeout, kDeadlock, kSnapshotConflict, kLockLimit,
  // kInterrupted when the thread's WaitObserver says so.
  Status Lock(const ColumnFamily& family, std::string_view key, LockMode mode,
              LockWait wait = LockWait::kWait);
  // Locks a key and reads its latest version, unless `value` is null. With kNotFound the lock is
  // held too. A lock that others hold is waited for, or gives kLockTimeout at once.
  Status GetForUpdate(const ColumnFamily& family, std::string_view key, LockMode mode,
                      rocksdb::PinnableSlice* value, LockWait wait = LockWait::kWait);
  // Whether the view would show the key, had the transaction not deleted it. Errors: those of Get.
  Result<bool> HasDeleted(const ColumnFamily& family, std::string_view key, View view);
  // Whether the key, which is locked, has the value that View::kStatement shows, where a statement
  // has begun to read with that view: reads in shared mode go on as one state of the database, or
  // not at all. Errors: kSnapshotConflict, kCorruption, kIoError.
  Status CheckStatementUnchanged(const ColumnFamily& family, std::string_view key);
  // Locks the value of a foreign key, a key of the system family, for a row that is not checked.
  // Such locks do not count towards max_row_locks; beyond half as many nothing is locked.
  Status LockUnchecked(std::string_view key, LockMode mode);
  // The lock with which rows are read that the user does not ask to lock; none: a consistent read.
  std::optional<LockMode> PlainReadLock() const;
  // The current statement has no use for a row that it locked: releases the lock if nothing was
  // written under it and no earlier statement holds it. At SERIALIZABLE it stays, as the statement
  // has seen that the row is of no use.
  void Unlock(const ColumnFamily& family, std::string_view key);
  // The statement changes many rows of a table. If nobody else holds a lock in it, those that
  // follow are not locked one by one until somebody else wants a lock there (claimed_tables.h), and
  // not looked for in a table that has none. Nothing changes for others. Autocommitted statements
  // alone do so.
  void Claim(const TableDefinition& table);
  // The same for the values of foreign keys that it holds (foreign_key_check.h), if it has claimed
  // the table.
  void ClaimForeignKeyValues(const std::vector<uint32_t>& numbers);
  // From now on rows are locked, whatever TransactionSettings::lock_rows says.
  void LockRows() {
    wrote_unlocked_ = wrote_unlocked_ || !settings_.lock_rows;
    settings_.lock_rows = true;
  }
  // Takes back a lock under which nothing was seen, at any level.
  void TakeBackLock(const ColumnFamily& family, std::string_view key);
  // Whether locking reads lock ranges, by LockRange(), and read what is committed last.
  bool LocksRanges() const;
  // Whether later statements see what this one sees.
  bool RepeatsReads() const;
  // Whether READ COMMITTED is all that is promised.
  bool only_reads_committed() const {
    return settings_.isolation == IsolationLevel::kReadCommitted;
  }
  // Whether others may have committed something since the snapshot that all reads repeat.
  bool MayBeBehind() const;
  // A locking scan has met a row that others moved after it had begun, and goes on with what is
  // committed now: scans of this statement that begin later do so too, as the row may be theirs (in
  // another partition).
  void FollowMoves() { statement_.follows_moves = true; }
  bool follows_moves() const { return statement_.follows_moves; }
  // Whether rows are locked and changed as they are now, although plain reads repeat.
  bool TakesLatest() const;
  // Whether a locking read may meet such a change, and must fail then.
  bool MayMeetConflicts() const { return !TakesLatest() && MayBeBehind(); }
  // The error of a locking read that meets such a change.
  Status SnapshotConflict();
  // Whether what is written must be locked entry by entry, as others may have locked the range it
  // lies in.
  bool LocksEntries() const { return range_locks_ != nullptr && settings_.lock_rows; }
  // Locks the keys of a family from `first` up to `end`, in the order of their bytes, with
  // LocksRanges(). Errors as Lock().
  Status LockRange(const ColumnFamily& family, std::string_view first, std::string_view end,
                   LockMode mode);

  // --- Writing ----------------------------------------------------------------------------------

  // The caller holds the locks that the write needs. Errors: kAborted (the write batch is full).
  Status Put(const ColumnFamily& family, std::string_view key, std::string_view value);
  Status Delete(const ColumnFamily& family, std::string_view key);
  // Of a key that is put once and removed once. Writes a Delete in a database that
  // has_prepared_writes().
  Status SingleDelete(const ColumnFamily& family, std::string_view key);

  // The generation to which the transaction is to write the next entry for a build of indexes, if
  // it is to write one; its row is locked. What it writes is then logged, whatever
  // TransactionSettings::write_log says: the entries that the build makes of it are. Errors:
  // kInternal.
  Result<std::optional<uint32_t>> JoinBuild(const std::shared_ptr<IndexBuildState>& build);
  // Whether a build waits for the transaction's end.
  bool has_joined_builds() const { return !builds_.empty(); }

  // Raises the stored AUTO_INCREMENT value of a table: when the transaction is committed, prepared
  // or rolled back.
  void RaiseAutoIncrement(const TableDefinition& table, uint64_t next_value);
  // Rows of a table were written or deleted: so many more, or fewer, once the transaction commits.
  void NoteRowCount(const TableDefinition& table, int64_t rows) {
    row_counts_.Note(table, rows, savepoints_.newest());
  }

  // Of foreign keys, as far as this transaction has looked for them.
  FoundParents& found_parents() { return for_keys_.found_parents; }
  ActionCounts& actions() { return for_keys_.actions; }

  // Changes whenever iterators of earlier calls may have become invalid or stale.
  uint64_t epoch() const { return epoch_; }
  // Keys that the transaction has locked.
  uint64_t lock_count() const { return lock_count_; }

  // What other threads may know of the transaction, as long as this object lives.
  const TransactionFacts& facts() const { return facts_; }
  // The transactions, by facts().id(), that hold the lock which this one waits for. Called by its
  // thread, between WaitBegins() and WaitEnds().
  std::vector<uint64_t> LockHolders() const;
  // A lock that this object asked for makes its thread wait, and no longer does (WaitObserver).
  void WaitBegins();
  void WaitEnds();

 private:
  Status LockAndRead(const ColumnFamily& family, std::string_view key, LockMode mode,
                     rocksdb::PinnableSlice* value, LockWait wait);
  Status LockAndReadOne(const ColumnFamily& family, std::string_view key, LockMode mode,
                        rocksdb::PinnableSlice* value, LockWait wait);
  ClaimedTables::Cover NoteClaimed(std::string_view key, LockMode mode);
  Status GetOwnWrite(const ColumnFamily& family, std::string_view key,
                     rocksdb::PinnableSlice* value);
  rocksdb::Status GetMerged(const ColumnFamily& family, const rocksdb::ReadOptions& options,
                            const rocksdb::Slice& key, rocksdb::PinnableSlice* value);
  void EndClaims();
  bool GiveWay(const ColumnFamily& family, std::string_view key, uint64_t claims_ended);
  Status LockInTable(const KeySpan& range, LockMode mode, LockWait wait);
  Status CheckUnchangedSince(const rocksdb::Snapshot* snapshot, const ColumnFamily& family,
                             std::string_view key);
  void ReleaseLocks();
  void KeepLocks();
  const LockList& ListedLocks() const;
  bool HidesExpiredImpl(std::string_view value, uint64_t ttl_seconds, View view) const;
  Status CommitPiece(Durability durability);
  Status ReadApart();
  void BeginRocksDb();
  bool IsAsBegun() const;
  Status SetView(View view, rocksdb::ReadOptions* options, bool* merges_writes);
  // Null unless reads are to be verified.
  lsm::ReadVerifier* verifier() const {
    return settings_.verify_reads ? &database_->read_verifier() : nullptr;
  }
  // What the statement reads at; null while it has none.
  const rocksdb::Snapshot* CurrentSnapshot() const;
  const rocksdb::Snapshot* SnapshotOfStatement();
  bool MayIndexLater() const;
  Status IndexBatch();
  Status BatchForWrite(const ColumnFamily& family, rocksdb::WriteBatchBase** batch);
  // What came of a write to the batch.
  Status AfterWrite(const rocksdb::Status& written);
  void LiftBatchLimit();
  Status AddAutoIncrementMerges();
  Status SettleBypass();
  void WriteOutBypassed();
  Status AddLockList();
  Status WriteLogIfWanted(Durability durability);
  // Whether reads at the snapshot leave out what the transaction has written.
  bool reads_apart() const { return settings_.changes_per_piece != 0; }
  void ReleaseStatementSnapshots() {
    if (statement_.snapshot != nullptr) ReleaseSnapshot(&statement_.snapshot);
    if (statement_.latest != nullptr) ReleaseSnapshot(&statement_.latest);
  }
  void ReleaseSnapshot(const rocksdb::Snapshot** taken);
  Status CommitToRocksDb(bool sync);
  Status FinishOrdered(Durability durability);
  Status AfterFailedCommit(const Status& failure);
  void StayPrepared(UnfinishedDecisions::Decision decision);
  void TellPreparedIndexes();
  void CountRefusedLock(const Status& refusal);
  bool IsLarge() const;
  // Tell what the transaction has written and locked by now.
  void CountWrites();
  void CountLocks();
  void SetLockCount(uint64_t count);
  void Finish();

  // What CommitOrdered() leaves to Commit().
  struct OrderedCommit {
    Status status;
    bool large = false;
    bool synced_by_others = false;  // Or there is nothing to sync.
  };

  // How rocksdb_ was begun.
  struct Begun {
    TransactionSettings with;
    bool touched = true;  // More than reads and snapshots went through it since.
    // Its batch's index is made once the transaction looks for what it has written: most do not.
    bool indexes_later = false;
  };

  // The current statement.
  struct Statement {
    const rocksdb::Snapshot* snapshot = nullptr;
    const rocksdb::Snapshot* latest = nullptr;  // Of View::kStatement.
    std::optional<Savepoint> savepoint;         // At its beginning; none when it is autocommitted.
    bool begun = false;
    bool wrote = false;
    bool follows_moves = false;
  };

  // What is being locked; valid while it is.
  struct Locking {
    const ColumnFamily* family = nullptr;
    std::string_view key;
    const KeySpan* span = nullptr;  // With range_locks_.
  };

  // What foreign keys have found and done.
  struct ForeignKeyFacts {
    FoundParents found_parents;
    ActionCounts actions;
    uint64_t unchecked_locks = 0;  // Of LockUnchecked().
  };

  // A commit past the memtable.
  struct Bypass {
    bool may = false;                                   // RocksDB decides.
    std::vector<rocksdb::ColumnFamilyHandle*> changed;  // Until they are in files.
  };

  Database* const database_;
  std::unique_ptr<rocksdb::Transaction> rocksdb_;  // Reused by Start().
  TransactionSettings settings_;
  Begun begun_;
  Statement statement_;
  AutoIncrementRaises auto_increment_raises_;
  TransactionFacts facts_;
  Locking locking_;
  MemoryCharge batch_memory_;
  MemoryCharge lock_memory_;
  ClaimedTables claims_;
  LockList lock_list_;  // With TransactionSettings::prepares_locks; range_locks_ knows its own.
  RangeLockTable* range_locks_ = nullptr;              // Null: RocksDB's locks.
  std::unique_ptr<RangeLockTable::Owner> lock_owner_;  // With range_locks_.
  RowCountChanges row_counts_;
  ForeignKeyFacts for_keys_;
  JoinedBuilds builds_;
  Savepoints savepoints_;
  std::optional<OrderedCommit> ordered_;
  Bypass bypass_;
  uint64_t epoch_ = 0;
  uint64_t lock_count_ = 0;  // As of the last CountLocks().
  bool started_ = false;
  bool prepared_ = false;
  bool wrote_unlocked_ = false;  // Perhaps, before LockRows().
};

}  // namespace cairn
