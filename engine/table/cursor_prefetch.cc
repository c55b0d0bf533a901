// Cursor: rows of secondary entries that are fetched together, because a scan looks some entries
// ahead, or because a caller reads several ranges.
//
// Only reads at a snapshot, without writes of their own, do: what they will see is fixed.
#include <utility>

#include "engine/base/bytes.h"
#include "engine/table/cursor.h"

namespace cairn {

bool Cursor::MayPrefetch() const {
  return !is_primary() && plans_.entry() == nullptr && plans_.virtual_columns() == nullptr &&
         !access_.latest && !transaction_->has_writes();
}

// Gives up the batch: the cursor stands on the current row's entry, by its key alone.
void Cursor::LeavePrefetched() {
  if (!prefetched_.active()) return;
  position_.SuspendOn(prefetched_.entry());
  prefetched_.Forget();
  position_.DropIterator();
}

// Adds the row of the entry where the iterator stands. kNotFound: the entry is to be passed over;
// kEndOfRange: no wanted one is left.
Status Cursor::AddRow(bool exact, uint8_t* record, RowBatch* rows) {
  if (!iterator()->Valid()) {
    CAIRN_RETURN_IF_ERROR(iterator()->status());
    return Status(StatusCode::kEndOfRange);
  }
  const std::string_view key = iterator()->key();
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
Status Cursor::PrefetchRows(bool exact, uint8_t* record) {
  prefetched_.Begin(exact);
  while (prefetched_.WantsMore()) {
    iterator()->Next();
    Status added = AddRow(exact, record, prefetched_.rows());
    if (added.ok()) {
      prefetched_.NoteRow(iterator()->key());
    } else if (added.code() != StatusCode::kNotFound) {
      prefetched_.NoteEnd(std::move(added));
    }
  }
  return prefetched_.Fetch(transaction_, table_->primary().family(), view());
}

Status Cursor::MoveToPrefetched(bool exact, uint8_t* record) {
  has_primary_key_ = false;
  position_.BeginWalk();
  Status fetched;
  do {
    if (!prefetched_.Step()) CAIRN_RETURN_IF_ERROR(PrefetchRows(exact, record));
    primary_key_.assign(prefetched_.primary_key());
    has_primary_key_ = true;
    fetched = prefetched_.status();
    if (fetched.code() == StatusCode::kNotFound) {
      Status passed = PassDeletedRow(prefetched_.entry());
      if (passed.code() != StatusCode::kNotFound) return passed;
    }
  } while (fetched.code() == StatusCode::kNotFound);
  CAIRN_RETURN_IF_ERROR(fetched);
  return table_->primary().codec->Decode(*plans_.row(), primary_key_, prefetched_.value(), record);
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
  if (iterator() == nullptr) return Status(StatusCode::kInternal, "the cursor has lost its range");
  position_.BeginWalk();
  position_.RenewIfDangling();  // A function that the statement called may have undone writes.
  while (rows->size() < most) {
    Status added = AddRow(gathers_exact_, record, rows);
    if (!added.ok() && added.code() != StatusCode::kNotFound) return added;
    iterator()->Next();
  }
  if (!iterator()->merges_writes()) return Status();
  if (!iterator()->Valid()) {
    CAIRN_RETURN_IF_ERROR(iterator()->status());
    return Status(StatusCode::kEndOfRange);
  }
  position_.NoteEntryKey();
  return Status();
}

Status Cursor::ReadGathered(const RowBatch& rows, size_t i, uint8_t* record) {
  primary_key_.assign(rows.key(i));
  has_primary_key_ = true;
  position_.set_on_entry(false);
  Status fetched = rows.status(i);
  if (fetched.code() == StatusCode::kNotFound) {
    CAIRN_ASSIGN_OR_RETURN(const bool deleted, transaction_->HasDeleted(table_->primary().family(),
                                                                        primary_key_, view()));
    if (deleted) return fetched;
    return Status(
        StatusCode::kCorruption,
        "table " + table_->definition().name + ", index " + current_index().codec->layout().name +
            ": an entry belongs to no row, whose primary key would be " + ToHex(primary_key_));
  }
  CAIRN_RETURN_IF_ERROR(fetched);
  // The index may cover what is wanted, since the statement changed its mind.
  CAIRN_RETURN_IF_ERROR(plans_.BindRow(access_));
  return table_->primary().codec->Decode(*plans_.row(), primary_key_, rows.value(i), record);
}

}  // namespace cairn
