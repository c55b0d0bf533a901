// Writing rows.
#include <algorithm>
#include <optional>
#include <utility>

#include "mariadb/current_row.h"
#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/table_guards.h"
#include "mariadb/unique_checks.h"
#include "mariadb/variables.h"

using cairn::Durability;
using cairn::Status;
using cairn::StatusCode;
using UniqueChecks = cairn::TableWriter::UniqueChecks;
using cairn::Work;

namespace {

// Changed rows of a statement from which on a look at all locks, instead of a lock for each row, is
// worth its time.
constexpr uint64_t kManyRows = 1000;

}  // namespace

int ha_rocksdb::write_row(const uchar* record) {
  const cairn::WritePlan& plan = statement_.Writes(ha_thd(), *engine_table_);
  // A copy of a table may get a new key, whose values nobody has checked.
  const bool is_copy = copy_.is_active();
  const bool unchecked = !is_copy && plan.unchecked;
  const bool loads = !is_copy && plan.loads;
  if (unchecked || loads) {
    if (const int error = cairn::RefuseToReplaceUnchecked(ha_thd())) return error;
  }
  uint64_t handed_out = 0;
  if (table->next_number_field != nullptr && record == table->record[0]) {
    if (const int error = update_auto_increment()) return error;
    handed_out = TakeHandedOutValue();
  }
  if (auto_increment_.is_primary_key() && handed_out == 0) {
    if (const int error = NoteGivenValue(record)) return error;
  }
  writer_->SetHandedOutKey(handed_out);
  PrepareWriter(plan);
  if (copy_.indexes != nullptr) return SortCopiedRow(record);
  if (loads) [[unlikely]] {
    if (LoadsRows(plan)) return LoadRow(record);
    if (const int error = FinishOwnLoad()) return error;
  }
  cairn::Session& session = cairn::Session::Of(ha_thd());
  cairn::ScopedWaitObserver observer(&session);
  writer_->SetUniqueChecks(unchecked ? UniqueChecks::kOverwrite
                           : loads   ? UniqueChecks::kTrusted
                                     : UniqueChecks::kAll);
  const bool changes_duplicates = cairn::ChangesDuplicates(ha_thd());
  writer_->SetChangesDuplicates(changes_duplicates);
  if (MayMixVirtualParts()) {
    const Status made = MakeVirtualParts(record, BlobPlace::kValue);
    if (!made.ok()) return OperationError(made);
  }
  const Status inserted = writer_->Insert(&transaction(), record);
  conflict_.meets_duplicate = inserted.code() == StatusCode::kDuplicateKey && changes_duplicates;
  if (!inserted.ok()) {
    NoteRefusedValue();
    return OperationError(inserted);
  }
  if (const int error = NoteAutoIncrement(record)) return error;
  CountWrite(Work::kRowsInserted, Work::kSystemRowsInserted);
  if (own_transaction_ != nullptr) return CommitSequence();
  return copy_.transaction != nullptr ? EndCopiedRow() : EndChange();
}

// What holds for the entries of a row that is written next.
void ha_rocksdb::PrepareWriter(const cairn::WritePlan& plan) {
  // The session may have it drawn for each row (rocksdb_checksums_pct).
  writer_->AppendChecksums(cairn::SessionStoresChecksum(ha_thd()));
  writer_->AskPrefixFilters(plan.asks_prefix_filters);
  writer_->foreign_keys().Enforce(plan.checks_foreign_keys);
}

// The server does not always compare the two itself.
bool ha_rocksdb::AreAlike(const uchar* old_record, const uchar* new_record) const {
  const uchar* const usual = table->record[0];
  const auto offset =
      static_cast<my_ptrdiff_t>((new_record == usual ? old_record : new_record) - usual);
  if (offset < 0) return false;  // Fields compare forward alone.
  for (Field** field = table->field; *field != nullptr; ++field) {
    if (!(*field)->stored_in_db()) continue;
    const bool is_null = (*field)->is_null();
    if (is_null != (*field)->is_null_in_record(usual + offset)) return false;
    if (!is_null && (*field)->cmp_binary_offset(static_cast<uint>(offset)) != 0) return false;
  }
  return true;
}

// Whether virtual columns of indexes may have other values in a record than are its own. The server
// makes rows with SYSTEM VERSIONING one after the other, and puts the BLOBs of one where those of
// another are; and it does not always make them again behind a trigger.
bool ha_rocksdb::MayMixVirtualParts() const {
  const bool has_triggers = table->triggers != nullptr;
  if (table->vfield == nullptr || !(has_triggers || table->versioned())) return false;
  const auto is_virtual_blob = [this](const cairn::KeyPartLayout& part) {
    return cairn::IsVirtualBlob(*table->field[part.column]);
  };
  const auto& indexes = engine_table_->indexes();
  return std::any_of(indexes.begin(), indexes.end(), [&](const cairn::TableIndex& index) {
    const auto& parts = index.layout().parts;
    return index.has_virtual_part &&
           (has_triggers || std::any_of(parts.begin(), parts.end(), is_virtual_blob));
  });
}

// Whether the virtual columns of all indexes are to be made for the row that is to be changed. The
// server may not have asked for all when it read it: a replica asks for the columns that the binary
// log has, which may be the primary key's alone.
bool ha_rocksdb::LacksVirtualParts() const {
  if (table->vfield == nullptr) return false;
  for (const cairn::TableIndex& index : engine_table_->indexes()) {
    if (!index.has_virtual_part) continue;
    for (const cairn::KeyPartLayout& part : index.layout().parts) {
      if (!table->field[part.column]->stored_in_db() &&
          !bitmap_is_set(table->read_set, part.column)) {
        return true;
      }
    }
  }
  return MayMixVirtualParts();
}

// Makes the virtual columns of all indexes in a record whose stored columns are complete, which
// they are in a row that was locked.
Status ha_rocksdb::MakeVirtualParts(const uchar* record, BlobPlace place) const {
  if (table->vfield == nullptr) return Status();
  uchar* const usual = table->record[0];
  if (record != usual) table->move_fields(table->field, record, usual);
  Status made;
  for (const cairn::TableIndex& index : engine_table_->indexes()) {
    if (made.ok() && index.has_virtual_part) made = ComputeVirtualParts(index.layout(), place);
  }
  if (record != usual) table->move_fields(table->field, usual, record);
  return made;
}

// The row that is to be deleted is not there any more: actions have deleted it, as the statement
// was to, or have given it another primary key, by which it is there still.
int ha_rocksdb::AfterActionsTookRow() {
  const bool moved =
      transaction().actions().Of(RowsIndex()).moved != statement_.actions_before().moved;
  return moved ? HA_ERR_KEY_NOT_FOUND : EndChange();
}

// The same in the records of a change; `new_record` may be null.
Status ha_rocksdb::MakePartsOfChange(const uchar* old_record, const uchar* new_record) const {
  CAIRN_RETURN_IF_ERROR(MakeVirtualParts(old_record, BlobPlace::kReadValue));
  return new_record == nullptr ? Status() : MakeVirtualParts(new_record, BlobPlace::kValue);
}

int ha_rocksdb::update_row(const uchar* old_record, const uchar* new_record) {
  if (own_transaction_ == nullptr && AreAlike(old_record, new_record)) {
    return HA_ERR_RECORD_IS_THE_SAME;
  }
  cairn::Session& session = cairn::Session::Of(ha_thd());
  cairn::ScopedWaitObserver observer(&session);
  const auto hidden_key = cursor_->HiddenKeyToChange();
  if (!hidden_key.ok()) return OperationError(hidden_key.status());
  const cairn::WritePlan& plan = statement_.Writes(ha_thd(), *engine_table_);
  PrepareWriter(plan);
  writer_->SetUniqueChecks(plan.loads ? UniqueChecks::kTrusted : UniqueChecks::kAll);
  Field* const counted = table->found_next_number_field;
  const bool has_new_value = counted != nullptr && new_record == table->record[0] &&
                             counted->cmp_offset(old_record - new_record) != 0;
  if (auto_increment_.is_primary_key() && (has_new_value || new_record != table->record[0])) {
    if (const int error = NoteGivenValue(new_record)) return error;
  }
  writer_->SetHandedOutKey(0);
  writer_->SetChangesDuplicates(false);
  const uchar* before = old_record;
  const uchar* after = new_record;
  std::optional<cairn::CurrentRow> current;
  const bool reads_again = ActionsHaveComeBetween();
  if (reads_again) [[unlikely]] {
    current.emplace(table, engine_table_.get());
    const auto found = current->Read(&transaction(), old_record, *hidden_key);
    if (!found.ok()) return OperationError(found.status());
    // A DELETE of a row with versions is an update that ends it.
    if (!*found) {
      return engine_table_->layout().IsPast(new_record) ? AfterActionsTookRow()
                                                        : HA_ERR_KEY_NOT_FOUND;
    }
    before = current->record();
    after = current->Update(old_record, new_record);
  }
  if (reads_again || LacksVirtualParts()) {
    const Status made = MakePartsOfChange(before, after);
    if (!made.ok()) return OperationError(made);
  }
  Status updated = writer_->Update(&transaction(), before, after, *hidden_key);
  if (reads_again) [[unlikely]] {
    // Actions have given the row what the statement gives it: it is changed, all the same.
    if (updated.code() == StatusCode::kUnchanged) updated = Status();
    // Virtual BLOBs of the server's records lie in buffers of their fields, where those of the
    // current row have been made meanwhile; triggers and the binary log read them still.
    const Status made = MakePartsOfChange(old_record, new_record);
    if (updated.ok()) updated = made;
  }
  if (!updated.ok()) return OperationError(updated);
  if (has_new_value) {
    if (const int error = NoteAutoIncrement(new_record)) return error;
  }
  CountWrite(Work::kRowsUpdated, Work::kSystemRowsUpdated);
  return own_transaction_ != nullptr ? CommitSequence() : EndChange();
}

int ha_rocksdb::delete_row(const uchar* record) {
  const auto hidden_key = cursor_->HiddenKeyToChange();
  if (!hidden_key.ok()) return OperationError(hidden_key.status());
  std::optional<cairn::CurrentRow> current;
  const uchar* server_record = record;
  const bool reads_again = ActionsHaveComeBetween();
  if (reads_again) [[unlikely]] {
    current.emplace(table, engine_table_.get());
    const auto found = current->Read(&transaction(), record, *hidden_key);
    if (!found.ok()) return OperationError(found.status());
    if (!*found) return AfterActionsTookRow();
    server_record = std::exchange(record, current->record());
  }
  if (reads_again || LacksVirtualParts()) {
    const Status made = MakePartsOfChange(record, nullptr);
    if (!made.ok()) return OperationError(made);
  }
  std::optional<cairn::ScopedWaitObserver> observer;
  if (writer_->foreign_keys().is_bound()) [[unlikely]] {
    writer_->foreign_keys().Enforce(
        statement_.Writes(ha_thd(), *engine_table_).checks_foreign_keys);
    observer.emplace(&cairn::Session::Of(ha_thd()));
  }
  Status deleted = writer_->Delete(&transaction(), record, *hidden_key);
  if (reads_again) [[unlikely]] {
    const Status made = MakePartsOfChange(server_record, nullptr);  // As in update_row().
    if (deleted.ok()) deleted = made;
  }
  if (!deleted.ok()) return OperationError(deleted);
  CountWrite(Work::kRowsDeleted, Work::kSystemRowsDeleted);
  if (scan_.row_is_unread) cairn::RunningEngine()->database().work().Count(Work::kRowsDeletedBlind);
  return EndChange();
}

void ha_rocksdb::CountWrite(Work user_table, Work system_table) {
  shared_->CountChange();
  cairn::RunningEngine()->database().work().Count(counted_.of_system_table ? system_table
                                                                           : user_table);
  if (copy_.transaction != nullptr || own_transaction_ != nullptr) return;
  if (writer_->actions() != nullptr) [[unlikely]]
    NoteActions();
  cairn::Session& session = cairn::Session::Of(ha_thd());
  session.NoteChange(engine_table_->definition());
  // A replica's transactions commit in a given order, and wait for each other.
  if (statement_.CountChange() == kManyRows && !ha_thd()->slave_thread) {
    session.transaction().Claim(engine_table_->definition());
    writer_->foreign_keys().ClaimHeldValues(&session.transaction());
  }
}

// What a sequence handed out is not taken back, not even by a crash.
int ha_rocksdb::CommitSequence() {
  cursor_->EndScan();
  const Status committed = own_transaction_->Commit(cairn::CommitDurability());
  return OperationError(committed);
}
