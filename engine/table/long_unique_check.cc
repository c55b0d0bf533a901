#include "engine/table/long_unique_check.h"

#include "engine/table/foreign_key_check.h"
#include "engine/table/ordered_iterator.h"

namespace cairn {

Status LongUniqueCheck::Check(Transaction* transaction, ChildColumns* columns, uint32_t index,
                              const uint8_t* record, std::string_view row_key) {
  const Wanted wanted{transaction, columns, index, record, row_key};
  const TableIndex& hashes = table_->index(index);
  // Without one, a column of the key is NULL.
  if (!hashes.codec->EncodeUniquePrefix(record, &hash_key_)) return Status();
  while (true) {
    CAIRN_RETURN_IF_ERROR(transaction->Lock(hashes.family(), hash_key_, LockMode::kExclusive));
    CAIRN_ASSIGN_OR_RETURN(const bool found, FindOther(wanted));
    if (!found) return Status();
    CAIRN_ASSIGN_OR_RETURN(const bool stays, OtherStays(wanted));
    if (stays) return Status(StatusCode::kDuplicateKey);
  }
}

Result<bool> LongUniqueCheck::FindOther(const Wanted& wanted) {
  const TableIndex& hashes = table_->index(wanted.index);
  OrderedIterator iterator(hashes.definition, wanted.transaction, kForeignKeyView,
                           {hash_key_, hash_key_});
  for (iterator.SeekAtOrAfter(hash_key_); iterator.Valid() && iterator.key().starts_with(hash_key_);
       iterator.Next()) {
    if (wanted.transaction->HidesExpired(iterator.value(), table_->ttl_seconds(),
                                         kForeignKeyView)) {
      continue;
    }
    CAIRN_ASSIGN_OR_RETURN(const bool found, HasValue(wanted, iterator.key()));
    if (found) return true;
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  return false;
}

// Other values may have the same hash.
Result<bool> LongUniqueCheck::HasValue(const Wanted& wanted, std::string_view entry) {
  CAIRN_RETURN_IF_ERROR(RowKeyOf(*table_, table_->index(wanted.index), entry, &other_key_));
  if (other_key_ == wanted.row_key) return false;
  const TableIndex& primary = table_->primary();
  if (plan_ == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(plan_,
                           primary.codec->MakePlan(ColumnSet(table_->layout().columns.size(), true),
                                                   IndexCodec::Checksums::kIgnore));
    other_record_.resize(table_->layout().record_bytes);
  }
  rocksdb::PinnableSlice value;
  const Status read =
      wanted.transaction->Get(primary.family(), other_key_, kForeignKeyView, &value);
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  CAIRN_RETURN_IF_ERROR(
      primary.codec->Decode(*plan_, other_key_, value.ToStringView(), other_record_.data()));
  CAIRN_RETURN_IF_ERROR(wanted.columns->MakeAll(other_record_.data(), &other_blobs_));
  // It may have changed since the entry was read, to a NULL perhaps.
  const IndexCodec& hashes = *table_->index(wanted.index).codec;
  if (!hashes.EncodeUniquePrefix(other_record_.data(), &other_hash_key_)) return false;
  if (other_hash_key_ != hash_key_) return false;
  return wanted.columns->HaveEqualValues(wanted.index, wanted.record, other_record_.data());
}

// Whoever is about to delete the row that was found, or to give it another value, has locked it: he
// is waited for, without the lock on the hash, which he may ask for to put the value back.
Result<bool> LongUniqueCheck::OtherStays(const Wanted& wanted) {
  Transaction* const transaction = wanted.transaction;
  const ColumnFamily& rows = table_->primary().family();
  Status locked = transaction->Lock(rows, other_key_, LockMode::kShared, LockWait::kRefuse);
  const bool in_use = locked.code() == StatusCode::kLockTimeout;
  if (in_use) {
    transaction->TakeBackLock(table_->index(wanted.index).family(), hash_key_);
    locked = transaction->Lock(rows, other_key_, LockMode::kShared);
  }
  // That the row is newer than the transaction's snapshot does not matter.
  if (!locked.ok() && locked.code() != StatusCode::kSnapshotConflict) return locked;
  if (locked.ok() && !transaction->LocksRanges()) transaction->Unlock(rows, other_key_);
  return !in_use;
}

}  // namespace cairn
