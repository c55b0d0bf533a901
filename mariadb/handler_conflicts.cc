// Rows that are in the way of one that is written: found by the server's own checks, or to be
// changed in its place.
#include <string>

#include "engine/codec/index_codec.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"

using cairn::LockMode;
using cairn::LockWait;
using cairn::Status;
using cairn::StatusCode;

// The server reads a key on a hash for nothing else; for a period, the search key lies where it
// keeps that of its check.
bool ha_rocksdb::ChecksForConflict(const uchar* key) const {
  const KEY& definition = table->key_info[active_index];
  const bool is_checked = definition.algorithm == HA_KEY_ALG_LONG_HASH ||
                          (definition.without_overlaps && key == table->file->lookup_buffer);
  return is_checked && ha_thd()->lex->sql_command != SQLCOM_HA_READ;
}

// What is locked to check a key: the hash, or the columns before the period.
void ha_rocksdb::EncodeConflictKey(const uchar* key) {
  const KEY& definition = table->key_info[active_index];
  const uint32_t part_count = definition.algorithm == HA_KEY_ALG_LONG_HASH
                                  ? definition.user_defined_key_parts
                                  : definition.user_defined_key_parts - 2;
  engine_table_->index(active_index).codec->EncodeSearchKey(key, part_count, &search_.key);
}

// Whoever wants a row with the same hash, or with the same columns before the period, waits until
// this transaction ends.
int ha_rocksdb::LockForConflictCheck(const uchar* key) {
  const cairn::TableIndex& index = engine_table_->index(active_index);
  EncodeConflictKey(key);
  cairn::ScopedWaitObserver observer(&cairn::Session::Of(ha_thd()));
  return OperationError(transaction().Lock(index.family(), search_.key, LockMode::kExclusive));
}

// Reads what keeps another row out. A row that somebody is about to delete or to change may not do
// so for long: he is waited for. One that is to be changed by this statement stays locked, so that
// it is there, and as it is, until then.
int ha_rocksdb::ReadConflict(uchar* record, const uchar* key, key_part_map key_parts,
                             ha_rkey_function find_flag) {
  while (true) {
    if (const int error = LockForConflictCheck(key)) return error;
    const int error = AfterConflict(ReadKey(record, key, key_parts, find_flag), record);
    if (error != kRowIsLocked) return error;
    if (const int failed = WaitForConflict(key)) return failed;
  }
}

// The outcome of a read that found a row in the way of another one, or did not.
int ha_rocksdb::AfterConflict(int error, const uchar* record) {
  if (error != 0 || conflict_.locks_rows) return error;
  const KEY& definition = table->key_info[active_index];
  const bool is_period = definition.algorithm != HA_KEY_ALG_LONG_HASH;
  // The server reads the neighbours, who are mostly not in the way.
  if (is_period && !table->check_period_overlaps(definition, table->record[0], record)) return 0;
  const auto found = cursor_->PrimaryKey();
  if (!found.ok()) return OperationError(found.status());
  const cairn::ColumnFamily& rows = engine_table_->primary().family();
  const Status locked = transaction().Lock(rows, *found, LockMode::kShared, LockWait::kRefuse);
  if (locked.code() == StatusCode::kLockTimeout) return kRowIsLocked;
  if (locked.code() == StatusCode::kSnapshotConflict) return 0;
  if (locked.ok() && !transaction().LocksRanges()) transaction().Unlock(rows, *found);
  return OperationError(locked);
}

// Waits for whoever has locked the row that the cursor has met, without the lock on the key, which
// he may ask for to put the row back.
int ha_rocksdb::WaitForConflict(const uchar* key) {
  const auto found = cursor_->PrimaryKey();
  if (!found.ok()) return OperationError(Status(StatusCode::kLockTimeout));
  const std::string row(*found);
  cursor_->Close();
  const cairn::TableIndex& index = engine_table_->index(active_index);
  EncodeConflictKey(key);
  transaction().TakeBackLock(index.family(), search_.key);
  cairn::ScopedWaitObserver observer(&cairn::Session::Of(ha_thd()));
  const cairn::ColumnFamily& rows = engine_table_->primary().family();
  const LockMode mode = conflict_.locks_rows ? LockMode::kExclusive : LockMode::kShared;
  const Status locked = transaction().Lock(rows, row, mode);
  // Whether it has changed since the snapshot matters when it is found again.
  if (locked.code() == StatusCode::kSnapshotConflict) return 0;
  if (locked.ok() && !transaction().LocksRanges()) transaction().Unlock(rows, row);
  return OperationError(locked);
}
