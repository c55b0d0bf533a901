#include "engine/table/cursor.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"

namespace cairn {

Cursor::Cursor(const Table* table) : table_(table), plans_(table), position_(table) {}

Status Cursor::Open(Transaction* transaction, const CursorAccess& access) {
  Close();
  access_ = access;
  CAIRN_RETURN_IF_ERROR(plans_.Bind(access));
  transaction_ = transaction;
  if (!table_->MayBypassWriter()) [[unlikely]]
    transaction->LockRows();
  const bool waits = !access.skip_locked && !access.refuse_waits;
  if (access.lock.has_value() && waits && transaction->LocksRanges()) {
    guard_.Begin(transaction, &current_index().definition, *access.lock);
    // Filters pass over entries, and a guard is made of what is passed.
    access_.ask_prefix_filters = false;
  }
  position_.Open(transaction, access.index,
                 access.latest || guard_.active() ? Transaction::View::kLatest
                 : access.lock.has_value()        ? transaction->ViewOfLockingReads()
                                                  : Transaction::View::kSnapshot,
                 access_.ask_prefix_filters);
  Status checked = CheckDefinition();
  if (!checked.ok()) Close();
  return checked;
}

// Whether what the statement sees is of a time when the table and the index were there. Errors:
// kDefinitionTooNew.
Status Cursor::CheckDefinition() const {
  const bool sees_snapshot =
      view() != Transaction::View::kLatest || (guard_.active() && transaction_->MayBeBehind());
  if (!sees_snapshot) return Status();
  return table_->CheckDefinition(*transaction_, access_.index);
}

Status Cursor::ChangeColumns(const ColumnSet* columns) {
  LeavePrefetched();
  access_.columns = columns;
  return plans_.Bind(access_);
}

void Cursor::Close() {
  position_.Close();
  transaction_ = nullptr;
  prefetched_.Forget();
  row_value_.Reset();
  has_primary_key_ = row_locked_ = scan_ended_ = false;
  semi_consistent_ = SemiConsistentReads{.on = semi_consistent_.on};
  moved_.Reset();
  guard_.End();
  range_end_.clear();
}

void Cursor::Suspend() {
  if (is_suspended()) return;
  if (is_open()) {
    if (prefetched_.active()) {
      position_.SuspendOn(prefetched_.entry());
    } else if (!position_.Suspend() && has_primary_key_ && is_primary()) {
      position_.SuspendOn(primary_key_);  // The row was read by its key, or looked for.
    }
  }
  EndScan();
}

Status Cursor::Resume(Transaction* transaction, const CursorAccess& access) {
  ScanPlace place = position_.TakePlace();
  CAIRN_RETURN_IF_ERROR(Open(transaction, access));
  position_.SetPlace(std::move(place));
  return Status();
}

void Cursor::EndScan() {
  // A damaged key shows when it is asked for.
  if (position_.on_entry() && !has_primary_key_) has_primary_key_ = TakePrimaryKey().ok();
  position_.DropIterator();
  scan_ended_ = true;
}

OrderedIterator* Cursor::StatementIterator(Transaction* transaction, uint32_t index) {
  if (is_open() || transaction->has_writes()) return nullptr;
  return position_.iterators().ForStatement(transaction, index);
}

void Cursor::ReleaseIterators() { position_.iterators().ReleaseKept(); }

// The row behind a range is none of its readers' business, and must not be locked.
bool Cursor::IsBehindRange(Direction direction) const {
  return !range_end_.empty() && direction == Direction::kForward && iterator()->Valid() &&
         iterator()->key() >= range_end_;
}

// After a row was fetched without the iterator, puts the iterator on its entry.
Status Cursor::EnsurePositioned() {
  if (position_.on_entry()) return Status();
  if (!has_primary_key_ || !is_primary()) {
    return Status(StatusCode::kInternal, "the cursor has no position to move from");
  }
  if (guard_.active()) {
    guard_.StartOnRow(primary_key_);
    position_.DropIterator();
  }
  position_.Ensure();
  iterator()->SeekAtOrAfter(primary_key_);
  return iterator()->status();
}

Status Cursor::AsEndOfRange(Status status) const {
  return status.code() == StatusCode::kNotFound ? Status(StatusCode::kEndOfRange)
                                                : std::move(status);
}

// Leaves the current row.
void Cursor::BeginFetch(Direction direction) {
  if (single_row_) exact_prefix_.assign(primary_key_);
  single_row_ = has_primary_key_ = row_locked_ = false;
  semi_consistent_.LeaveRow();
  position_.BeginMove(direction);
  prefetched_.Forget();
}

// Fills the record from the iterator's entry or the first suitable one behind it. kNotFound: none
// left.
Status Cursor::Fetch(Direction direction, bool exact, uint8_t* record) {
  BeginFetch(direction);
  while (true) {
    if (position_.HasLeftPrefix()) {
      if (!iterator()->Valid()) CAIRN_RETURN_IF_ERROR(iterator()->status());
      if (exact || position_.ends_with_prefix()) return Status(StatusCode::kNotFound);
      position_.GoBeyondPrefix(direction);
    }
    if (IsBehindRange(direction)) return Status(StatusCode::kNotFound);
    if (guard_.active()) {
      CAIRN_ASSIGN_OR_RETURN(const bool goes_on, GuardEntry(direction, exact));
      if (!goes_on) return Status(StatusCode::kNotFound);
    }
    if (!iterator()->Valid()) {
      CAIRN_RETURN_IF_ERROR(iterator()->status());
      return Status(StatusCode::kNotFound);
    }
    if (exact && !iterator()->key().starts_with(exact_prefix_)) {
      return Status(StatusCode::kNotFound);
    }
    Status fetched = is_primary() ? FetchPrimaryEntry(record) : FetchSecondaryEntry(record);
    if (fetched.code() == StatusCode::kEndOfRange) return Status(StatusCode::kNotFound);
    if (fetched.code() != StatusCode::kNotFound) {
      position_.StandOnEntry();
      return fetched;
    }
    if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
    if (TakeMove()) {
      // Others may have put the row farther along, where a read that waited for them must find it.
      position_.PassEntryShowingLatest(direction);
    } else if (direction == Direction::kForward) {
      iterator()->Next();
    } else {
      iterator()->Previous();
    }
  }
}

// Whether the scan only walks: it locks nothing, passes over no expired rows, merges no writes that
// might be undone and asks no filters.
bool Cursor::OnlyWalks() const {
  return position_.on_entry() && !access_.lock.has_value() && table_->ttl_seconds() == 0 &&
         !iterator()->merges_writes() && !iterator()->asks_filters();
}

// Moves forward where OnlyWalks(): what most rows of most statements come by.
Status Cursor::WalkForward(bool exact, uint8_t* record) {
  const bool primary = is_primary();
  has_primary_key_ = false;
  position_.BeginWalk();
  while (true) {
    iterator()->Next();
    if (!iterator()->Valid()) [[unlikely]] {
      CAIRN_RETURN_IF_ERROR(iterator()->status());
      return Status(StatusCode::kEndOfRange);
    }
    if (exact && !iterator()->key().starts_with(exact_prefix_)) {
      return Status(StatusCode::kEndOfRange);
    }
    Status fetched = primary ? FetchPrimaryEntry(record) : FetchSecondaryEntry(record);
    if (fetched.code() == StatusCode::kNotFound) {
      if (IsBehindRange(Direction::kForward)) return Status(StatusCode::kEndOfRange);
      continue;
    }
    position_.set_on_entry(fetched.code() != StatusCode::kEndOfRange);
    return fetched;
  }
}

// kNotFound means that the entry is to be passed over; likewise below.
Status Cursor::FetchPrimaryEntry(uint8_t* record) {
  if (IsHidden(iterator()->value())) return Status(StatusCode::kNotFound);
  if (access_.lock.has_value()) {
    primary_key_.assign(iterator()->key());
    has_primary_key_ = true;
    Status fetched = FetchScannedRow(record);
    if (fetched.code() == StatusCode::kNotFound) PassLockedRow();
    return fetched;
  }
  std::string_view value = iterator()->value();
  if (plans_.wants_blobs() || transaction_->has_writes()) {
    // BLOBs outlive the iterator, and a value in the write batch moves when something is written.
    row_value_.PinSelf(rocksdb::Slice(value.data(), value.size()));
    value = row_value_.ToStringView();
  }
  return table_->primary().codec->Decode(*plans_.row(), iterator()->key(), value, record);
}

// Whether the pushed condition, if there is one, wants the row of the entry where the iterator
// stands. Errors: kNotFound (it does not), kEndOfRange (nor those of entries behind it),
// kInterrupted.
Status Cursor::CheckCondition(uint8_t* record) {
  if (plans_.condition() == nullptr) return Status();
  CAIRN_RETURN_IF_ERROR(current_index().codec->Decode(*plans_.condition(), iterator()->key(),
                                                      iterator()->value(), record));
  if (access_.condition == nullptr) return Status();
  switch (access_.condition->Check()) {
    case IndexCondition::Verdict::kMatch:
      return Status();
    case IndexCondition::Verdict::kSkip:
      return Status(StatusCode::kNotFound);
    case IndexCondition::Verdict::kEndOfRange:
      return Status(StatusCode::kEndOfRange);
    case IndexCondition::Verdict::kAbort:
      return Status(StatusCode::kInterrupted);
  }
  return Status();
}

// Whether the row of the entry whose condition was just checked may be wanted. Errors: kNotFound
// (it is not), kInterrupted.
Status Cursor::CheckFilter(std::string_view primary_key) {
  // Who reads backward may know an end that the cursor does not, and would run past it in search of
  // a wanted row.
  if (access_.filter == nullptr || position_.direction() == Direction::kBackward) return Status();
  switch (access_.filter->Check(primary_key)) {
    case RowFilter::Verdict::kMayBeWanted:
      return Status();
    case RowFilter::Verdict::kSkip:
      return Status(StatusCode::kNotFound);
    case RowFilter::Verdict::kAbort:
      return Status(StatusCode::kInterrupted);
  }
  return Status();
}

Status Cursor::FetchSecondaryEntry(uint8_t* record) {
  if (IsHidden(iterator()->value())) return Status(StatusCode::kNotFound);
  const IndexCodec& codec = *current_index().codec;
  has_primary_key_ = false;
  CAIRN_RETURN_IF_ERROR(CheckCondition(record));
  if (plans_.entry() != nullptr) {
    return codec.Decode(*plans_.entry(), iterator()->key(), iterator()->value(), record);
  }
  CAIRN_RETURN_IF_ERROR(codec.ExtractPrimaryKey(iterator()->key(), &primary_key_));
  has_primary_key_ = true;
  CAIRN_RETURN_IF_ERROR(CheckFilter(primary_key_));
  if (moved_.WasGiven(primary_key_)) return Status(StatusCode::kNotFound);
  Status fetched = FetchRow(record, WaitForRow());
  // Compactions remove an expired row and its entries at different times.
  const bool needs_row = !access_.latest && table_->ttl_seconds() == 0;
  if (fetched.code() == StatusCode::kNotFound && needs_row) {
    if (!access_.lock.has_value()) return PassDeletedRow(iterator()->key());
    CAIRN_RETURN_IF_ERROR(CheckDeletedRow());
  }
  if (fetched.code() == StatusCode::kNotFound) PassLockedRow();
  if (!fetched.ok()) return fetched;
  if (!access_.lock.has_value()) {
    return plans_.virtual_columns() == nullptr
               ? fetched
               : codec.Decode(*plans_.virtual_columns(), iterator()->key(), iterator()->value(),
                              record);
  }
  return SettleLockedRow(record);
}

// The row of the entry is locked now, but may have changed after the entry was found. Errors:
// kNotFound, the row does not come here.
Status Cursor::SettleLockedRow(uint8_t* record) {
  CAIRN_ASSIGN_OR_RETURN(const bool still_there, RowStillHasEntry(record));
  const bool any_order = moved_.any_order() && !current_index().has_virtual_part;
  const bool is_wanted = still_there || (any_order && moved_.IsInRange(recomputed_key_));
  if (is_wanted && (access_.condition == nullptr ||
                    access_.condition->Check() == IndexCondition::Verdict::kMatch)) {
    if (!still_there) moved_.NoteGiven(primary_key_);
    return Status();
  }
  if (!still_there && IsAhead(recomputed_key_)) {
    moved_.NoteChange();
    row_locked_ = false;  // The lock stays, so that the row stays where the scan will meet it.
  }
  if (any_order) {
    // The entries that the scan walks are all the other rows' still; only another read can meet
    // this one.
    moved_.ForgetChange();
    if (!still_there) {
      moved_.NoteLeft();
      transaction_->FollowMoves();
    }
    UnlockRow();
    return Status(StatusCode::kNotFound);
  }
  PassLockedRow();
  return Status(StatusCode::kNotFound);
}

bool Cursor::IsAhead(std::string_view key) const {
  return !current_index().has_virtual_part &&
         (position_.direction() == Direction::kForward) == (key > iterator()->key());
}

// The row at the entry is not what the entry says, now that it is locked.
void Cursor::PassLockedRow() {
  if (row_locked_) moved_.NoteChange();
  UnlockRow();
}

Status Cursor::NoRowOfEntry(std::string_view key) const {
  return Status(StatusCode::kCorruption, "table " + table_->definition().name + ", index " +
                                             current_index().codec->layout().name +
                                             ": no row belongs to the entry " + ToHex(key));
}

// The row of an entry that is read without a lock, whose key is primary_key_, is not there.
// kNotFound: the statement has deleted it since it read the entry, though not as a row of this
// table: an action of a foreign key did, or a function.
Status Cursor::PassDeletedRow(std::string_view entry) {
  CAIRN_ASSIGN_OR_RETURN(const bool deleted, transaction_->HasDeleted(table_->primary().family(),
                                                                      primary_key_, view()));
  return deleted ? Status(StatusCode::kNotFound) : NoRowOfEntry(entry);
}

// There is no row at a key that was locked. It may have been deleted since the iterator was made;
// then the entry went with it. Ok: it did.
Status Cursor::CheckDeletedRow() {
  if (!row_locked_) return Status();  // Somebody else has locked the key.
  rocksdb::PinnableSlice value;
  const Status read = transaction_->Get(current_index().family(), iterator()->key(),
                                        Transaction::View::kLatest, &value);
  if (read.code() == StatusCode::kNotFound) return Status();
  return read.ok() ? NoRowOfEntry(iterator()->key()) : read;
}

// Whether the locked row, which fills the record, still belongs at the iterator's entry.
Result<bool> Cursor::RowStillHasEntry(uint8_t* record) {
  const TableIndex& index = current_index();
  if (!index.has_virtual_part) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t hidden_key, HiddenKey());
    index.codec->EncodeKey(record, hidden_key, &recomputed_key_, &recomputed_unpack_info_);
    return recomputed_key_ == iterator()->key();
  }
  // The entry cannot be made from a row without virtual columns. But it changes only under the
  // row's lock.
  rocksdb::PinnableSlice value;
  const Status read =
      transaction_->Get(index.family(), iterator()->key(), Transaction::View::kLatest, &value);
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  if (plans_.virtual_columns() != nullptr) {
    CAIRN_RETURN_IF_ERROR(index.codec->Decode(*plans_.virtual_columns(), iterator()->key(),
                                              value.ToStringView(), record));
  }
  return true;
}

// The row of primary_key_, by itself. `wait` is for locking reads.
Status Cursor::FetchRow(uint8_t* record, LockWait wait) {
  const TableIndex& primary = table_->primary();
  row_value_.Reset();
  Status read = access_.lock.has_value()
                    ? transaction_->GetForUpdate(primary.family(), primary_key_, *access_.lock,
                                                 &row_value_, wait)
                    : transaction_->Get(primary.family(), primary_key_, view(), &row_value_);
  if (ReadsOneState() && (read.ok() || read.code() == StatusCode::kNotFound)) {
    const Status unchanged = transaction_->CheckStatementUnchanged(primary.family(), primary_key_);
    if (!unchanged.ok()) read = unchanged;
  }
  if (read.ok() && IsHidden(row_value_.ToStringView())) read = Status(StatusCode::kNotFound);
  row_locked_ = access_.lock.has_value() && (read.ok() || read.code() == StatusCode::kNotFound);
  const bool refused = read.code() == StatusCode::kLockTimeout ||
                       read.code() == StatusCode::kDeadlock ||
                       read.code() == StatusCode::kSnapshotConflict;
  if (access_.skip_locked && refused) return Status(StatusCode::kNotFound);
  CAIRN_RETURN_IF_ERROR(read);
  return primary.codec->Decode(*plans_.row(), primary_key_, row_value_.ToStringView(), record);
}

// A read begins there: goes by what others have moved, and notes where it takes rows in any order.
void Cursor::BeginRead(std::string_view prefix, Start start, const ReadRange& range) {
  const bool others_follow = access_.lock.has_value() && transaction_->follows_moves() &&
                             view() != Transaction::View::kLatest;
  if (moved_.BeginRead() || others_follow) position_.ShowLatest();
  if (range.any_order && access_.lock.has_value() && !guard_.active()) {
    moved_.BeginRange(prefix, start, range);
  } else {
    moved_.EndRange();
  }
}

Status Cursor::Read(std::string_view prefix, Start start, uint8_t* record, const ReadRange& range) {
  CAIRN_RETURN_IF_ERROR(SeekTo(prefix, start, range));
  return Fetch(IsForward(start) ? Direction::kForward : Direction::kBackward, IsExact(start),
               record);
}

// Puts the iterator where a Read starts to look. Errors: kNotFound when nothing can be there, those
// of locks.
Status Cursor::SeekTo(std::string_view prefix, Start start, const ReadRange& range) {
  const bool exact = IsExact(start);
  exact_prefix_.assign(prefix);
  single_row_ = false;
  semi_consistent_.LeaveRow();
  // All entries of an index start with its number.
  const size_t common_bytes = std::max(range.common_bytes, kIndexNumberBytes);
  position_.Confine(prefix.substr(0, exact ? prefix.size() : common_bytes), !exact);
  range_end_.assign(IsForward(start) && !exact ? range.end : std::string_view());
  BeginRead(prefix, start, range);
  CAIRN_RETURN_IF_ERROR(GuardRead(prefix, start));
  const bool found = position_.Seek(prefix, start, exact && range.prefix_is_key);
  return found ? Status() : Status(StatusCode::kNotFound);
}

Status Cursor::ReadFirst(uint8_t* record, const ReadRange& range) {
  std::string index;
  AppendBigEndian(current_index().definition.id.index_number, &index);
  position_.Confine(index, /*ends_there=*/true);
  range_end_.assign(range.end);
  BeginRead(index, Start::kAtOrAfter, range);
  CAIRN_RETURN_IF_ERROR(GuardRead(index, Start::kAtOrAfter));
  position_.SeekToFirst();
  return AsEndOfRange(Fetch(Direction::kForward, /*exact=*/false, record));
}

Status Cursor::ReadLast(uint8_t* record) {
  const IndexRange index(current_index().family(), current_index().definition.id.index_number);
  range_end_.clear();
  BeginRead({}, Start::kBefore, ReadRange());
  CAIRN_RETURN_IF_ERROR(GuardRead(index.end(), Start::kBefore));
  position_.SeekToLast();
  return AsEndOfRange(Fetch(Direction::kBackward, /*exact=*/false, record));
}

Status Cursor::MoveForward(bool exact, uint8_t* record) {
  moved_.MoveOn(exact);
  if (prefetched_.active() && exact != prefetched_.exact()) LeavePrefetched();
  if (prefetched_.active() || (OnlyWalks() && MayPrefetch()))
    return MoveToPrefetched(exact, record);
  if (OnlyWalks()) return WalkForward(exact, record);
  if (semi_consistent_.wanted) [[unlikely]] {
    Status fetched = FetchAgain(record);
    if (fetched.code() != StatusCode::kNotFound) return fetched;
  }
  position_.SuspendIfStuck(Direction::kForward);
  if (is_suspended()) {
    CAIRN_RETURN_IF_ERROR(GuardPlace());
    position_.GoOn(Direction::kForward);
    return AsEndOfRange(Fetch(Direction::kForward, exact, record));
  }
  CAIRN_RETURN_IF_ERROR(EnsurePositioned());
  if (position_.on_entry() || (iterator()->Valid() && iterator()->key() == primary_key_)) {
    iterator()->Next();
  }
  return AsEndOfRange(Fetch(Direction::kForward, exact, record));
}

Status Cursor::MoveBackward(bool exact, uint8_t* record) {
  LeavePrefetched();
  moved_.EndRange();
  if (semi_consistent_.wanted) [[unlikely]] {
    Status fetched = FetchAgain(record);
    if (fetched.code() != StatusCode::kNotFound) return fetched;
  }
  position_.SuspendIfStuck(Direction::kBackward);
  if (is_suspended()) {
    CAIRN_RETURN_IF_ERROR(GuardPlace());
    position_.GoOn(Direction::kBackward);
    return AsEndOfRange(Fetch(Direction::kBackward, exact, record));
  }
  CAIRN_RETURN_IF_ERROR(EnsurePositioned());
  if (position_.on_entry()) {
    iterator()->Previous();
  } else {
    iterator()->SeekBefore(primary_key_);
  }
  return AsEndOfRange(Fetch(Direction::kBackward, exact, record));
}

Status Cursor::ReadNext(uint8_t* record) { return MoveForward(/*exact=*/false, record); }

Status Cursor::ReadPrevious(uint8_t* record) { return MoveBackward(/*exact=*/false, record); }

Status Cursor::ReadNextExact(uint8_t* record) { return MoveForward(/*exact=*/true, record); }

Status Cursor::ReadPreviousExact(uint8_t* record) { return MoveBackward(/*exact=*/true, record); }

// The current row becomes the one with this key, which is found without the iterator.
void Cursor::BeginSingleRow(std::string_view primary_key) {
  primary_key_.assign(primary_key);
  single_row_ = has_primary_key_ = true;
  semi_consistent_ = SemiConsistentReads{.on = semi_consistent_.on};
  position_.set_on_entry(false);
  position_.ForgetPlace();
  range_end_.clear();
  moved_.EndRange();
}

Status Cursor::ReadRow(std::string_view primary_key, uint8_t* record) {
  BeginSingleRow(primary_key);
  prefetched_.Forget();
  Status fetched = FetchRow(record, WaitForRow());
  if (fetched.code() == StatusCode::kNotFound && iterator() != nullptr) UnlockRow();
  return fetched;
}

Status Cursor::ReadFetched(const RowBatch& batch, size_t i, uint8_t* record) {
  BeginSingleRow(batch.key(i));
  row_locked_ = false;
  CAIRN_RETURN_IF_ERROR(batch.status(i));
  if (IsHidden(batch.value(i))) return Status(StatusCode::kNotFound);
  return table_->primary().codec->Decode(*plans_.row(), primary_key_, batch.value(i), record);
}

// Fills in primary_key_ from the entry that the iterator stands on.
Status Cursor::TakePrimaryKey() {
  if (!is_primary()) {
    return current_index().codec->ExtractPrimaryKey(position_.EntryKey(), &primary_key_);
  }
  primary_key_.assign(position_.EntryKey());
  return Status();
}

Result<std::string_view> Cursor::PrimaryKey() {
  if (!has_primary_key_) {
    if (!position_.on_entry()) {
      return Status(StatusCode::kInternal, "the cursor has no current row");
    }
    CAIRN_RETURN_IF_ERROR(TakePrimaryKey());
    has_primary_key_ = true;
  }
  return std::string_view(primary_key_);
}

Result<uint64_t> Cursor::HiddenKey() {
  if (!table_->has_hidden_key()) return uint64_t{0};
  CAIRN_ASSIGN_OR_RETURN(const std::string_view key, PrimaryKey());
  return table_->primary().codec->HiddenKey(key);
}

Result<uint64_t> Cursor::HiddenKeyToChange() {
  if (semi_consistent_.unlocked) [[unlikely]] {
    return Status(StatusCode::kInternal, "a row is to be changed that was read without its lock");
  }
  return HiddenKey();
}

void Cursor::UnlockRow() {
  semi_consistent_.unlocked = false;
  if (!row_locked_) return;
  // Where ranges are locked, what has been looked at in vain is to stay as it is, too.
  if (!guard_.active()) transaction_->Unlock(table_->primary().family(), primary_key_);
  row_locked_ = false;
}

}  // namespace cairn
