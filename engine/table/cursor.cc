#include "engine/table/cursor.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"

namespace cairn {

Cursor::Cursor(const Table* table)
    : table_(table),
      plans_(table->indexes().size()),
      condition_plans_(table->indexes().size()),
      virtual_plans_(table->indexes().size()),
      kept_iterators_(table->indexes().size()) {}

Status Cursor::UsePlan(uint32_t index, const ColumnSet& columns, CachedPlan* cache,
                       const DecodePlan** plan) {
  if (cache->plan == nullptr || cache->columns != columns ||
      cache->checksums != access_.checksums) {
    CAIRN_ASSIGN_OR_RETURN(cache->plan,
                           table_->index(index).codec->MakePlan(columns, access_.checksums));
    cache->columns = columns;
    cache->checksums = access_.checksums;
  }
  *plan = cache->plan.get();
  return Status();
}

Status Cursor::Open(Transaction* transaction, const CursorAccess& access) {
  Close();
  access_ = access;
  CAIRN_RETURN_IF_ERROR(BindColumns());
  transaction_ = transaction;
  const bool waits = !access.skip_locked && !access.refuse_waits;
  if (access.lock.has_value() && waits && transaction->LocksRanges()) {
    guard_.Begin(transaction, &current_index().entry, *access.lock);
    // Filters pass over entries, and a guard is made of what is passed.
    access_.ask_prefix_filters = false;
  }
  const Status checked = CheckDefinition();
  if (!checked.ok()) Close();
  return checked;
}

// Whether what the statement sees is of a time when the table and the index were there. Errors:
// kDefinitionTooNew.
Status Cursor::CheckDefinition() const {
  const bool sees_snapshot =
      view() == Transaction::View::kSnapshot || (guard_.active() && transaction_->MayBeBehind());
  if (!sees_snapshot) return Status();
  return table_->CheckDefinition(*transaction_, access_.index);
}

Status Cursor::ChangeColumns(const ColumnSet* columns) {
  LeaveAhead();
  access_.columns = columns;
  return BindColumns();
}

// Chooses the plans for the wanted columns: from the index entry alone, if it has them all and no
// row is to be locked, else from the row.
Status Cursor::BindColumns() {
  const CursorAccess& access = access_;
  row_plan_ = entry_plan_ = condition_plan_ = virtual_plan_ = nullptr;
  wants_blobs_ = false;
  for (uint32_t i = 0; i < access.columns->size(); ++i) {
    wants_blobs_ |= (*access.columns)[i] && table_->layout().columns[i].type == ColumnType::kBlob;
  }
  const uint32_t primary = table_->primary_position();
  if (access.index != primary && !access.lock.has_value()) {
    bool covered = true;
    const IndexCodec& codec = *current_index().codec;
    for (uint32_t i = 0; i < access.columns->size() && covered; ++i) {
      covered = !(*access.columns)[i] || codec.Covers(i);
    }
    if (covered) {
      CAIRN_RETURN_IF_ERROR(
          UsePlan(access.index, *access.columns, &plans_[access.index], &entry_plan_));
    }
  }
  if (entry_plan_ == nullptr) {
    CAIRN_RETURN_IF_ERROR(UsePlan(primary, *access.columns, &plans_[primary], &row_plan_));
  }
  if (current_index().has_virtual_part && entry_plan_ == nullptr) {
    CAIRN_RETURN_IF_ERROR(BindVirtualColumns());
  }
  if (access.condition != nullptr || (access.filter != nullptr && entry_plan_ == nullptr)) {
    // They read what the index holds.
    ColumnSet covered(access.columns->size());
    for (uint32_t i = 0; i < covered.size(); ++i) covered[i] = current_index().codec->Covers(i);
    CAIRN_RETURN_IF_ERROR(
        UsePlan(access.index, covered, &condition_plans_[access.index], &condition_plan_));
  }
  return Status();
}

// A locked row is read whole from the primary key, which has no virtual columns.
Status Cursor::BindVirtualColumns() {
  const ColumnSet& wanted = *access_.columns;
  ColumnSet columns(wanted.size(), false);
  bool any = false;
  for (uint32_t i = 0; i < wanted.size(); ++i) {
    columns[i] =
        wanted[i] && table_->layout().columns[i].is_virtual && current_index().codec->Covers(i);
    any = any || columns[i];
  }
  if (!any) return Status();
  return UsePlan(access_.index, columns, &virtual_plans_[access_.index], &virtual_plan_);
}

void Cursor::Close() {
  DropIterators();
  transaction_ = nullptr;
  ForgetAhead();
  row_value_.Reset();
  has_primary_key_ = on_entry_ = row_locked_ = scan_ended_ = false;
  entry_changed_ = follows_changes_ = later_reads_follow_ = false;
  guard_.End();
  range_end_.clear();
  free_range_.reset();
  place_ = Place::kNone;
}

Cursor::Place Cursor::CurrentPlace(std::string* key) const {
  const bool forward = last_direction_ == Direction::kForward;
  if (is_ahead()) {
    key->assign(ahead_entries_[ahead_row_]);
    return Place::kOnEntry;
  }
  if (on_entry_) {
    key->assign(EntryKey());
    return Place::kOnEntry;
  }
  if (iterator_ == nullptr) {  // The row was read by its key, or looked for.
    if (!has_primary_key_ || access_.index != table_->primary_position()) return Place::kNone;
    key->assign(primary_key_);
    return Place::kOnEntry;
  }
  if (iterator_->asks_filters() && LeftCommonPrefix()) {
    if (!forward) {
      key->assign(common_prefix_);
    } else if (!PrefixSuccessor(common_prefix_, key)) {
      return Place::kBehindAll;
    }
    return Place::kBeforeEntry;
  }
  if (!iterator_->Valid()) return forward ? Place::kBehindAll : Place::kBeforeAll;
  // The read ended on an entry that it does not belong to: the scan stands between that and the
  // last row.
  key->assign(iterator_->key());
  return forward ? Place::kBeforeEntry : Place::kBehindEntry;
}

void Cursor::Suspend() {
  if (is_suspended()) return;
  if (is_open()) place_ = CurrentPlace(&place_key_);
  EndScan();
}

Status Cursor::Resume(Transaction* transaction, const CursorAccess& access) {
  const Place place = place_;
  Close();
  CAIRN_RETURN_IF_ERROR(Open(transaction, access));
  place_ = place;
  return Status();
}

// Puts the iterator where the first read after Resume() looks: on the next candidate in its
// direction.
void Cursor::LeavePlace(Direction direction) {
  EnsureIterator();
  const bool forward = direction == Direction::kForward;
  switch (std::exchange(place_, Place::kNone)) {
    case Place::kNone:
      return;
    case Place::kBeforeAll:
      iterator_->SeekToFirst();
      if (!forward && iterator_->Valid()) iterator_->Previous();
      return;
    case Place::kBehindAll:
      iterator_->SeekToLast();
      if (forward && iterator_->Valid()) iterator_->Next();
      return;
    case Place::kOnEntry:
      if (forward) place_key_.push_back('\0');  // The key that follows it.
      break;
    case Place::kBehindEntry:
      place_key_.push_back('\0');
      break;
    case Place::kBeforeEntry:
      break;
  }
  if (forward) {
    iterator_->SeekAtOrAfter(place_key_);
  } else {
    iterator_->SeekBefore(place_key_);
  }
}

void Cursor::EndScan() {
  // A damaged key shows when it is asked for.
  if (on_entry_ && !has_primary_key_) has_primary_key_ = TakePrimaryKey().ok();
  on_entry_ = false;
  DropIterators();
  scan_ended_ = true;
}

void Cursor::DropIterators() {
  if (transaction_ != nullptr && plain_iterator_ != nullptr &&
      plain_iterator_->ServesStatementOf(*transaction_)) {
    kept_iterators_[access_.index] = std::move(plain_iterator_);
  }
  plain_iterator_.reset();
  filtering_iterator_.reset();
  iterator_ = nullptr;
}

// The row behind a range is none of its readers' business, and must not be locked.
bool Cursor::IsBehindRange(Direction direction) const {
  return !range_end_.empty() && direction == Direction::kForward && iterator_->Valid() &&
         iterator_->key() >= range_end_;
}

// --- Iterators ----------------------------------------------------------------------------------

// One that shows every entry.
void Cursor::EnsureIterator() {
  if (plain_iterator_ == nullptr || !plain_iterator_->IsCurrent(*transaction_)) {
    plain_iterator_ = std::move(kept_iterators_[access_.index]);
    const bool serves = plain_iterator_ != nullptr && view() == Transaction::View::kSnapshot &&
                        plain_iterator_->ServesStatementOf(*transaction_);
    if (!serves) {
      plain_iterator_ =
          std::make_unique<OrderedIterator>(current_index().entry, transaction_, view());
    }
  }
  iterator_ = plain_iterator_.get();
}

OrderedIterator* Cursor::StatementIterator(Transaction* transaction, uint32_t index) {
  if (is_open() || transaction->has_writes()) return nullptr;
  std::unique_ptr<OrderedIterator>& kept = kept_iterators_[index];
  if (kept == nullptr || !kept->ServesStatementOf(*transaction)) {
    kept = std::make_unique<OrderedIterator>(table_->index(index).entry, transaction,
                                             Transaction::View::kSnapshot);
  }
  return kept.get();
}

void Cursor::ReleaseIterators() {
  for (std::unique_ptr<OrderedIterator>& kept : kept_iterators_) kept.reset();
}

// One that asks prefix filters, if they serve the seek.
void Cursor::EnsureIteratorFor(const lsm::ConfinedSeek& seek) {
  const IndexEntry& entry = current_index().entry;
  if (!access_.ask_prefix_filters ||
      !lsm::MayAskPrefixFilters(entry.family->prefix_extractor.current(), seek)) {
    return EnsureIterator();
  }
  if (!filtering_iterator_.has_value() || !filtering_iterator_->AsksFiltersFor(seek) ||
      !filtering_iterator_->IsCurrent(*transaction_)) {
    filtering_iterator_.emplace(entry, transaction_, view(), seek);
  }
  iterator_ = &*filtering_iterator_;
}

bool Cursor::LeftCommonPrefix() const {
  return !iterator_->Valid() || !iterator_->key().starts_with(common_prefix_);
}

// From where the iterator knows no further, on to the next entry there is.
void Cursor::LeaveCommonPrefix(Direction direction) {
  EnsureIterator();
  if (direction == Direction::kBackward) {
    iterator_->SeekBefore(common_prefix_);
  } else if (PrefixSuccessor(common_prefix_, &target_)) {
    iterator_->SeekAtOrAfter(target_);
  } else {
    iterator_->SeekToLast();
    if (iterator_->Valid()) iterator_->Next();
  }
}

// An iterator that asks filters goes one way: the other way, the scan continues from its place with
// another one.
void Cursor::NoteTurn(Direction direction) {
  if (on_entry_ && iterator_->asks_filters() && direction != last_direction_) {
    place_ = CurrentPlace(&place_key_);
  }
}

void Cursor::StandOnEntry() {
  on_entry_ = true;
  if (iterator_->merges_writes()) entry_key_.assign(iterator_->key());
}

// After a row was fetched without the iterator, puts the iterator on its entry.
Status Cursor::EnsurePositioned() {
  if (on_entry_) return Status();
  if (!has_primary_key_ || access_.index != table_->primary_position()) {
    return Status(StatusCode::kInternal, "the cursor has no position to move from");
  }
  if (guard_.active()) {
    guard_.StartOnRow(primary_key_);
    DropIterators();
  }
  EnsureIterator();
  iterator_->SeekAtOrAfter(primary_key_);
  return iterator_->status();
}

Status Cursor::AsEndOfRange(Status status) const {
  return status.code() == StatusCode::kNotFound ? Status(StatusCode::kEndOfRange)
                                                : std::move(status);
}

// Leaves the current row.
void Cursor::BeginFetch(Direction direction) {
  has_primary_key_ = on_entry_ = row_locked_ = false;
  place_ = Place::kNone;
  last_direction_ = direction;
  ForgetAhead();
}

// Fills the record from the iterator's entry or the first suitable one behind it. kNotFound: none
// left.
Status Cursor::Fetch(Direction direction, bool exact, uint8_t* record) {
  const bool is_primary = access_.index == table_->primary_position();
  BeginFetch(direction);
  while (true) {
    if (iterator_->asks_filters() && LeftCommonPrefix()) {
      if (!iterator_->Valid()) CAIRN_RETURN_IF_ERROR(iterator_->status());
      if (exact || ends_with_common_prefix_) return Status(StatusCode::kNotFound);
      LeaveCommonPrefix(direction);
    }
    if (IsBehindRange(direction)) return Status(StatusCode::kNotFound);
    if (guard_.active()) {
      CAIRN_ASSIGN_OR_RETURN(const bool goes_on, GuardEntry(direction, exact));
      if (!goes_on) return Status(StatusCode::kNotFound);
    }
    if (!iterator_->Valid()) {
      CAIRN_RETURN_IF_ERROR(iterator_->status());
      return Status(StatusCode::kNotFound);
    }
    if (exact && !iterator_->key().starts_with(exact_prefix_)) return Status(StatusCode::kNotFound);
    const Status fetched = is_primary ? FetchPrimaryEntry(record) : FetchSecondaryEntry(record);
    if (fetched.code() == StatusCode::kEndOfRange) return Status(StatusCode::kNotFound);
    if (fetched.code() != StatusCode::kNotFound) {
      StandOnEntry();
      return fetched;
    }
    if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
    if (std::exchange(entry_changed_, false)) {
      PassChangedEntry(direction);
    } else if (direction == Direction::kForward) {
      iterator_->Next();
    } else {
      iterator_->Previous();
    }
  }
}

// Whether the scan only walks: it locks nothing, passes over no expired rows, merges no writes that
// might be undone and asks no filters.
bool Cursor::OnlyWalks() const {
  return on_entry_ && !access_.lock.has_value() && table_->ttl_seconds() == 0 &&
         !iterator_->merges_writes() && !iterator_->asks_filters();
}

// Moves forward where OnlyWalks(): what most rows of most statements come by.
Status Cursor::WalkForward(bool exact, uint8_t* record) {
  const bool is_primary = access_.index == table_->primary_position();
  has_primary_key_ = on_entry_ = false;
  last_direction_ = Direction::kForward;
  while (true) {
    iterator_->Next();
    if (!iterator_->Valid()) [[unlikely]] {
      CAIRN_RETURN_IF_ERROR(iterator_->status());
      return Status(StatusCode::kEndOfRange);
    }
    if (exact && !iterator_->key().starts_with(exact_prefix_)) {
      return Status(StatusCode::kEndOfRange);
    }
    Status fetched = is_primary ? FetchPrimaryEntry(record) : FetchSecondaryEntry(record);
    if (fetched.code() == StatusCode::kNotFound) {
      if (IsBehindRange(Direction::kForward)) return Status(StatusCode::kEndOfRange);
      continue;
    }
    on_entry_ = fetched.code() != StatusCode::kEndOfRange;
    return fetched;
  }
}

// Goes on behind an entry that others have changed since the iterator was made, with one that shows
// their changes: they may have put the row farther along, where a read that waited for them must
// find it.
void Cursor::PassChangedEntry(Direction direction) {
  const std::string key(iterator_->key());
  follows_changes_ = true;
  DropIterators();
  EnsureIterator();
  if (direction == Direction::kBackward) {
    iterator_->SeekBefore(key);
    return;
  }
  iterator_->SeekAtOrAfter(key);
  if (iterator_->Valid() && iterator_->key() == key) iterator_->Next();
}

// kNotFound means that the entry is to be passed over; likewise below.
Status Cursor::FetchPrimaryEntry(uint8_t* record) {
  if (IsHidden(iterator_->value())) return Status(StatusCode::kNotFound);
  if (access_.lock.has_value()) {
    primary_key_.assign(iterator_->key());
    has_primary_key_ = true;
    const Status fetched = FetchRow(record);
    if (fetched.code() == StatusCode::kNotFound) PassLockedRow();
    return fetched;
  }
  std::string_view value = iterator_->value();
  if (wants_blobs_ || transaction_->has_writes()) {
    // BLOBs outlive the iterator, and a value in the write batch moves when something is written.
    row_value_.PinSelf(rocksdb::Slice(value.data(), value.size()));
    value = row_value_.ToStringView();
  }
  return table_->primary().codec->Decode(*row_plan_, iterator_->key(), value, record);
}

// Whether the pushed condition, if there is one, wants the row of the entry where the iterator
// stands. Errors: kNotFound (it does not), kEndOfRange (nor those of entries behind it),
// kInterrupted.
Status Cursor::CheckCondition(uint8_t* record) {
  if (condition_plan_ == nullptr) return Status();
  CAIRN_RETURN_IF_ERROR(current_index().codec->Decode(*condition_plan_, iterator_->key(),
                                                      iterator_->value(), record));
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
  if (access_.filter == nullptr || last_direction_ == Direction::kBackward) return Status();
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
  if (IsHidden(iterator_->value())) return Status(StatusCode::kNotFound);
  const IndexCodec& codec = *current_index().codec;
  has_primary_key_ = false;
  CAIRN_RETURN_IF_ERROR(CheckCondition(record));
  if (entry_plan_ != nullptr) {
    return codec.Decode(*entry_plan_, iterator_->key(), iterator_->value(), record);
  }
  CAIRN_RETURN_IF_ERROR(codec.ExtractPrimaryKey(iterator_->key(), &primary_key_));
  has_primary_key_ = true;
  CAIRN_RETURN_IF_ERROR(CheckFilter(primary_key_));
  if (WasGivenEarly()) return Status(StatusCode::kNotFound);
  const Status fetched = FetchRow(record);
  // Compactions remove an expired row and its entries at different times.
  const bool needs_row = !access_.latest && table_->ttl_seconds() == 0;
  if (fetched.code() == StatusCode::kNotFound && needs_row) {
    if (!access_.lock.has_value()) return NoRowOfEntry(iterator_->key());
    CAIRN_RETURN_IF_ERROR(CheckDeletedRow());
  }
  if (fetched.code() == StatusCode::kNotFound) PassLockedRow();
  if (!fetched.ok()) return fetched;
  if (!access_.lock.has_value()) {
    return virtual_plan_ == nullptr
               ? fetched
               : codec.Decode(*virtual_plan_, iterator_->key(), iterator_->value(), record);
  }
  // The row is locked now, but may have changed after the entry was found.
  CAIRN_ASSIGN_OR_RETURN(const bool still_there, RowStillHasEntry(record));
  const bool is_wanted = still_there || HasMovedWithinRange();
  if (is_wanted && (access_.condition == nullptr ||
                    access_.condition->Check() == IndexCondition::Verdict::kMatch)) {
    if (!still_there) free_range_->moved_rows.insert(primary_key_);
    return Status();
  }
  if (!still_there && IsAhead(recomputed_key_)) {
    entry_changed_ = true;
    row_locked_ = false;  // The lock stays, so that the row stays where the scan will meet it.
  }
  if (free_range_.has_value() && !current_index().has_virtual_part) {
    // The entries that the scan walks are all the other rows' still; only another read can meet
    // this one.
    entry_changed_ = false;
    later_reads_follow_ |= !still_there;
    UnlockRow();
    return Status(StatusCode::kNotFound);
  }
  PassLockedRow();
  return Status(StatusCode::kNotFound);
}

// Whether the locked row, which has left the entry where the iterator stands, may come all the
// same.
bool Cursor::HasMovedWithinRange() const {
  return free_range_.has_value() && !current_index().has_virtual_part &&
         recomputed_key_ >= free_range_->first &&
         (free_range_->end.empty() || recomputed_key_ < free_range_->end);
}

// Whether the row of primary_key_ came where it had been before, and now the scan has met its new
// entry.
bool Cursor::WasGivenEarly() const {
  // The entries of one snapshot have each row once.
  return free_range_.has_value() && follows_changes_ &&
         free_range_->moved_rows.contains(primary_key_);
}

bool Cursor::IsAhead(std::string_view key) const {
  return !current_index().has_virtual_part &&
         (last_direction_ == Direction::kForward) == (key > iterator_->key());
}

// The row at the entry is not what the entry says, now that it is locked.
void Cursor::PassLockedRow() {
  entry_changed_ |= row_locked_;
  UnlockRow();
}

Status Cursor::NoRowOfEntry(std::string_view key) const {
  return Status(StatusCode::kCorruption, "table " + table_->definition().name + ", index " +
                                             current_index().codec->layout().name +
                                             ": no row belongs to the entry " + ToHex(key));
}

// There is no row at a key that was locked. It may have been deleted since the iterator was made;
// then the entry went with it. Ok: it did.
Status Cursor::CheckDeletedRow() {
  if (!row_locked_) return Status();  // Somebody else has locked the key.
  rocksdb::PinnableSlice value;
  const Status read = transaction_->Get(current_index().family(), iterator_->key(),
                                        Transaction::View::kLatest, &value);
  if (read.code() == StatusCode::kNotFound) return Status();
  return read.ok() ? NoRowOfEntry(iterator_->key()) : read;
}

// Whether the locked row, which fills the record, still belongs at the iterator's entry.
Result<bool> Cursor::RowStillHasEntry(uint8_t* record) {
  const TableIndex& index = current_index();
  if (!index.has_virtual_part) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t hidden_key, HiddenKey());
    index.codec->EncodeKey(record, hidden_key, &recomputed_key_, &recomputed_unpack_info_);
    return recomputed_key_ == iterator_->key();
  }
  // The entry cannot be made from a row without virtual columns. But it changes only under the
  // row's lock.
  rocksdb::PinnableSlice value;
  const Status read =
      transaction_->Get(index.family(), iterator_->key(), Transaction::View::kLatest, &value);
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  if (virtual_plan_ != nullptr) {
    CAIRN_RETURN_IF_ERROR(
        index.codec->Decode(*virtual_plan_, iterator_->key(), value.ToStringView(), record));
  }
  return true;
}

// The row of primary_key_, by itself.
Status Cursor::FetchRow(uint8_t* record) {
  const TableIndex& primary = table_->primary();
  row_value_.Reset();
  Status read =
      access_.lock.has_value()
          ? transaction_->GetForUpdate(
                primary.family(), primary_key_, *access_.lock, &row_value_,
                access_.skip_locked || access_.refuse_waits ? LockWait::kRefuse : LockWait::kWait)
          : transaction_->Get(primary.family(), primary_key_, view(), &row_value_);
  if (read.ok() && IsHidden(row_value_.ToStringView())) read = Status(StatusCode::kNotFound);
  row_locked_ = access_.lock.has_value() && (read.ok() || read.code() == StatusCode::kNotFound);
  const bool refused = read.code() == StatusCode::kLockTimeout ||
                       read.code() == StatusCode::kDeadlock ||
                       read.code() == StatusCode::kSnapshotConflict;
  if (access_.skip_locked && refused) return Status(StatusCode::kNotFound);
  CAIRN_RETURN_IF_ERROR(read);
  return primary.codec->Decode(*row_plan_, primary_key_, row_value_.ToStringView(), record);
}

// The read that begins sees what is committed now, if a row has gone where it may look.
void Cursor::FollowMovedRows() {
  if (!std::exchange(later_reads_follow_, false)) return;
  follows_changes_ = true;
  DropIterators();
}

// Notes what a locking read that starts there may take rows from in any order.
void Cursor::NoteRange(std::string_view prefix, Start start, const ReadRange& range) {
  free_range_.reset();
  if (!range.any_order || !access_.lock.has_value() || guard_.active()) return;
  FreeRange& free = free_range_.emplace();
  free.exact = start == Start::kExact;
  free.first.assign(prefix);
  if (start == Start::kExact) {
    if (!PrefixSuccessor(prefix, &free.end)) free.end.clear();
    return;
  }
  if (start == Start::kAfter && !PrefixSuccessor(prefix, &free.first)) {
    free_range_.reset();  // The range is empty.
    return;
  }
  free.end.assign(range.end);
}

Status Cursor::Read(std::string_view prefix, Start start, uint8_t* record, const ReadRange& range) {
  const bool exact = start == Start::kExact || start == Start::kLastExact;
  const bool forward =
      start == Start::kExact || start == Start::kAtOrAfter || start == Start::kAfter;
  CAIRN_RETURN_IF_ERROR(SeekTo(prefix, start, range));
  return Fetch(forward ? Direction::kForward : Direction::kBackward, exact, record);
}

// Puts the iterator where a Read starts to look. Errors: kNotFound when nothing can be there, those
// of locks.
Status Cursor::SeekTo(std::string_view prefix, Start start, const ReadRange& range) {
  const bool exact = start == Start::kExact || start == Start::kLastExact;
  const bool forward =
      start == Start::kExact || start == Start::kAtOrAfter || start == Start::kAfter;
  const bool behind =
      start == Start::kAfter || start == Start::kLastExact || start == Start::kAtOrBefore;
  exact_prefix_.assign(prefix);
  // All entries of an index start with its number.
  const size_t common_bytes = std::max(range.common_bytes, kIndexNumberBytes);
  common_prefix_.assign(prefix.substr(0, exact ? prefix.size() : common_bytes));
  ends_with_common_prefix_ = !exact;
  range_end_.assign(forward && !exact ? range.end : std::string_view());
  FollowMovedRows();
  NoteRange(prefix, start, range);
  CAIRN_RETURN_IF_ERROR(GuardRead(prefix, start));
  if (!behind) {
    target_.assign(prefix);
  } else if (!PrefixSuccessor(prefix, &target_)) {  // Nothing sorts behind it.
    if (forward) return Status(StatusCode::kNotFound);
    EnsureIterator();
    iterator_->SeekToLast();
    return Status();
  }
  EnsureIteratorFor({target_, common_prefix_, exact && range.prefix_is_key});
  if (forward) {
    iterator_->SeekAtOrAfter(target_);
  } else {
    iterator_->SeekBefore(target_);
  }
  return Status();
}

Status Cursor::ReadFirst(uint8_t* record, const ReadRange& range) {
  common_prefix_.clear();
  AppendBigEndian(current_index().entry.id.index_number, &common_prefix_);
  ends_with_common_prefix_ = true;
  range_end_.assign(range.end);
  FollowMovedRows();
  NoteRange(common_prefix_, Start::kAtOrAfter, range);
  CAIRN_RETURN_IF_ERROR(GuardRead(common_prefix_, Start::kAtOrAfter));
  EnsureIteratorFor({common_prefix_, common_prefix_});
  iterator_->SeekToFirst();
  return AsEndOfRange(Fetch(Direction::kForward, /*exact=*/false, record));
}

Status Cursor::ReadLast(uint8_t* record) {
  const IndexRange index(current_index().family(), current_index().entry.id.index_number);
  range_end_.clear();
  free_range_.reset();
  CAIRN_RETURN_IF_ERROR(GuardRead(index.end(), Start::kBefore));
  EnsureIterator();
  iterator_->SeekToLast();
  return AsEndOfRange(Fetch(Direction::kBackward, /*exact=*/false, record));
}

// A function that the statement called for the current row has rolled back to a savepoint.
void Cursor::SuspendIfDangling() {
  if (is_suspended() || iterator_ == nullptr || !iterator_->IsDangling(*transaction_)) return;
  if (on_entry_) {
    place_ = Place::kOnEntry;
    place_key_.assign(entry_key_);
  }
  on_entry_ = false;
  DropIterators();
}

Status Cursor::MoveForward(bool exact, uint8_t* record) {
  if (free_range_.has_value() && free_range_->exact != exact) free_range_.reset();
  if (is_ahead() && exact != ahead_exact_) LeaveAhead();
  if (is_ahead() || (OnlyWalks() && MayReadAhead())) return MoveAhead(exact, record);
  if (OnlyWalks()) return WalkForward(exact, record);
  SuspendIfDangling();
  NoteTurn(Direction::kForward);
  if (is_suspended()) {
    CAIRN_RETURN_IF_ERROR(GuardPlace());
    LeavePlace(Direction::kForward);
    return AsEndOfRange(Fetch(Direction::kForward, exact, record));
  }
  CAIRN_RETURN_IF_ERROR(EnsurePositioned());
  if (on_entry_ || (iterator_->Valid() && iterator_->key() == primary_key_)) iterator_->Next();
  return AsEndOfRange(Fetch(Direction::kForward, exact, record));
}

Status Cursor::MoveBackward(bool exact, uint8_t* record) {
  LeaveAhead();
  free_range_.reset();
  SuspendIfDangling();
  NoteTurn(Direction::kBackward);
  if (is_suspended()) {
    CAIRN_RETURN_IF_ERROR(GuardPlace());
    LeavePlace(Direction::kBackward);
    return AsEndOfRange(Fetch(Direction::kBackward, exact, record));
  }
  CAIRN_RETURN_IF_ERROR(EnsurePositioned());
  if (on_entry_) {
    iterator_->Previous();
  } else {
    iterator_->SeekBefore(primary_key_);
  }
  return AsEndOfRange(Fetch(Direction::kBackward, exact, record));
}

Status Cursor::ReadNext(uint8_t* record) { return MoveForward(/*exact=*/false, record); }

Status Cursor::ReadPrevious(uint8_t* record) { return MoveBackward(/*exact=*/false, record); }

Status Cursor::ReadNextExact(uint8_t* record) { return MoveForward(/*exact=*/true, record); }

Status Cursor::ReadPreviousExact(uint8_t* record) { return MoveBackward(/*exact=*/true, record); }

Status Cursor::ReadRow(std::string_view primary_key, uint8_t* record) {
  primary_key_.assign(primary_key);
  exact_prefix_.assign(primary_key);
  has_primary_key_ = true;
  on_entry_ = false;
  place_ = Place::kNone;
  range_end_.clear();
  free_range_.reset();
  ForgetAhead();
  const Status fetched = FetchRow(record);
  if (fetched.code() == StatusCode::kNotFound && iterator_ != nullptr) UnlockRow();
  return fetched;
}

Status Cursor::ReadFetched(const RowBatch& batch, size_t i, uint8_t* record) {
  primary_key_.assign(batch.key(i));
  exact_prefix_.assign(primary_key_);
  has_primary_key_ = true;
  on_entry_ = row_locked_ = false;
  place_ = Place::kNone;
  range_end_.clear();
  free_range_.reset();
  CAIRN_RETURN_IF_ERROR(batch.status(i));
  if (IsHidden(batch.value(i))) return Status(StatusCode::kNotFound);
  return table_->primary().codec->Decode(*row_plan_, primary_key_, batch.value(i), record);
}

// Fills in primary_key_ from the entry that the iterator stands on.
Status Cursor::TakePrimaryKey() {
  if (access_.index != table_->primary_position()) {
    return current_index().codec->ExtractPrimaryKey(EntryKey(), &primary_key_);
  }
  primary_key_.assign(EntryKey());
  return Status();
}

Result<std::string_view> Cursor::PrimaryKey() {
  if (!has_primary_key_) {
    if (!on_entry_) return Status(StatusCode::kInternal, "the cursor has no current row");
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

void Cursor::UnlockRow() {
  if (!row_locked_) return;
  // Where ranges are locked, what has been looked at in vain is to stay as it is, too.
  if (!guard_.active()) transaction_->Unlock(table_->primary().family(), primary_key_);
  row_locked_ = false;
}

}  // namespace cairn
