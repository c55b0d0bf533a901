#include "engine/table/foreign_key_check.h"

#include <algorithm>

#include "engine/base/bytes.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/row_scan.h"

namespace cairn {
namespace {

// Whether nobody else has what was in the way of a lock any more. That the key is newer than the
// transaction's snapshot does not matter here.
bool HasWaited(const Status& locked) {
  return locked.ok() || locked.code() == StatusCode::kSnapshotConflict;
}

// By a foreign key from a table to itself; no row (null) is not.
bool IsOwnParent(const BoundForeignKey& key, const uint8_t* record) {
  return record != nullptr && HaveEqualValues(key.columns, record, key.other_columns, record);
}

}  // namespace

Status RowKeyOf(const Table& table, const TableIndex& index, std::string_view entry,
                std::string* key) {
  if (&index != &table.primary()) return index.codec->ExtractPrimaryKey(entry, key);
  key->assign(entry);
  return Status();
}

void ForeignKeyChecks::Bind(Keys keys) {
  keys_ = std::move(keys);
  unbound_ = Status();
  acts_on_delete_ = acts_on_update_ = false;
  bound_ = keys_ != nullptr;
  active_ = enforced_ && bound_;
  if (!bound_) return;
  for (const BoundForeignKey& key : keys_->as_parent) {
    acts_on_delete_ = acts_on_delete_ || ActsOn(key.key->record.on_delete);
    acts_on_update_ = acts_on_update_ || ActsOn(key.key->record.on_update);
  }
  // A row that an update makes one of the past is gone for its children.
  if (!keys_->as_parent.empty() && keys_->as_parent.front().columns.has_versions()) {
    acts_on_delete_ = acts_on_update_ = acts_on_delete_ || acts_on_update_;
  }
}

void ForeignKeyChecks::RefuseAll(Status reason) {
  Bind(nullptr);
  unbound_ = std::move(reason);
  bound_ = true;
  active_ = enforced_;
}

void ForeignKeyChecks::NoteWrite(Transaction* transaction, const TableIndex& primary,
                                 const uint8_t* old_record, const uint8_t* new_record) const {
  if (keys_ == nullptr) return transaction->found_parents().Forget();
  if (keys_->as_parent.empty()) return;
  if (new_record != nullptr) {
    transaction->found_parents().NoteWritten(primary.layout().index_number);
  }
  if (old_record == nullptr) return;
  const bool may_take_away =
      new_record == nullptr || std::any_of(keys_->as_parent.begin(), keys_->as_parent.end(),
                                           [&](const BoundForeignKey& key) {
                                             return key.columns.BytesDiffer(old_record, new_record);
                                           });
  if (may_take_away) transaction->found_parents().Forget();
}

Status ForeignKeyChecks::Refuse(StatusCode code, const BoundForeignKey& key,
                                const uint8_t* record) {
  ForeignKeyCounters::Count(&key.key->counters->refusals);
  SetFailed(key.key, record);
  return Status(code);
}

void ForeignKeyChecks::MakeLockKey(const BoundForeignKey& key, const uint8_t* record) {
  lock_key_ = ForeignKeyKey(key.key->number);
  AppendBigEndian(key.columns.Hash(record), &lock_key_);
}

Status ForeignKeyChecks::LockValue(Transaction* transaction, const BoundForeignKey& key,
                                   const uint8_t* record, LockMode mode) {
  // Sessions that lock no rows lock those of foreign keys all the same.
  transaction->LockRows();
  MakeLockKey(key, record);
  const CountedWait wait(*key.key);
  return transaction->Lock(transaction->database().system_family(), lock_key_, mode);
}

Status ForeignKeyChecks::HoldValues(Transaction* transaction, const uint8_t* old_record,
                                    const uint8_t* new_record) {
  if (keys_ == nullptr || !transaction->locks_rows()) return Status();
  const auto hold = [&](const BoundForeignKey& key, const uint8_t* record, const uint8_t* other,
                        LockMode mode) {
    if (key.columns.HasNull(record)) return Status();
    if (other != nullptr && !key.columns.BytesDiffer(old_record, new_record)) return Status();
    MakeLockKey(key, record);
    const CountedWait wait(*key.key);
    return transaction->LockUnchecked(lock_key_, mode);
  };
  for (const BoundForeignKey& key : keys_->as_child) {
    // A parent that is missing cannot go.
    if (new_record == nullptr || key.other == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(hold(key, new_record, old_record, LockMode::kShared));
  }
  for (const BoundForeignKey& key : keys_->as_parent) {
    if (old_record == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(hold(key, old_record, new_record, LockMode::kExclusive));
  }
  return Status();
}

void ForeignKeyChecks::ClaimHeldValues(Transaction* transaction) const {
  if (active_ || keys_ == nullptr) return;
  std::vector<uint32_t> numbers;
  for (const BoundForeignKey& key : keys_->as_child) numbers.push_back(key.key->number);
  for (const BoundForeignKey& key : keys_->as_parent) {
    // One to the table itself is among those of the child.
    if (key.key->record.child != key.key->record.parent) numbers.push_back(key.key->number);
  }
  transaction->ClaimForeignKeyValues(numbers);
}

// Whether the row of an entry that starts as those with the record's value do has that value.
Result<bool> ForeignKeyChecks::HasValue(Transaction* transaction, const BoundForeignKey& key,
                                        const uint8_t* record, std::string_view entry) {
  if (key.search->is_exact()) return true;
  const Table& table = *key.other;
  const TableIndex& primary = table.primary();
  CAIRN_RETURN_IF_ERROR(RowKeyOf(table, table.index(key.other_index), entry, &row_key_));
  rocksdb::PinnableSlice value;
  const Status read = transaction->Get(primary.family(), row_key_, view_, &value);
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  if (row_.table != key.other) {
    row_ = WholeRow();
    CAIRN_ASSIGN_OR_RETURN(row_.plan,
                           primary.codec->MakePlan(ColumnSet(table.layout().columns.size(), true),
                                                   IndexCodec::Checksums::kIgnore));
    row_.record.resize(table.layout().record_bytes);
    row_.table = key.other;
  }
  CAIRN_RETURN_IF_ERROR(
      primary.codec->Decode(*row_.plan, row_key_, value.ToStringView(), row_.record.data()));
  return HaveEqualValues(key.columns, record, key.other_columns, row_.record.data());
}

// Whether a row of the parent has the value; prefix_ is what its entry starts with. The row with
// the key `leaving`, if it is not empty, does not count.
Result<bool> ForeignKeyChecks::ParentExists(Transaction* transaction, const BoundForeignKey& key,
                                            const uint8_t* record, std::string_view leaving) {
  const TableIndex& index = key.other->index(key.other_index);
  if (key.search->is_whole_key()) {
    if (prefix_ == leaving) return false;
    rocksdb::PinnableSlice row;
    const Status read = transaction->Get(index.family(), prefix_, view_, &row);
    if (read.code() == StatusCode::kNotFound) return false;
    CAIRN_RETURN_IF_ERROR(read);
    return true;
  }
  OrderedIterator iterator(index.definition, transaction, view_, {prefix_, prefix_});
  for (iterator.SeekAtOrAfter(prefix_); iterator.Valid() && iterator.key().starts_with(prefix_);
       iterator.Next()) {
    if (!leaving.empty()) {
      CAIRN_RETURN_IF_ERROR(RowKeyOf(*key.other, index, iterator.key(), &row_key_));
      if (row_key_ == leaving) continue;
    }
    CAIRN_ASSIGN_OR_RETURN(const bool found, HasValue(transaction, key, record, iterator.key()));
    if (found) return true;
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  return false;
}

// Whether the parent with the value of prefix_ need not be looked for: it was found before, or the
// transaction has written it, and so has its row locked.
Result<bool> ForeignKeyChecks::IsKnown(Transaction* transaction, const BoundForeignKey& key) {
  if (transaction->found_parents().Has(key.key->number, prefix_, keys_->generation)) return true;
  const TableIndex& index = key.other->index(key.other_index);
  if (!key.search->is_whole_key() ||
      !transaction->found_parents().HasWritten(index.layout().index_number)) {
    return false;
  }
  CAIRN_ASSIGN_OR_RETURN(const bool has_put, transaction->HasPut(index.family(), prefix_));
  // The next child of it is likely to come soon: the lines of one order.
  if (has_put) transaction->found_parents().Add(key.key->number, prefix_, keys_->generation);
  return has_put;
}

// One that somebody has not committed yet is not seen: he is waited for, where he has a lock that
// says so.
Result<bool> ForeignKeyChecks::FindParent(Transaction* transaction, const BoundForeignKey& key,
                                          const uint8_t* record, std::string_view leaving) {
  if (key.other == nullptr || !key.search->EncodePrefix(record, &prefix_)) return false;
  CAIRN_ASSIGN_OR_RETURN(const bool is_there, ParentExists(transaction, key, record, leaving));
  if (is_there || !key.search->is_unique_value()) return is_there;
  const ColumnFamily& family = key.other->index(key.other_index).family();
  const CountedWait wait(*key.key);
  const Status locked = transaction->Lock(family, prefix_, LockMode::kShared);
  if (!HasWaited(locked)) return locked;
  CAIRN_ASSIGN_OR_RETURN(const bool has_come, ParentExists(transaction, key, record, leaving));
  if (locked.ok()) transaction->TakeBackLock(family, prefix_);
  return has_come;
}

// Makes the keys anew if a definition that one of them names has changed. False: none has.
Result<bool> ForeignKeyChecks::Rebind() {
  if (known_ == nullptr || known_->generation() == keys_->generation) return false;
  CAIRN_ASSIGN_OR_RETURN(Keys keys, rebind_());
  Bind(std::move(keys));
  return true;
}

// The lock on the value keeps a parent that is there. It is looked for in an index that was the
// parent's when the lock was there: in one that was dropped before, a parent that is gone might
// still be found. If it is dropped meanwhile, a parent that is there may not be found. False: there
// are other keys now, by which everything is to be looked at again.
Result<bool> ForeignKeyChecks::CheckParent(Transaction* transaction, const BoundForeignKey& key,
                                           const uint8_t* record, std::string_view leaving) {
  const bool may_be_known = leaving.empty() && key.other != nullptr && key.search->is_exact() &&
                            known_ != nullptr && known_->generation() == keys_->generation;
  ForeignKeyCounters& counters = *key.key->counters;
  ForeignKeyCounters::Count(&counters.parent_checks);
  if (may_be_known && key.search->EncodePrefix(record, &prefix_)) {
    CAIRN_ASSIGN_OR_RETURN(const bool is_known, IsKnown(transaction, key));
    if (is_known) return true;
  }
  ForeignKeyCounters::Count(&counters.parent_lookups);
  CAIRN_RETURN_IF_ERROR(LockValue(transaction, key, record, LockMode::kShared));
  CAIRN_ASSIGN_OR_RETURN(const bool was_old, Rebind());
  if (was_old) return false;
  CAIRN_ASSIGN_OR_RETURN(const bool found, FindParent(transaction, key, record, leaving));
  if (found) {
    if (may_be_known) {
      transaction->found_parents().Add(key.key->number, prefix_, keys_->generation);
    }
    return true;
  }
  CAIRN_ASSIGN_OR_RETURN(const bool is_old, Rebind());
  if (is_old) return false;
  return Refuse(StatusCode::kNoReferencedRow, key, record);
}

Result<bool> ForeignKeyChecks::HasParent(Transaction* transaction, const BoundForeignKey& key,
                                         const uint8_t* record) {
  if (key.columns.HasNull(record)) return true;
  if (key.other == nullptr || !key.search->EncodePrefix(record, &prefix_)) return false;
  return ParentExists(transaction, key, record, /*leaving=*/{});
}

bool ForeignKeyChecks::UsesIndex(uint32_t index) const {
  if (!unbound_.ok()) return true;
  return std::any_of(keys_->as_child.begin(), keys_->as_child.end(),
                     [index](const BoundForeignKey& key) { return key.index == index; });
}

Status ForeignKeyChecks::CheckParents(Transaction* transaction, uint32_t index,
                                      const uint8_t* record, const Replaced& replaced) {
  CAIRN_RETURN_IF_ERROR(unbound_);
  bool settled;
  do {
    settled = true;
    const Keys keys = keys_;
    for (const BoundForeignKey& key : keys->as_child) {
      if (key.index != index || key.key->number == excepted_) continue;
      if (key.columns.HasNull(record)) continue;
      // An action changes what its own foreign key says; that the entry moves is no reason to look.
      const bool stays = replaced.has_same_entry || (excepted_ != 0 && replaced.record != nullptr);
      if (stays && !key.columns.BytesDiffer(replaced.record, record)) continue;
      std::string_view leaving;
      if (key.other != nullptr && key.key->record.parent == key.key->record.child) {
        if (HaveEqualValues(key.columns, record, key.other_columns, record)) continue;
        if (IsOwnParent(key, replaced.record) &&
            !key.columns.BytesDiffer(replaced.record, record)) {
          continue;  // A child whose parent goes: what follows in children says so.
        }
        leaving = replaced.key;  // As it was, the row is nobody's parent any more.
      }
      CAIRN_ASSIGN_OR_RETURN(settled, CheckParent(transaction, key, record, leaving));
      if (!settled) break;
    }
  } while (!settled);
  return Status();
}

// Whether the child whose entry was found is there for good. Whoever deletes it, or gives it
// another value, has locked the row: he is waited for. Nobody gives a row this value while it is
// locked.
Result<bool> ForeignKeyChecks::ChildStays(Transaction* transaction, const BoundForeignKey& key,
                                          std::string_view entry) {
  const Table& child = *key.other;
  const TableIndex& index = child.index(key.other_index);
  CAIRN_RETURN_IF_ERROR(RowKeyOf(child, index, entry, &row_key_));
  const ColumnFamily& rows = child.primary().family();
  const CountedWait wait(*key.key);
  const Status locked = transaction->Lock(rows, row_key_, LockMode::kShared);
  if (!HasWaited(locked)) return locked;
  rocksdb::PinnableSlice value;
  const Status read = transaction->Get(index.family(), entry, kForeignKeyView, &value);
  if (locked.ok()) transaction->TakeBackLock(rows, row_key_);
  if (read.code() == StatusCode::kNotFound) return false;
  CAIRN_RETURN_IF_ERROR(read);
  return true;
}

// Whether a row of the child has the value. `*changed`: somebody was waited for and has changed an
// entry that was found, and may have put others where this walk has been.
Result<bool> ForeignKeyChecks::FindChild(Transaction* transaction, const BoundForeignKey& key,
                                         const uint8_t* record, bool* changed) {
  const Table& child = *key.other;
  OrderedIterator iterator(child.index(key.other_index).definition, transaction, kForeignKeyView,
                           {prefix_, prefix_});
  for (iterator.SeekAtOrAfter(prefix_); iterator.Valid() && iterator.key().starts_with(prefix_);
       iterator.Next()) {
    if (transaction->HidesExpired(iterator.value(), child.ttl_seconds(), kForeignKeyView)) continue;
    entry_.assign(iterator.key());
    CAIRN_ASSIGN_OR_RETURN(const bool found, HasValue(transaction, key, record, entry_));
    if (!found) continue;
    CAIRN_ASSIGN_OR_RETURN(const bool stays, ChildStays(transaction, key, entry_));
    // Other values may have the same entry.
    CAIRN_ASSIGN_OR_RETURN(const bool kept,
                           stays ? HasValue(transaction, key, record, entry_) : false);
    if (kept) return true;
    *changed = true;
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  return false;
}

Status ForeignKeyChecks::RequireOther(const BoundForeignKey& key) {
  if (key.other != nullptr) return Status();
  return Status(StatusCode::kMetadataMismatch, "table " + key.key->record.child +
                                                   ", which references " + key.key->record.parent +
                                                   " by foreign key " + key.key->record.name +
                                                   ", cannot be opened or does not fit it");
}

Status ForeignKeyChecks::CheckChildrenBy(Transaction* transaction, const BoundForeignKey& key,
                                         const uint8_t* record) {
  CAIRN_RETURN_IF_ERROR(LockParentValue(transaction, key, record));
  CAIRN_RETURN_IF_ERROR(RequireOther(key));
  ForeignKeyCounters::Count(&key.key->counters->child_lookups);
  if (!key.search->EncodePrefix(record, &prefix_)) return Status();
  bool changed;
  do {
    changed = false;
    CAIRN_ASSIGN_OR_RETURN(const bool found, FindChild(transaction, key, record, &changed));
    if (!found) continue;
    return Refuse(StatusCode::kRowIsReferenced, key, record);
  } while (changed);
  return Status();
}

Status ForeignKeyChecks::CheckChildren(Transaction* transaction, const uint8_t* record,
                                       const uint8_t* new_record) {
  CAIRN_RETURN_IF_ERROR(unbound_);
  for (const BoundForeignKey& key : keys_->as_parent) {
    if (key.columns.HasNull(record)) continue;
    if (new_record != nullptr && !key.columns.BytesDiffer(record, new_record)) continue;
    CAIRN_RETURN_IF_ERROR(CheckChildrenBy(transaction, key, record));
  }
  return Status();
}

Result<Orphans> FindOrphans(Transaction* transaction, const Table& child,
                            const BoundForeignKey& key, uint8_t* record) {
  Orphans orphans;
  transaction->EnsureSnapshot();
  CAIRN_RETURN_IF_ERROR(key.other->CheckDefinition(*transaction, key.other_index));
  const TableIndex& primary = child.primary();
  CAIRN_ASSIGN_OR_RETURN(const auto plan,
                         primary.codec->MakePlan(ColumnSet(child.layout().columns.size(), true),
                                                 IndexCodec::Checksums::kIgnore));
  constexpr auto kView = Transaction::View::kSnapshot;
  ForeignKeyChecks checks;
  checks.ReadAt(kView);
  OrderedIterator rows(primary.definition, transaction, kView);
  for (rows.SeekToFirst(); rows.Valid(); rows.Next()) {
    if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
    if (transaction->HidesExpired(rows.value(), child.ttl_seconds(), kView)) continue;
    CAIRN_RETURN_IF_ERROR(primary.codec->Decode(*plan, rows.key(), rows.value(), record));
    CAIRN_ASSIGN_OR_RETURN(const bool has_parent, checks.HasParent(transaction, key, record));
    if (has_parent) continue;
    if (orphans.count++ == 0) orphans.first.assign(record, record + child.layout().record_bytes);
  }
  CAIRN_RETURN_IF_ERROR(rows.status());
  return orphans;
}

Result<bool> HasOrphan(Database* database, const Table& child, const BoundForeignKey& key,
                       uint8_t* record) {
  const IndexCodec& codec = *child.primary().codec;
  CAIRN_ASSIGN_OR_RETURN(const auto plan,
                         codec.MakePlan(ColumnSet(child.layout().columns.size(), true),
                                        IndexCodec::Checksums::kIgnore));
  Transaction reader(database);
  reader.Start(TransactionSettings());
  ForeignKeyChecks checks;
  RowScan rows(database, &child);
  const Status scanned = rows.Run([&](std::string_view primary_key, std::string_view row) {
    if (rows.HidesExpired(row)) return Status();
    CAIRN_RETURN_IF_ERROR(codec.Decode(*plan, primary_key, row, record));
    CAIRN_ASSIGN_OR_RETURN(const bool has_parent, checks.HasParent(&reader, key, record));
    return has_parent ? Status() : Status(StatusCode::kNoReferencedRow);
  });
  CAIRN_RETURN_IF_ERROR(reader.Rollback());
  if (scanned.code() == StatusCode::kNoReferencedRow) return true;
  CAIRN_RETURN_IF_ERROR(scanned);
  return false;
}

}  // namespace cairn
