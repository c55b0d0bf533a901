#include "engine/table/table_writer.h"

#include <cstring>
#include <utility>

#include "engine/table/foreign_key_actions.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/sorted_indexes.h"

namespace cairn {

TableWriter::TableWriter(Database* database, const Table* table)
    : database_(database), table_(table), delta_(table), snapshot_entries_(table) {}

TableWriter::~TableWriter() = default;

void TableWriter::OwnActions(std::unique_ptr<ForeignKeyActions> actions) {
  own_actions_ = std::move(actions);
  actions_ = own_actions_.get();
}

uint64_t TableWriter::StampOfColumn(const uint8_t* record) const {
  const TableLayout& layout = table_->layout();
  uint64_t stamp;
  std::memcpy(&stamp, record + layout.columns[*layout.ttl_column].offset, sizeof stamp);
  return stamp;  // The image is little-endian, as the machine is (bytes.h).
}

uint64_t TableWriter::StampOfNewRow(const uint8_t* record) const {
  if (!table_->primary().layout().has_ttl_stamp) return 0;
  return table_->layout().ttl_column.has_value() ? StampOfColumn(record) : database_->NowSeconds();
}

// Without a column that holds it, only the stored row knows when it was inserted.
Result<uint64_t> TableWriter::StampOfOldRow(Transaction* transaction, const uint8_t* record,
                                            uint64_t hidden_key) {
  const TableIndex& primary = table_->primary();
  if (!primary.layout().has_ttl_stamp) return uint64_t{0};
  if (table_->layout().ttl_column.has_value()) return StampOfColumn(record);
  primary.codec->EncodeKey(record, hidden_key, &old_entry_.key, &old_entry_.unpack_info);
  rocksdb::PinnableSlice value;
  Status read =
      transaction->Get(primary.family(), old_entry_.key, Transaction::View::kLatest, &value);
  // A compaction may have removed an expired row that a session still sees, with read filtering
  // off. What the session makes of it has expired as well.
  if (read.code() == StatusCode::kNotFound) return uint64_t{0};
  if (!read.ok()) return read;
  return primary.codec->TtlStamp(value.ToStringView());
}

void TableWriter::EncodeRow(const uint8_t* record, uint64_t hidden_key, uint64_t ttl_stamp,
                            Entry* entry) {
  const IndexCodec& codec = *table_->primary().codec;
  codec.EncodeKey(record, hidden_key, &entry->key, &entry->unpack_info);
  codec.EncodeRow(record, entry->unpack_info, ttl_stamp, &entry->value);
  if (append_checksums_) IndexCodec::AppendChecksums(entry->key, &entry->value);
}

void TableWriter::EncodeSecondary(const TableIndex& index, const uint8_t* record,
                                  uint64_t hidden_key, uint64_t ttl_stamp, Entry* entry) {
  index.codec->EncodeKey(record, hidden_key, &entry->key, &entry->unpack_info);
  index.codec->EncodeSecondaryValue(entry->unpack_info, ttl_stamp, &entry->value);
  if (append_checksums_) IndexCodec::AppendChecksums(entry->key, &entry->value);
}

Status TableWriter::CheckPrimaryKey(Transaction* transaction, std::string_view key) {
  expired_.is_met = false;
  if (unique_checks_ == UniqueChecks::kTrusted) {
    return transaction->Lock(table_->primary().family(), key, LockMode::kExclusive);
  }
  const ColumnFamily& family = table_->primary().family();
  rocksdb::PinnableSlice existing;
  // Asked before as well, since nobody takes back what he has said.
  const bool looks_new = handed_out_key_ != 0 && KeyIsNew();
  Status read =
      transaction->GetForUpdate(family, key, LockMode::kExclusive, looks_new ? nullptr : &existing);
  if (looks_new && read.ok()) {
    if (KeyIsNew()) return Status();
    read = transaction->Get(family, key, Transaction::View::kLatest, &existing);
  }
  if (read.code() == StatusCode::kNotFound) return Status();
  if (!read.ok()) return read;
  if (transaction->HidesExpired(existing.ToStringView(), table_->ttl_seconds(),
                                Transaction::View::kLatest)) {
    expired_.is_met = true;
    expired_.value.assign(existing.data(), existing.size());
    return Status();
  }
  duplicate_index_ = table_->primary_position();
  duplicate_key_.assign(key);
  return Status(StatusCode::kDuplicateKey);
}

// Final with the key locked: whoever has given it to a row himself has said so before he locked it.
bool TableWriter::KeyIsNew() const {
  const TableCounters& counters = *table_->definition().counters;
  return counters.largest_given_value.load(std::memory_order_acquire) < handed_out_key_;
}

// Removes the entries of the expired row that CheckPrimaryKey found at `key`, so that none of them
// is put twice: SingleDelete, which removes them later, would uncover the older one. The row itself
// is overwritten. A compaction may have removed some of the entries already, which does no harm.
Status TableWriter::RemoveExpiredRow(Transaction* transaction, std::string_view key) {
  transaction->NoteRowCount(table_->definition(), -1);
  const TableIndex& primary = table_->primary();
  if (expired_.plan == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(expired_.plan,
                           primary.codec->MakePlan(ColumnSet(table_->layout().columns.size(), true),
                                                   IndexCodec::Checksums::kIgnore));
    expired_.record.resize(table_->layout().record_bytes);
  }
  CAIRN_RETURN_IF_ERROR(
      primary.codec->Decode(*expired_.plan, key, expired_.value, expired_.record.data()));
  for (const TableIndex& index : table_->indexes()) {
    // The stored row does not tell the value of a virtual column.
    if (index.layout().kind != IndexKind::kSecondary || index.has_virtual_part) continue;
    index.codec->EncodeKey(expired_.record.data(), 0, &old_entry_.key, &old_entry_.unpack_info);
    CAIRN_RETURN_IF_ERROR(transaction->SingleDelete(index.family(), old_entry_.key));
  }
  if (!table_->builds().empty()) [[unlikely]] {
    CAIRN_RETURN_IF_ERROR(delta_.Delete(transaction, expired_.record.data(), /*hidden_key=*/0));
  }
  if (!table_->all_columns_in_primary_key()) return Status();
  return transaction->SingleDelete(primary.family(), key);
}

// Locks where entries come that were not there, so that nobody has looked there (range locks).
// `old_record`: of the row that this one replaces; null: none.
Status TableWriter::LockNewEntries(Transaction* transaction, const uint8_t* record,
                                   const uint8_t* old_record, uint64_t hidden_key) {
  if (!transaction->LocksEntries() || table_is_new_) return Status();
  if (table_->has_hidden_key() && old_record == nullptr) {
    CAIRN_RETURN_IF_ERROR(
        transaction->Lock(table_->primary().family(), new_entry_.key, LockMode::kExclusive));
  }
  for (const TableIndex& index : table_->indexes()) {
    if (index.layout().kind != IndexKind::kSecondary) continue;
    if (old_record != nullptr && !index.codec->MayDiffer(old_record, record)) continue;
    index.codec->EncodeKey(record, hidden_key, &locked_entry_.key, &locked_entry_.unpack_info);
    if (old_record != nullptr) {
      index.codec->EncodeKey(old_record, hidden_key, &replaced_key_, &locked_entry_.unpack_info);
      if (locked_entry_.key == replaced_key_) continue;
    }
    CAIRN_RETURN_IF_ERROR(
        transaction->Lock(index.family(), locked_entry_.key, LockMode::kExclusive));
  }
  return Status();
}

// Locks the row's value in a unique index and checks that no other row has it. With `old_record`
// the row replaces that one: its entry does not count, and its value is locked as well, so that
// nobody takes it before this transaction ends.
Status TableWriter::CheckUnique(Transaction* transaction, uint32_t position, const uint8_t* record,
                                const uint8_t* old_record, uint64_t hidden_key) {
  const TableIndex& index = table_->index(position);
  const IndexCodec& codec = *index.codec;
  if (old_record != nullptr && !codec.MayDiffer(old_record, record)) return Status();
  const bool may_collide = codec.EncodeUniquePrefix(record, &unique_prefix_);
  const bool exact = codec.UniquePrefixIsExact();
  if (old_record != nullptr && codec.EncodeUniquePrefix(old_record, &old_unique_prefix_)) {
    if (may_collide && exact && unique_prefix_ == old_unique_prefix_) return Status();
    CAIRN_RETURN_IF_ERROR(
        transaction->Lock(index.family(), old_unique_prefix_, LockMode::kExclusive));
  }
  if (!may_collide) return Status();
  old_unique_key_.clear();
  if (old_record != nullptr && !exact) {
    codec.EncodeKey(old_record, hidden_key, &old_unique_key_, &old_entry_.unpack_info);
  }
  while (true) {
    CAIRN_RETURN_IF_ERROR(transaction->Lock(index.family(), unique_prefix_, LockMode::kExclusive));
    Status found = FindDuplicate(transaction, index, record);
    if (found.code() != StatusCode::kDuplicateKey) return found;
    CAIRN_ASSIGN_OR_RETURN(const bool stays, DuplicateStays(transaction, index));
    if (!stays) continue;
    duplicate_index_ = position;
    return found;
  }
}

// Looks for another row with the value of unique_prefix_; notes its key. Errors: kDuplicateKey when
// there is one.
Status TableWriter::FindDuplicate(Transaction* transaction, const TableIndex& index,
                                  const uint8_t* record) {
  const IndexCodec& codec = *index.codec;
  const bool exact = codec.UniquePrefixIsExact();
  // What is committed now counts, not what the snapshot shows.
  constexpr auto kView = Transaction::View::kLatest;
  OrderedIterator iterator =
      asks_prefix_filters_
          ? OrderedIterator(index.definition, transaction, kView, {unique_prefix_, unique_prefix_})
          : OrderedIterator(index.definition, transaction, kView);
  for (iterator.SeekAtOrAfter(unique_prefix_);
       iterator.Valid() && iterator.key().starts_with(unique_prefix_); iterator.Next()) {
    if (!exact) {  // With a BLOB part, entries that start alike are only candidates.
      if (iterator.key() == old_unique_key_) continue;
      CAIRN_ASSIGN_OR_RETURN(const bool equal, codec.HasUniqueValueOf(record, iterator.key()));
      if (!equal) continue;
    }
    if (transaction->HidesExpired(iterator.value(), table_->ttl_seconds(),
                                  Transaction::View::kLatest)) {
      continue;
    }
    duplicate_entry_.assign(iterator.key());
    return Status(StatusCode::kDuplicateKey);
  }
  return iterator.status();
}

// Whether the row that was found is there for good. Whoever deletes it, or gives it another value,
// has locked it: that transaction is waited for, without the lock on the value, which it may ask
// for to put the value back. If the row is to be changed, it stays locked.
Result<bool> TableWriter::DuplicateStays(Transaction* transaction, const TableIndex& index) {
  const ColumnFamily& rows = table_->primary().family();
  if (&index == &table_->primary()) {
    duplicate_key_ = duplicate_entry_;
  } else {
    CAIRN_RETURN_IF_ERROR(index.codec->ExtractPrimaryKey(duplicate_entry_, &duplicate_key_));
  }
  const LockMode mode = changes_duplicates_ ? LockMode::kExclusive : LockMode::kShared;
  Status locked = transaction->Lock(rows, duplicate_key_, mode, LockWait::kRefuse);
  const bool in_use = locked.code() == StatusCode::kLockTimeout;
  if (in_use) {
    transaction->TakeBackLock(index.family(), unique_prefix_);
    locked = transaction->Lock(rows, duplicate_key_, mode);
  }
  // That the row is newer than the transaction's snapshot does not matter, unless it is there and
  // to be changed.
  if (!locked.ok() && locked.code() != StatusCode::kSnapshotConflict) return locked;
  Status read(StatusCode::kNotFound);
  if (!in_use) {
    rocksdb::PinnableSlice value;
    read = transaction->Get(index.family(), duplicate_entry_, Transaction::View::kLatest, &value);
    if (!read.ok() && read.code() != StatusCode::kNotFound) return read;
  }
  if (read.ok() && changes_duplicates_ && !locked.ok()) return locked;
  // With range locks it stays as it is, as the statement has seen that it is there.
  const bool keeps_lock = transaction->LocksRanges() || (read.ok() && changes_duplicates_);
  if (locked.ok() && !keeps_lock) transaction->Unlock(rows, duplicate_key_);
  return read.ok();
}

// Looks for the parents that foreign keys want by an index.
Status TableWriter::CheckReferences(Transaction* transaction, uint32_t position,
                                    const uint8_t* record, const uint8_t* old_record,
                                    uint64_t hidden_key) {
  if (!foreign_keys_.UsesIndex(position)) return Status();
  ForeignKeyChecks::Replaced replaced;
  if (old_record != nullptr) {
    const IndexCodec& codec = *table_->index(position).codec;
    codec.EncodeKey(record, hidden_key, &locked_entry_.key, &locked_entry_.unpack_info);
    codec.EncodeKey(old_record, hidden_key, &replaced_key_, &locked_entry_.unpack_info);
    replaced = {old_record, old_entry_.key, locked_entry_.key == replaced_key_};
  }
  return foreign_keys_.CheckParents(transaction, position, record, replaced);
}

// What the indexes ask for, one after the other: the parents of foreign keys, then unique values.
// A primary key whose whole key says what is unique has been looked at.
Status TableWriter::CheckIndexes(Transaction* transaction, const uint8_t* record,
                                 const uint8_t* old_record, uint64_t hidden_key) {
  const bool checks_unique =
      table_->has_unique_values() && unique_checks_ != UniqueChecks::kTrusted;
  const bool references = foreign_keys_.active();
  if (!checks_unique && !references) return Status();
  for (uint32_t i = 0; i < table_->indexes().size(); ++i) {
    const IndexLayout& layout = table_->index(i).layout();
    if (references && i != table_->primary_position()) {
      CAIRN_RETURN_IF_ERROR(CheckReferences(transaction, i, record, old_record, hidden_key));
    }
    if (checks_unique &&
        (layout.kind == IndexKind::kSecondary ? layout.unique
                                              : table_->primary().search_keys_end_early)) {
      CAIRN_RETURN_IF_ERROR(CheckUnique(transaction, i, record, old_record, hidden_key));
    }
  }
  return Status();
}

// Puts the new entry where a row may be already.
Status TableWriter::InsertUnchecked(Transaction* transaction) {
  const ColumnFamily& family = table_->primary().family();
  if (table_->has_hidden_key()) return transaction->Put(family, new_entry_.key, new_entry_.value);
  if (!table_->all_columns_in_primary_key()) {
    CAIRN_RETURN_IF_ERROR(transaction->Lock(family, new_entry_.key, LockMode::kExclusive));
    return transaction->Put(family, new_entry_.key, new_entry_.value);
  }
  // Such an entry must not be put twice, because one SingleDelete removes it; and the row that is
  // there is the same.
  rocksdb::PinnableSlice existing;
  Status read = transaction->GetForUpdate(family, new_entry_.key, LockMode::kExclusive, &existing);
  if (read.code() != StatusCode::kNotFound) return read;
  return transaction->Put(family, new_entry_.key, new_entry_.value);
}

Status TableWriter::Insert(Transaction* transaction, const uint8_t* record) {
  uint64_t hidden_key = 0;
  if (table_->has_hidden_key()) {
    CAIRN_ASSIGN_OR_RETURN(hidden_key, table_->NextHiddenKey(database_));
  }
  if (!table_->MayBypassWriter()) [[unlikely]]
    transaction->LockRows();
  const uint64_t ttl_stamp = StampOfNewRow(record);
  EncodeRow(record, hidden_key, ttl_stamp, &new_entry_);
  expired_.is_met = false;
  if (foreign_keys_.is_bound() && !foreign_keys_.active()) [[unlikely]] {
    CAIRN_RETURN_IF_ERROR(foreign_keys_.HoldValues(transaction, nullptr, record));
  }
  if (unique_checks_ == UniqueChecks::kOverwrite && table_->indexes().size() == 1 &&
      !foreign_keys_.active()) {
    CAIRN_RETURN_IF_ERROR(LockNewEntries(transaction, record, nullptr, hidden_key));
    CAIRN_RETURN_IF_ERROR(InsertUnchecked(transaction));
    transaction->NoteRowCount(table_->definition(), 1);
    return Status();
  }
  if (!table_->has_hidden_key()) {
    if (foreign_keys_.is_bound()) [[unlikely]] {
      CAIRN_RETURN_IF_ERROR(
          CheckForeignKeys(transaction, /*old_record=*/nullptr, record, hidden_key));
    }
    CAIRN_RETURN_IF_ERROR(CheckPrimaryKey(transaction, new_entry_.key));
  }
  CAIRN_RETURN_IF_ERROR(CheckIndexes(transaction, record, nullptr, hidden_key));
  CAIRN_RETURN_IF_ERROR(LockNewEntries(transaction, record, nullptr, hidden_key));

  if (expired_.is_met) {
    CAIRN_RETURN_IF_ERROR(RemoveExpiredRow(transaction, new_entry_.key));
  }
  if (!table_->has_hidden_key() && snapshot_entries_.MayDiffer(*transaction)) [[unlikely]] {
    CAIRN_RETURN_IF_ERROR(snapshot_entries_.Remove(transaction, new_entry_.key, nullptr).status());
  }
  CAIRN_RETURN_IF_ERROR(
      transaction->Put(table_->primary().family(), new_entry_.key, new_entry_.value));
  for (const TableIndex& index : table_->indexes()) {
    if (index.layout().kind != IndexKind::kSecondary) continue;
    EncodeSecondary(index, record, hidden_key, ttl_stamp, &new_entry_);
    CAIRN_RETURN_IF_ERROR(transaction->Put(index.family(), new_entry_.key, new_entry_.value));
  }
  if (!table_->builds().empty()) [[unlikely]] {
    CAIRN_RETURN_IF_ERROR(delta_.Insert(transaction, {record, hidden_key, ttl_stamp}));
  }
  transaction->NoteRowCount(table_->definition(), 1);
  return Status();
}

Status TableWriter::Load(BulkLoad* load, const uint8_t* record) {
  if (!table_->MayBypassWriter()) {
    return Status(StatusCode::kInternal, "a load into a table whose rows are looked at");
  }
  const uint64_t ttl_stamp = StampOfNewRow(record);
  const std::unique_lock entered = load->Enter();
  if (!entered.owns_lock()) return Status(StatusCode::kShutdown);
  EncodeRow(record, /*hidden_key=*/0, ttl_stamp, &new_entry_);
  CAIRN_RETURN_IF_ERROR(load->Add(table_->primary_position(), new_entry_.key, new_entry_.value));
  for (uint32_t i = 0; i < table_->indexes().size(); ++i) {
    if (i == table_->primary_position()) continue;
    EncodeSecondary(table_->index(i), record, /*hidden_key=*/0, ttl_stamp, &new_entry_);
    CAIRN_RETURN_IF_ERROR(load->Add(i, new_entry_.key, new_entry_.value));
  }
  return Status();
}

Status TableWriter::Sort(SortedIndexes* indexes, const uint8_t* record) {
  uint64_t hidden_key = 0;
  if (table_->has_hidden_key()) {
    CAIRN_ASSIGN_OR_RETURN(hidden_key, table_->NextHiddenKey(database_));
  }
  indexes->AppendChecksums(append_checksums_);
  Status added = indexes->Add(record, hidden_key, StampOfNewRow(record));
  if (added.code() == StatusCode::kDuplicateKey) duplicate_index_ = indexes->duplicate()->position;
  return added;
}

// Writes a row and lets what foreign keys want follow. If either fails, neither has happened.
template <typename Write>
Status TableWriter::WriteWithActions(Transaction* transaction, Write write,
                                     const uint8_t* old_record, const uint8_t* new_record) {
  if (actions_ == nullptr) {
    return Status(StatusCode::kInternal, "a row whose children are not at hand");
  }
  const auto write_all = [&] {
    CAIRN_RETURN_IF_ERROR(write());
    return actions_->Follow(transaction, &foreign_keys_, *table_, old_record, new_record);
  };
  if (actions_->depth() > 0) return write_all();
  const Savepoint before = transaction->SetSavepoint();
  Status written = write_all();
  if (!written.ok() && written.code() != StatusCode::kUnchanged) {
    CAIRN_RETURN_IF_ERROR(transaction->RollbackToSavepoint(before));
  }
  transaction->ReleaseSavepoint(before, Savepoints::Later::kRelease);
  return written;
}

Status TableWriter::Update(Transaction* transaction, const uint8_t* old_record,
                           const uint8_t* new_record, uint64_t hidden_key) {
  if (!foreign_keys_.has_actions(/*deletes=*/false)) [[likely]]
    return UpdateRow(transaction, old_record, new_record, hidden_key);
  return WriteWithActions(
      transaction, [&] { return UpdateRow(transaction, old_record, new_record, hidden_key); },
      old_record, new_record);
}

// What a row that is inserted (`old_record` null) or changed asks for before any index does.
Status TableWriter::CheckForeignKeys(Transaction* transaction, const uint8_t* old_record,
                                     const uint8_t* new_record, uint64_t hidden_key) {
  foreign_keys_.NoteWrite(transaction, table_->primary(), old_record, new_record);
  if (!foreign_keys_.active()) {
    if (old_record == nullptr) return Status();  // Insert() has held what is wanted.
    return foreign_keys_.HoldValues(transaction, old_record, new_record);
  }
  if (old_record != nullptr && !foreign_keys_.has_actions(/*deletes=*/false)) {
    CAIRN_RETURN_IF_ERROR(foreign_keys_.CheckChildren(transaction, old_record, new_record));
  }
  return CheckReferences(transaction, table_->primary_position(), new_record, old_record,
                         hidden_key);
}

Status TableWriter::UpdateRow(Transaction* transaction, const uint8_t* old_record,
                              const uint8_t* new_record, uint64_t hidden_key) {
  CAIRN_ASSIGN_OR_RETURN(const uint64_t old_stamp,
                         StampOfOldRow(transaction, old_record, hidden_key));
  const bool takes_new_stamp = updates_replace_rows_ || table_->layout().ttl_column.has_value();
  const uint64_t new_stamp = takes_new_stamp ? StampOfNewRow(new_record) : old_stamp;
  EncodeRow(old_record, hidden_key, old_stamp, &old_entry_);
  EncodeRow(new_record, hidden_key, new_stamp, &new_entry_);
  expired_.is_met = false;
  const bool key_changes = old_entry_.key != new_entry_.key;
  if (!key_changes && old_entry_.value == new_entry_.value) return Status(StatusCode::kUnchanged);
  if (foreign_keys_.is_bound()) [[unlikely]] {
    CAIRN_RETURN_IF_ERROR(CheckForeignKeys(transaction, old_record, new_record, hidden_key));
  }
  if (key_changes) CAIRN_RETURN_IF_ERROR(CheckPrimaryKey(transaction, new_entry_.key));
  CAIRN_RETURN_IF_ERROR(CheckIndexes(transaction, new_record, old_record, hidden_key));
  CAIRN_RETURN_IF_ERROR(LockNewEntries(transaction, new_record, old_record, hidden_key));
  if (expired_.is_met) {
    CAIRN_RETURN_IF_ERROR(RemoveExpiredRow(transaction, new_entry_.key));
    EncodeRow(old_record, hidden_key, old_stamp, &old_entry_);
  }
  bool puts_all = false;
  if (snapshot_entries_.MayDiffer(*transaction)) [[unlikely]] {
    CAIRN_ASSIGN_OR_RETURN(puts_all,
                           snapshot_entries_.Remove(transaction, old_entry_.key, old_record));
    if (key_changes) {
      CAIRN_RETURN_IF_ERROR(
          snapshot_entries_.Remove(transaction, new_entry_.key, nullptr).status());
    }
  }

  const ColumnFamily& primary_family = table_->primary().family();
  if (table_->all_columns_in_primary_key()) {
    // Entries are put once and removed by SingleDelete; a Put over the old one would break that.
    if (key_changes || old_entry_.value != new_entry_.value) {
      CAIRN_RETURN_IF_ERROR(transaction->SingleDelete(primary_family, old_entry_.key));
      CAIRN_RETURN_IF_ERROR(transaction->Put(primary_family, new_entry_.key, new_entry_.value));
    }
  } else {
    if (key_changes) CAIRN_RETURN_IF_ERROR(transaction->Delete(primary_family, old_entry_.key));
    CAIRN_RETURN_IF_ERROR(transaction->Put(primary_family, new_entry_.key, new_entry_.value));
  }
  const bool writes_all = puts_all || old_stamp != new_stamp;
  for (const TableIndex& index : table_->indexes()) {
    if (index.layout().kind != IndexKind::kSecondary) continue;
    if (!writes_all && !index.codec->MayDiffer(old_record, new_record)) continue;
    EncodeSecondary(index, old_record, hidden_key, old_stamp, &old_entry_);
    EncodeSecondary(index, new_record, hidden_key, new_stamp, &new_entry_);
    const bool stays = old_entry_.key == new_entry_.key && old_entry_.value == new_entry_.value;
    if (stays && !puts_all) continue;
    CAIRN_RETURN_IF_ERROR(transaction->SingleDelete(index.family(), old_entry_.key));
    CAIRN_RETURN_IF_ERROR(transaction->Put(index.family(), new_entry_.key, new_entry_.value));
  }
  if (table_->builds().empty()) [[likely]]
    return Status();
  return delta_.Update(transaction, {old_record, hidden_key, old_stamp},
                       {new_record, hidden_key, new_stamp});
}

Status TableWriter::Delete(Transaction* transaction, const uint8_t* record, uint64_t hidden_key) {
  if (!foreign_keys_.is_bound()) [[likely]]
    return DeleteRow(transaction, record, hidden_key);
  foreign_keys_.NoteWrite(transaction, table_->primary(), record, nullptr);
  if (foreign_keys_.active()) {
    if (foreign_keys_.has_actions(/*deletes=*/true)) {
      return WriteWithActions(
          transaction, [&] { return DeleteRow(transaction, record, hidden_key); }, record, nullptr);
    }
    CAIRN_RETURN_IF_ERROR(foreign_keys_.CheckChildren(transaction, record, nullptr));
  } else {
    CAIRN_RETURN_IF_ERROR(foreign_keys_.HoldValues(transaction, record, nullptr));
  }
  return DeleteRow(transaction, record, hidden_key);
}

Status TableWriter::DeleteRow(Transaction* transaction, const uint8_t* record,
                              uint64_t hidden_key) {
  const TableIndex& primary = table_->primary();
  primary.codec->EncodeKey(record, hidden_key, &old_entry_.key, &old_entry_.unpack_info);
  if (snapshot_entries_.MayDiffer(*transaction)) [[unlikely]] {
    CAIRN_RETURN_IF_ERROR(snapshot_entries_.Remove(transaction, old_entry_.key, record).status());
  }
  CAIRN_RETURN_IF_ERROR(table_->all_columns_in_primary_key()
                            ? transaction->SingleDelete(primary.family(), old_entry_.key)
                            : transaction->Delete(primary.family(), old_entry_.key));
  for (const TableIndex& index : table_->indexes()) {
    if (index.layout().kind != IndexKind::kSecondary) continue;
    index.codec->EncodeKey(record, hidden_key, &old_entry_.key, &old_entry_.unpack_info);
    CAIRN_RETURN_IF_ERROR(transaction->SingleDelete(index.family(), old_entry_.key));
  }
  if (!table_->builds().empty()) [[unlikely]] {
    CAIRN_RETURN_IF_ERROR(delta_.Delete(transaction, record, hidden_key));
  }
  transaction->NoteRowCount(table_->definition(), -1);
  return Status();
}

}  // namespace cairn
