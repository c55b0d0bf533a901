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
// Virtual columns come back from index entries that cover them; a row has none, and leaves their
// images in the record as they are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/row_batch.h"
#include "engine/table/scan_guard.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

// A condition that is evaluated on an index entry before its row is fetched.
class IndexCondition {
 public:
  virtual ~IndexCondition() = default;
  enum class Verdict { kMatch, kSkip, kEndOfRange, kAbort };
  // The columns of the index stand in the record that the cursor was given.
  virtual Verdict Check() = 0;
};

// Which rows of a table a statement may want, as far as their primary keys tell.
class RowFilter {
 public:
  virtual ~RowFilter() = default;
  enum class Verdict { kMayBeWanted, kSkip, kAbort };
  // `primary_key` starts with the index number. The columns of the index through which the row was
  // found stand in the record that the cursor was given.
  virtual Verdict Check(std::string_view primary_key) = 0;
};

// How a statement reads through a cursor.
struct CursorAccess {
  uint32_t index = 0;                  // Position in Table::indexes().
  const ColumnSet* columns = nullptr;  // Wanted columns; all of them when `lock` is set.
  std::optional<LockMode> lock;        // None: a consistent read.
  // Passes over rows that others have locked, and those that changed since the transaction's
  // snapshot.
  bool skip_locked = false;
  // Both for secondary indexes only; they outlive the statement.
  IndexCondition* condition = nullptr;
  RowFilter* filter = nullptr;  // Asked by moves forward that would fetch rows; without `lock`.
  // Of single rows and entries that have one; a wrong one gives kChecksumMismatch.
  IndexCodec::Checksums checksums = IndexCodec::Checksums::kIgnore;
  // Finds what is committed now, in place of what the snapshot shows.
  bool latest = false;
  // A locking read that meets a row which others have locked ends there, with kLockTimeout.
  // PrimaryKey() tells the row.
  bool refuse_waits = false;
  // Gives rows that have expired as well.
  bool shows_expired = false;
  bool ask_prefix_filters = true;  // Where that loses nothing.
};

// What the caller of a read knows of the entries that it wants, besides where they start.
struct ReadRange {
  // They start with so many bytes of the prefix: the read and the moves after it may end behind
  // those that do.
  size_t common_bytes = 0;
  bool prefix_is_key = false;  // The prefix is all of a key.
  // They stand before it, and moves forward end there; empty: not known.
  std::string_view end = {};
  // The caller takes rows in any order, and all that the range has: an empty `end` means that it
  // has none. A locking read of a secondary index then gives a row that others have moved within
  // the range when it meets the entry where the row was, so that it misses none; else rows come in
  // order, and one that was moved back does not come.
  bool any_order = false;
};

class Cursor {
 public:
  // Where a Read starts. "Prefix" is the encoded beginning of a key, index number first.
  enum class Start : uint8_t {
    kExact,       // the first entry that starts with the prefix
    kAtOrAfter,   // the first entry that starts with it or follows
    kAfter,       // the first entry behind all that start with it
    kLastExact,   // the last entry that starts with it
    kAtOrBefore,  // the last entry that starts with it or precedes
    kBefore,      // the last entry before all that start with it
  };

  explicit Cursor(const Table* table);

  // Errors: kInvalidArgument (a bug of the caller), kDefinitionTooNew.
  Status Open(Transaction* transaction, const CursorAccess& access);
  // Wants other columns from the next row on; the position stays.
  Status ChangeColumns(const ColumnSet* columns);
  // Whether rows are read from the entries of the index alone.
  bool reads_entries_alone() const { return entry_plan_ != nullptr; }
  // Whether reads go on where the last one was.
  bool is_open() const { return transaction_ != nullptr && !scan_ended_; }
  uint32_t index() const { return access_.index; }
  // The statement is over but the scan is not (HANDLER): the iterator goes, the place is
  // remembered. After Resume() with the same index, reads go on from there, whatever became of the
  // row meanwhile.
  void Suspend();
  bool is_suspended() const { return place_ != Place::kNone; }
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
  // Releases the lock on the current row if this statement took it and nothing was written under
  // it.
  void UnlockRow();

 private:
  enum class Direction : uint8_t { kForward, kBackward };
  // Where a suspended scan stands; "entry" is the one whose key is place_key_, which may be gone.
  enum class Place : uint8_t {
    kNone,
    kOnEntry,
    kBeforeEntry,
    kBehindEntry,
    kBeforeAll,
    kBehindAll,
  };
  struct CachedPlan {
    ColumnSet columns;
    IndexCodec::Checksums checksums = IndexCodec::Checksums::kIgnore;
    std::unique_ptr<const DecodePlan> plan;
  };

  Transaction::View view() const {
    return access_.latest || follows_changes_ || guard_.active() ? Transaction::View::kLatest
                                                                 : Transaction::View::kSnapshot;
  }
  const TableIndex& current_index() const { return table_->index(access_.index); }
  Status UsePlan(uint32_t index, const ColumnSet& columns, CachedPlan* cache,
                 const DecodePlan** plan);
  Status BindColumns();
  void DropIterators();
  bool IsBehindRange(Direction direction) const;
  Status GuardRead(std::string_view prefix, Start start);
  Status GuardPlace();
  Result<bool> GuardEntry(Direction direction, bool exact);
  Status ExtendGuard(Direction direction);
  void EnsureIterator();
  void EnsureIteratorFor(const lsm::ConfinedSeek& seek);
  bool LeftCommonPrefix() const;
  void LeaveCommonPrefix(Direction direction);
  void NoteTurn(Direction direction);
  Status EnsurePositioned();
  void StandOnEntry();
  // The key of the entry that the iterator stands on, or stood on when it became useless.
  std::string_view EntryKey() const {
    return iterator_->merges_writes() ? std::string_view(entry_key_) : iterator_->key();
  }
  Place CurrentPlace(std::string* key) const;
  void LeavePlace(Direction direction);
  void SuspendIfDangling();
  Status SeekTo(std::string_view prefix, Start start, const ReadRange& range);
  Status CheckDefinition() const;
  void BeginFetch(Direction direction);
  Status Fetch(Direction direction, bool exact, uint8_t* record);
  bool OnlyWalks() const;
  bool MayReadAhead() const;
  bool is_ahead() const { return ahead_row_ < ahead_.size(); }
  Status FetchAhead(bool exact, uint8_t* record);
  Status AddRow(bool exact, uint8_t* record, RowBatch* rows);
  Status MoveAhead(bool exact, uint8_t* record);
  void ForgetAhead();
  void LeaveAhead();
  Status CheckCondition(uint8_t* record);
  Status CheckFilter(std::string_view primary_key);
  Status WalkForward(bool exact, uint8_t* record);
  Status MoveForward(bool exact, uint8_t* record);
  Status MoveBackward(bool exact, uint8_t* record);
  Status FetchPrimaryEntry(uint8_t* record);
  Status FetchSecondaryEntry(uint8_t* record);
  Status FetchRow(uint8_t* record);
  void PassChangedEntry(Direction direction);
  void PassLockedRow();
  void FollowMovedRows();
  void NoteRange(std::string_view prefix, Start start, const ReadRange& range);
  bool HasMovedWithinRange() const;
  bool WasGivenEarly() const;
  bool IsAhead(std::string_view key) const;
  Status NoRowOfEntry(std::string_view key) const;
  Status CheckDeletedRow();
  Status BindVirtualColumns();
  Result<bool> RowStillHasEntry(uint8_t* record);
  Status TakePrimaryKey();
  Status AsEndOfRange(Status status) const;
  // Whether an entry of any index of the table has expired for the statement and is to be passed
  // over.
  bool IsHidden(std::string_view value) const {
    return !access_.shows_expired && transaction_->HidesExpired(value, table_->ttl_seconds());
  }

  const Table* const table_;
  std::vector<CachedPlan> plans_;            // By index: its entry decoded alone, or the row.
  std::vector<CachedPlan> condition_plans_;  // By index: all covered columns.
  std::vector<CachedPlan> virtual_plans_;    // By index: the wanted virtual columns that it covers.
  Transaction* transaction_ = nullptr;
  CursorAccess access_;
  const DecodePlan* row_plan_ = nullptr;    // Decodes the primary entry.
  const DecodePlan* entry_plan_ = nullptr;  // Decodes the secondary entry; null unless covering.
  const DecodePlan* condition_plan_ = nullptr;  // Null without a condition or filter.
  // Decodes the wanted virtual columns of a row that is locked; null when none is wanted.
  const DecodePlan* virtual_plan_ = nullptr;
  // Each is kept for further reads of its kind.
  std::unique_ptr<OrderedIterator> plain_iterator_;
  std::optional<OrderedIterator> filtering_iterator_;
  OrderedIterator* iterator_ = nullptr;  // The one that the scan stands on.
  // By index, for later scans of the same statement: to make one takes as long as to read dozens of
  // rows.
  std::vector<std::unique_ptr<OrderedIterator>> kept_iterators_;
  std::string exact_prefix_;
  // Entries that do not start with it may be missing from an iterator that asks filters.
  std::string common_prefix_;
  std::string target_;
  bool ends_with_common_prefix_ = false;  // Moves do, as their caller wants nothing behind.
  ScanGuard guard_;
  std::string range_end_;  // Of a locking scan: where moves forward end; empty: not known.
  // Where rows come in any order (ReadRange): the keys from first on and before end, which may be
  // empty for no end.
  struct FreeRange {
    std::string first;
    std::string end;
    bool exact = false;
    // Primary keys of the rows that were given at entries which they have left.
    std::unordered_set<std::string> moved_rows;
  };
  std::optional<FreeRange> free_range_;
  // A copy, when the iterator shows writes, which may be undone while it stands there.
  std::string entry_key_;
  std::string place_key_;
  Place place_ = Place::kNone;
  Direction last_direction_ = Direction::kForward;
  std::string primary_key_;  // Of the current row, when has_primary_key_.
  std::string recomputed_key_;
  std::string recomputed_unpack_info_;
  rocksdb::PinnableSlice row_value_;
  // Rows of secondary entries that a scan fetched together, and which of them is the current one.
  // The iterator stands behind them all.
  RowBatch ahead_;
  std::vector<std::string> ahead_entries_;  // Their keys in the index; its size only grows.
  size_t ahead_row_ = 0;
  size_t ahead_rows_ = 0;       // To fetch the next time.
  Status ahead_end_;            // What comes behind them, when that is known.
  bool ahead_exact_ = false;    // They were fetched for ReadNextExact().
  bool gathers_exact_ = false;  // The range that is being gathered is of one prefix.
  bool has_primary_key_ = false;
  bool on_entry_ = false;  // The iterator stands on the current row's entry.
  bool row_locked_ = false;
  bool entry_changed_ =
      false;  // Of the entry that is being passed over: others have changed its row.
  bool follows_changes_ = false;  // This scan has met such an entry.
  // It has met a row that has left its range, and may be wanted by a read of another one.
  bool later_reads_follow_ = false;
  bool scan_ended_ = false;
  bool wants_blobs_ = false;
};

}  // namespace cairn
