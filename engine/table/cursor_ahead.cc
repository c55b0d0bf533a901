// Cursor: rows of secondary entries that are fetched together, because a scan looks some entries
// ahead, or because a caller reads several ranges.
//
// Only reads at a snapshot, without writes of their own, do: what they will see is fixed. While a
// batch of a scan lasts, the cursor stands on one of its rows, and the iterator behind the last of
// them.
#include <algorithm>
#include <utility>

#include "engine/table/cursor.h"

namespace cairn {
namespace {

// A statement may want few rows, so a scan begins with few.
constexpr size_t kFirstRows = 4;

}  // namespace

bool Cursor::MayReadAhead() const {
  return access_.index != table_->primary_position() && entry_plan_ == nullptr &&
         virtual_plan_ == nullptr && !access_.latest && !transaction_->has_writes();
}

void Cursor::ForgetAhead() {
  ahead_.Clear();
  ahead_row_ = 0;
  ahead_rows_ = kFirstRows;
  ahead_end_ = Status();
}

// Gives up the batch: the cursor stands on the current row's entry, by its key alone.
void Cursor::LeaveAhead() {
  if (!is_ahead()) return;
  place_ = Place::kOnEntry;
  place_key_.assign(ahead_entries_[ahead_row_]);
  ForgetAhead();
  DropIterators();
}

// Adds the row of the entry where the iterator stands. kNotFound: the entry is to be passed over;
// kEndOfRange: no wanted one is left.
Status Cursor::AddRow(bool exact, uint8_t* record, RowBatch* rows) {
  if (!iterator_->Valid()) {
    CAIRN_RETURN_IF_ERROR(iterator_->status());
    return Status(StatusCode::kEndOfRange);
  }
  const std::string_view key = iterator_->key();
  if (exact && !key.starts_with(exact_prefix_)) return Status(StatusCode::kEndOfRange);
  if (IsBehindRange(Direction::kForward)) return Status(StatusCode::kEndOfRange);
  CAIRN_RETURN_IF_ERROR(CheckCondition(record));
  std::string* const primary_key = rows->NextKey();
  CAIRN_RETURN_IF_ERROR(current_index().codec->ExtractPrimaryKey(key, primary_key));
  CAIRN_RETURN_IF_ERROR(CheckFilter(*primary_key));
  rows->KeyAdded();
  return Status();
}

// Fetches the next rows. Errors: kEndOfRange when there are none.
Status Cursor::FetchAhead(bool exact, uint8_t* record) {
  ahead_.Clear();
  ahead_row_ = 0;
  ahead_exact_ = exact;
  const size_t wanted = std::exchange(ahead_rows_, std::min(2 * ahead_rows_, RowBatch::kMostRows));
  while (ahead_end_.ok() && ahead_.size() < wanted) {
    iterator_->Next();
    if (ahead_entries_.size() <= ahead_.size()) ahead_entries_.resize(ahead_.size() + 1);
    Status added = AddRow(exact, record, &ahead_);
    if (added.ok()) ahead_entries_[ahead_.size() - 1].assign(iterator_->key());
    if (added.code() != StatusCode::kNotFound) ahead_end_ = std::move(added);
  }
  // The rows before an error come first.
  if (ahead_.size() == 0) return std::exchange(ahead_end_, Status());
  ahead_.Fetch(transaction_, table_->primary().family(), view());
  return Status();
}

Status Cursor::MoveAhead(bool exact, uint8_t* record) {
  on_entry_ = has_primary_key_ = false;
  last_direction_ = Direction::kForward;
  if (++ahead_row_ >= ahead_.size()) CAIRN_RETURN_IF_ERROR(FetchAhead(exact, record));
  primary_key_.assign(ahead_.key(ahead_row_));
  has_primary_key_ = true;
  const Status fetched = ahead_.status(ahead_row_);
  if (fetched.code() == StatusCode::kNotFound) return NoRowOfEntry(ahead_entries_[ahead_row_]);
  CAIRN_RETURN_IF_ERROR(fetched);
  return table_->primary().codec->Decode(*row_plan_, primary_key_, ahead_.value(ahead_row_),
                                         record);
}

// --- Rows of several ranges ---------------------------------------------------------------------

Status Cursor::GatherFrom(std::string_view prefix, Start start, const ReadRange& range, size_t most,
                          uint8_t* record, RowBatch* rows) {
  const Status found = SeekTo(prefix, start, range);
  if (!found.ok()) return AsEndOfRange(found);
  BeginFetch(Direction::kForward);
  gathers_exact_ = start == Start::kExact;
  return GatherOn(most, record, rows);
}

Status Cursor::GatherOn(size_t most, uint8_t* record, RowBatch* rows) {
  if (iterator_ == nullptr) return Status(StatusCode::kInternal, "the cursor has lost its range");
  last_direction_ = Direction::kForward;
  if (iterator_->IsDangling(
          *transaction_)) {  // A function that the statement called has undone writes.
    DropIterators();
    EnsureIterator();
    iterator_->SeekAtOrAfter(entry_key_);
  }
  while (rows->size() < most) {
    const Status added = AddRow(gathers_exact_, record, rows);
    if (!added.ok() && added.code() != StatusCode::kNotFound) return added;
    iterator_->Next();
  }
  if (!iterator_->merges_writes()) return Status();
  if (!iterator_->Valid()) {
    CAIRN_RETURN_IF_ERROR(iterator_->status());
    return Status(StatusCode::kEndOfRange);
  }
  entry_key_.assign(iterator_->key());
  return Status();
}

Status Cursor::ReadGathered(const RowBatch& rows, size_t i, uint8_t* record) {
  primary_key_.assign(rows.key(i));
  has_primary_key_ = true;
  on_entry_ = false;
  const Status fetched = rows.status(i);
  if (fetched.code() == StatusCode::kNotFound) {
    return Status(
        StatusCode::kCorruption,
        "table " + table_->definition().name + ", index " + current_index().codec->layout().name +
            ": an entry belongs to no row, whose primary key would be " + ToHex(primary_key_));
  }
  CAIRN_RETURN_IF_ERROR(fetched);
  if (row_plan_ ==
      nullptr) {  // The index covers what is wanted since the statement changed its mind.
    const uint32_t primary = table_->primary_position();
    CAIRN_RETURN_IF_ERROR(UsePlan(primary, *access_.columns, &plans_[primary], &row_plan_));
  }
  return table_->primary().codec->Decode(*row_plan_, primary_key_, rows.value(i), record);
}

}  // namespace cairn
