// What a cursor does with rows that others have locked, where the statement asks for
// semi-consistent reads.
#include <utility>

#include "engine/table/cursor.h"

namespace cairn {

// The row of primary_key_, to which a locking scan has come. With semi-consistent reads it is not
// waited for but read as it is committed, unless it is wanted already or is not committed any more.
Status Cursor::FetchScannedRow(uint8_t* record) {
  const bool waits = std::exchange(semi_consistent_.waits, false);
  // Where several entries may begin as a whole key does, a read by one comes here as well, and the
  // server does not expect such a row from it.
  if (!semi_consistent_.on || waits || guard_.active() || WaitForRow() == LockWait::kRefuse ||
      current_index().search_keys_end_early) {
    return FetchRow(record, WaitForRow());
  }
  Status fetched = FetchRow(record, LockWait::kRefuse);
  if (fetched.code() != StatusCode::kLockTimeout) return fetched;
  const TableIndex& primary = table_->primary();
  row_value_.Reset();
  Status read =
      transaction_->Get(primary.family(), primary_key_, Transaction::View::kLatest, &row_value_);
  if (read.ok() && IsHidden(row_value_.ToStringView())) read = Status(StatusCode::kNotFound);
  if (read.code() == StatusCode::kNotFound) return FetchRow(record, LockWait::kWait);
  CAIRN_RETURN_IF_ERROR(read);
  semi_consistent_.unlocked = true;
  return primary.codec->Decode(*plans_.row(), primary_key_, row_value_.ToStringView(), record);
}

// The current row, which was read without a lock and is wanted. kNotFound: it is gone, and the scan
// stands where it was.
Status Cursor::FetchAgain(uint8_t* record) {
  semi_consistent_.wanted = semi_consistent_.unlocked = false;
  Status fetched = FetchRow(record, LockWait::kWait);
  if (fetched.code() != StatusCode::kNotFound) return fetched;
  PassLockedRow();
  position_.SuspendOn(primary_key_);
  if (TakeMove()) position_.ShowLatest();
  return fetched;
}

}  // namespace cairn
