// Finds and fetches rows of one table through any of its indexes.
//
// A cursor belongs to one handler. Open() binds it to an index, a set of columns and a lock mode
// for one statement; Read... position it and fill the server's record; Close() releases what it
// pins.
//
// A locking cursor returns the latest version of each row, locked. A row that vanished, or that no
// longer belongs at the index entry through which it was found, is passed over, unless
// ReadRange::any_order is set.
//
// Where the transaction locks ranges, a locking cursor has locked the keys from where a scan began
// to where it stands before it looks at them: at once where it knows the end, else in steps that
// grow with the scan.
//
// With semi-consistent reads, a locking scan of the primary key does not wait for a row that others
// have locked: it gives the committed version without a lock. Who wants that row says so, and the
// next read waits for it.
//
// Virtual columns come back from index entries that cover them; a row has none, and leaves their
// images in the record as they are.
//
// Its parts: ReadPlans has what is decoded, ScanPosition where the scan stands, ScanGuard what it
// has locked on its way, MovedRows what others do with its rows meanwhile, RowPrefetch the rows
// that it fetches together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/codec/column_set.h"
#include "engine/table/cursor_access.h"
#include "engine/table/moved_rows.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/read_plans.h"
#include "engine/table/row_batch.h"
#include "engine/table/row_prefetch.h"
#include "engine/table/scan_guard.h"
#include "engine/table/scan_position.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

class Cursor {
 public:
  using Start = ReadStart;

  explicit Cursor(const Table* table);

  // Errors: kInvalidArgument (a bug of the caller), kDefinitionTooNew.
  Status Open(Transaction* transaction, const CursorAccess& access);
  // Turns semi-consistent reads on or off, for the statements that follow as well.
  void SetSemiConsistent(bool on) { semi_consistent_ = SemiConsistentReads{.on = on}; }
  // Whether the current row was read like that, so that it is not locked and must not be changed.
  // If so, it is wanted: the next move waits for it and gives it again, as it is then, unless it is
  // gone; and the next read waits for its first row.
  bool WantsUnlockedRow() { return semi_consistent_.wanted = semi_consistent_.unlocked; }
  // Wants other columns from the next row on; the position stays.
  Status ChangeColumns(const ColumnSet* columns);
  // Whether rows are read from the entries of the index alone.
  bool reads_entries_alone() const { return plans_.entry() != nullptr; }
  // Whether reads go on where the last one was.
  bool is_open() const { return transaction_ != nullptr && !scan_ended_; }
  uint32_t index() const { return access_.index; }
  // The statement is over but the scan is not (HANDLER): the iterator goes, the place is
  // remembered. After Resume() with the same index, reads go on from there, whatever became of the
  // row meanwhile.
  void Suspend();
  bool is_suspended() const { return position_.is_suspended(); }
  Status Resume(Transaction* transaction, const CursorAccess& access);
  // The scan is over and its iterator goes. The current row stays until the next Open() or Close():
  // its key, its lock and its BLOBs. The server goes on using a row after it has ended the scan
  // that found it.
  void EndScan();
  // Forgets the current row as well.
  void Close();

  // An iterator over an index that shows what the statement's reads see: to count entries with
  // before they are read. It is used again for reading. Null when no read could use it. Any
  // position; valid until the next call of this object.
  OrderedIterator* StatementIterator(Transaction* transaction, uint32_t index);
  // The statement is over: iterators that were kept for its further reads go, and pin nothing.
  void ReleaseIterators();

  // All Read functions fill `record` with the wanted columns; BLOBs are valid until the next read
  // or Close(). Errors: kNotFound (Read, ReadRow), kEndOfRange (the others), those of Transaction,
  // kCorruption, kChecksumMismatch.
  Status Read(std::string_view prefix, Start start, uint8_t* record, const ReadRange& range = {});
  Status ReadFirst(uint8_t* record, const ReadRange& range = {});
  Status ReadLast(uint8_t* record);
  Status ReadNext(uint8_t* record);
  Status ReadPrevious(uint8_t* record);
  // As ReadNext and ReadPrevious, but end with the entries that start with the prefix of the last
  // Read.
  Status ReadNextExact(uint8_t* record);
  Status ReadPreviousExact(uint8_t* record);
  // The row with this complete primary key (index number first), without an iterator.
  Status ReadRow(std::string_view primary_key, uint8_t* record);

  // The row at position `i` of a batch that was fetched for this table, which stays as it is until
  // the next read.
  Status ReadFetched(const RowBatch& batch, size_t i, uint8_t* record);

  // Rows of ranges of a secondary index that are fetched together: entries are gathered first, with
  // one call of GatherFrom() for each range, and GatherOn() while it has more than the batch was to
  // hold; the caller fetches the batch. Both add rows up to `most` and use `record` to check the
  // condition and the filter. Ok: the range may go on; kEndOfRange: it is done. Forward starts
  // only. Not for locking reads nor those of entries alone, nor where a family has a prefix
  // extractor.
  Status GatherFrom(std::string_view prefix, Start start, const ReadRange& range, size_t most,
                    uint8_t* record, RowBatch* rows);
  Status GatherOn(size_t most, uint8_t* record, RowBatch* rows);
  // The row at position `i` of what was gathered. The range that is being gathered stays where it
  // is.
  Status ReadGathered(const RowBatch& rows, size_t i, uint8_t* record);

  // The primary key of the current row, index number first; valid until the next call.
  Result<std::string_view> PrimaryKey();
  // The hidden primary key of the current row; 0 in tables without one.
  Result<uint64_t> HiddenKey();
  // The same for a row that is to be changed. Errors: kInternal if it was read without the lock
  // that it needs (SetSemiConsistent).
  Result<uint64_t> HiddenKeyToChange();
  // Releases the lock on the current row if this statement took it and nothing was written under
  // it. A row that was read without its lock is not wanted.
  void UnlockRow();

 private:
  using Direction = ScanDirection;

  const TableIndex& current_index() const { return table_->index(access_.index); }
  bool is_primary() const { return access_.index == table_->primary_position(); }
  OrderedIterator* iterator() const { return position_.iterator(); }
  Transaction::View view() const { return position_.view(); }
  Status CheckDefinition() const;
  bool IsBehindRange(Direction direction) const;
  Status GuardRead(std::string_view prefix, Start start);
  Status GuardPlace();
  Result<bool> GuardEntry(Direction direction, bool exact);
  Status ExtendGuard(Direction direction);
  Status EnsurePositioned();
  void BeginRead(std::string_view prefix, Start start, const ReadRange& range);
  Status SeekTo(std::string_view prefix, Start start, const ReadRange& range);
  void BeginFetch(Direction direction);
  void BeginSingleRow(std::string_view primary_key);
  Status Fetch(Direction direction, bool exact, uint8_t* record);
  bool OnlyWalks() const;
  bool MayPrefetch() const;
  Status PrefetchRows(bool exact, uint8_t* record);
  Status AddRow(bool exact, uint8_t* record, RowBatch* rows);
  Status MoveToPrefetched(bool exact, uint8_t* record);
  void LeavePrefetched();
  Status CheckCondition(uint8_t* record);
  Status CheckFilter(std::string_view primary_key);
  Status WalkForward(bool exact, uint8_t* record);
  Status MoveForward(bool exact, uint8_t* record);
  Status MoveBackward(bool exact, uint8_t* record);
  Status FetchPrimaryEntry(uint8_t* record);
  Status FetchSecondaryEntry(uint8_t* record);
  LockWait WaitForRow() const {
    return access_.skip_locked || access_.refuse_waits ? LockWait::kRefuse : LockWait::kWait;
  }
  Status FetchRow(uint8_t* record, LockWait wait);
  // Whether others have moved the row that the scan has met; then the statement follows them.
  bool TakeMove() {
    if (!moved_.TakeChange()) return false;
    transaction_->FollowMoves();
    return true;
  }
  Status FetchScannedRow(uint8_t* record);
  Status FetchAgain(uint8_t* record);
  Status SettleLockedRow(uint8_t* record);
  void PassLockedRow();
  bool IsAhead(std::string_view key) const;
  Status NoRowOfEntry(std::string_view key) const;
  Status PassDeletedRow(std::string_view entry);
  Status CheckDeletedRow();
  Result<bool> RowStillHasEntry(uint8_t* record);
  Status TakePrimaryKey();
  Status AsEndOfRange(Status status) const;
  // Whether an entry of any index of the table has expired for the statement and is to be passed
  // over.
  bool IsHidden(std::string_view value) const {
    return !access_.shows_expired &&
           transaction_->HidesExpired(value, table_->ttl_seconds(), view());
  }
  // Whether the rows that it locks must be those of View::kStatement: what is made of them goes
  // elsewhere, where a row that others moved meanwhile would count twice, or not at all.
  bool ReadsOneState() const {
    return view() == Transaction::View::kStatement && access_.lock == LockMode::kShared &&
           !access_.skip_locked;
  }

  struct SemiConsistentReads {
    bool on = false;
    bool unlocked = false;  // The current row was read without a lock.
    bool wanted = false;
    bool waits = false;  // For the next row.
    // A read looks for another row, which may be the same.
    void LeaveRow() {
      waits = waits || wanted;
      unlocked = wanted = false;
    }
  };

  const Table* const table_;
  Transaction* transaction_ = nullptr;
  CursorAccess access_;
  ReadPlans plans_;
  ScanPosition position_;
  bool has_primary_key_ = false;
  bool single_row_ = false;  // The current row was found by its key, which is the exact prefix too.
  bool row_locked_ = false;
  bool scan_ended_ = false;
  SemiConsistentReads semi_consistent_;
  bool gathers_exact_ = false;  // The range that is being gathered is of one prefix.
  std::string primary_key_;     // Of the current row, when has_primary_key_.
  rocksdb::PinnableSlice row_value_;
  RowPrefetch prefetched_;
  MovedRows moved_;
  std::string exact_prefix_;  // Not while single_row_.
  std::string range_end_;     // Where moves forward end; empty: not known.
  ScanGuard guard_;
  // Of a locked row, as it is now.
  std::string recomputed_key_;
  std::string recomputed_unpack_info_;
};

}  // namespace cairn
