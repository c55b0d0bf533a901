// Writing rows, and the auto-increment counter.
#include <algorithm>

#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/unique_checks.h"
#include "mariadb/variables.h"

using cairn::Durability;
using cairn::Status;
using cairn::StatusCode;
using UniqueChecks = cairn::TableWriter::UniqueChecks;
using cairn::Work;

namespace {

// Rows after which the copy of ALTER TABLE is committed: large enough to cost nothing, small enough
// to need little memory.
constexpr uint64_t kCopyCommitRows = 10'000;

// Changed rows of a statement from which on a look at all locks, instead of a lock for each row, is
// worth its time.
constexpr uint64_t kManyRows = 1000;

// A table that the server makes in order to replace another one by it, not a temporary one of the
// user.
bool IsCopyTarget(const cairn::TableDefinition& table) {
  return !table.temporary && table.name.find("#sql") != std::string::npos;
}

// Each piece of the copy may hold as many row locks as a transaction of the session.
cairn::TransactionSettings CopySettings(THD* thd) {
  const cairn::TransactionSettings session = cairn::SessionTransactionSettings(thd);
  cairn::TransactionSettings settings;
  if (session.changes_per_piece == 0) settings.max_row_locks = session.max_row_locks;
  return settings;
}

}  // namespace

int ha_rocksdb::write_row(const uchar* record) {
  const cairn::WritePlan& plan = statement_.Writes(ha_thd(), *engine_table_);
  // A copy of a table may get a new key, whose values nobody has checked.
  const bool unchecked = copy_transaction_ == nullptr && plan.unchecked;
  if (unchecked || (plan.loads && copy_transaction_ == nullptr)) {
    if (const int error = cairn::RefuseToReplaceUnchecked(ha_thd())) return error;
  }
  uint64_t handed_out = 0;
  if (table->next_number_field != nullptr && record == table->record[0]) {
    if (const int error = update_auto_increment()) return error;
    handed_out = TakeHandedOutValue();
  }
  if (counter_is_primary_key_ && handed_out == 0) {
    if (const int error = NoteGivenValue(record)) return error;
  }
  writer_->SetHandedOutKey(handed_out);
  PrepareWriter(plan);
  if (LoadsRows(plan)) return LoadRow(record);
  cairn::Session& session = cairn::Session::Of(ha_thd());
  cairn::ScopedWaitObserver observer(&session);
  writer_->SetUniqueChecks(unchecked    ? UniqueChecks::kOverwrite
                           : plan.loads ? UniqueChecks::kTrusted
                                        : UniqueChecks::kAll);
  const bool changes_duplicates = cairn::ChangesDuplicates(ha_thd());
  writer_->SetChangesDuplicates(changes_duplicates);
  const Status inserted = writer_->Insert(&transaction(), record);
  meets_duplicate_ = inserted.code() == StatusCode::kDuplicateKey && changes_duplicates;
  if (!inserted.ok()) return OperationError(inserted);
  if (const int error = NoteAutoIncrement(record)) return error;
  CountWrite(Work::kRowsInserted, Work::kSystemRowsInserted);
  if (own_transaction_ != nullptr) return CommitSequence();
  if (copy_transaction_ != nullptr && ++copied_rows_ % kCopyCommitRows == 0) {
    return CommitCopiedRows(Durability::kDelayed);
  }
  return EndChange();
}

// What holds for the entries of a row that is written next.
void ha_rocksdb::PrepareWriter(const cairn::WritePlan& plan) {
  // The session may have it drawn for each row (rocksdb_checksums_pct).
  writer_->AppendChecksums(cairn::SessionStoresChecksum(ha_thd()));
  writer_->AskPrefixFilters(plan.asks_prefix_filters);
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

// Whether the server did not ask for all virtual columns of indexes when it read the row that is to
// be changed: a replica asks for the columns that the binary log has, which may be the primary
// key's alone.
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
  return false;
}

// Makes the virtual columns of all indexes in a record whose stored columns are complete, which
// they are in a row that was locked.
Status ha_rocksdb::MakeVirtualParts(const uchar* record, BlobPlace place) const {
  uchar* const usual = table->record[0];
  if (record != usual) table->move_fields(table->field, record, usual);
  Status made;
  for (const cairn::TableIndex& index : engine_table_->indexes()) {
    if (made.ok() && index.has_virtual_part) made = ComputeVirtualParts(index.layout(), place);
  }
  if (record != usual) table->move_fields(table->field, usual, record);
  return made;
}

int ha_rocksdb::update_row(const uchar* old_record, const uchar* new_record) {
  if (own_transaction_ == nullptr && AreAlike(old_record, new_record)) {
    return HA_ERR_RECORD_IS_THE_SAME;
  }
  cairn::Session& session = cairn::Session::Of(ha_thd());
  cairn::ScopedWaitObserver observer(&session);
  const auto hidden_key = cursor_->HiddenKey();
  if (!hidden_key.ok()) return OperationError(hidden_key.status());
  const cairn::WritePlan& plan = statement_.Writes(ha_thd(), *engine_table_);
  PrepareWriter(plan);
  writer_->SetUniqueChecks(plan.loads ? UniqueChecks::kTrusted : UniqueChecks::kAll);
  Field* const counted = table->found_next_number_field;
  const bool has_new_value = counted != nullptr && new_record == table->record[0] &&
                             counted->cmp_offset(old_record - new_record) != 0;
  if (counter_is_primary_key_ && (has_new_value || new_record != table->record[0])) {
    if (const int error = NoteGivenValue(new_record)) return error;
  }
  writer_->SetHandedOutKey(0);
  writer_->SetChangesDuplicates(false);
  if (LacksVirtualParts()) {
    Status made = MakeVirtualParts(old_record, BlobPlace::kReadValue);
    if (made.ok()) made = MakeVirtualParts(new_record, BlobPlace::kValue);
    if (!made.ok()) return OperationError(made);
  }
  const Status updated = writer_->Update(&transaction(), old_record, new_record, *hidden_key);
  if (!updated.ok()) return OperationError(updated);
  if (has_new_value) {
    if (const int error = NoteAutoIncrement(new_record)) return error;
  }
  CountWrite(Work::kRowsUpdated, Work::kSystemRowsUpdated);
  return own_transaction_ != nullptr ? CommitSequence() : EndChange();
}

int ha_rocksdb::delete_row(const uchar* record) {
  const auto hidden_key = cursor_->HiddenKey();
  if (!hidden_key.ok()) return OperationError(hidden_key.status());
  if (LacksVirtualParts()) {
    const Status made = MakeVirtualParts(record, BlobPlace::kReadValue);
    if (!made.ok()) return OperationError(made);
  }
  const Status deleted = writer_->Delete(&transaction(), record, *hidden_key);
  if (!deleted.ok()) return OperationError(deleted);
  CountWrite(Work::kRowsDeleted, Work::kSystemRowsDeleted);
  if (deletes_unread_) cairn::RunningEngine()->database().work().Count(Work::kRowsDeletedBlind);
  return EndChange();
}

void ha_rocksdb::CountWrite(Work user_table, Work system_table) {
  shared_->CountChange();
  cairn::RunningEngine()->database().work().Count(is_system_table_ ? system_table : user_table);
  if (copy_transaction_ != nullptr || own_transaction_ != nullptr) return;
  cairn::Session& session = cairn::Session::Of(ha_thd());
  session.NoteChange(engine_table_->definition());
  // A replica's transactions commit in a given order, and wait for each other.
  if (statement_.CountChange() == kManyRows && !ha_thd()->slave_thread) {
    session.transaction().Claim(engine_table_->definition());
  }
}

// What a sequence handed out is not taken back, not even by a crash.
int ha_rocksdb::CommitSequence() {
  cursor_->EndScan();
  const Status committed = own_transaction_->Commit(cairn::CommitDurability());
  return OperationError(committed);
}

// --- The copy of ALTER TABLE --------------------------------------------------------------------

void ha_rocksdb::start_bulk_insert(ha_rows, uint) {
  if (!IsCopyTarget(engine_table_->definition()) || copy_transaction_ != nullptr) return;
  copy_transaction_ = std::make_unique<cairn::Transaction>(&cairn::RunningEngine()->database());
  copy_transaction_->Start(CopySettings(ha_thd()));
  writer_->SetTableIsNew(true);
  copied_rows_ = 0;
}

int ha_rocksdb::end_bulk_insert() {
  if (copy_transaction_ == nullptr) return 0;
  const int error = CommitCopiedRows(Durability::kSync);
  copy_transaction_.reset();
  writer_->SetTableIsNew(false);
  return error;
}

int ha_rocksdb::CommitCopiedRows(Durability durability) {
  const Status committed = copy_transaction_->Commit(durability);
  copy_transaction_->Start(CopySettings(ha_thd()));
  return OperationError(committed);
}

// --- Auto-increment -----------------------------------------------------------------------------

// Finds the next value when nobody asked for it since the server started: the stored one or, in a
// table that has none, the one after the largest.
int ha_rocksdb::EnsureAutoIncrementLoaded() {
  cairn::TableCounters& counters = *engine_table_->definition().counters;
  if (counters.next_auto_increment.load(std::memory_order_acquire) != 0) return 0;
  std::lock_guard guard(counters.initialise);
  if (counters.next_auto_increment.load(std::memory_order_relaxed) != 0) return 0;
  cairn::Engine* const engine = cairn::RunningEngine();
  auto stored = engine->dictionary().LoadAutoIncrement(engine_table_->definition());
  if (!stored.ok()) return cairn::HandlerError(stored.status());
  uint64_t largest = 0;
  const int error = ReadLargestAutoIncrement(&largest);
  if (error != 0 && *stored == 0) return error;
  // A counter that says less than the rows do was left at the type's last value, which is used.
  const uint64_t behind = largest == UINT64_MAX ? largest : largest + 1;
  const uint64_t next = error == 0 ? std::max(*stored, behind) : *stored;
  // What prepared transactions have written is not read; others may have written what the counter
  // does not know.
  if (error == 0 && !engine->prepared_locks().any_recovered()) {
    counters.largest_given_value.store(largest, std::memory_order_release);
  }
  counters.next_auto_increment.store(std::max<uint64_t>(next, 1), std::memory_order_release);
  return 0;
}

// The largest value of a row that is committed; 0: there is none above it.
int ha_rocksdb::ReadLargestAutoIncrement(uint64_t* largest) {
  cairn::Transaction reader(&cairn::RunningEngine()->database());
  reader.Start(cairn::TransactionSettings());
  cairn::Cursor cursor(engine_table_.get());
  cairn::ColumnSet column(table->s->fields, false);
  column[table->found_next_number_field->field_index] = true;
  cairn::CursorAccess access;
  access.index = table->s->next_number_index;
  access.columns = &column;
  // The record may hold a row that the server still needs.
  std::string record(reinterpret_cast<const char*>(table->record[0]), table->s->reclength);
  Status read = cursor.Open(&reader, access);
  const bool descends = table->s->next_number_keypart == 0 &&
                        (table->key_info[access.index].key_part[0].key_part_flag & HA_REVERSE_SORT);
  if (read.ok()) {
    read = descends ? cursor.ReadFirst(table->record[0]) : cursor.ReadLast(table->record[0]);
  }
  if (read.ok()) {
    const longlong value = table->found_next_number_field->val_int();
    const bool is_unsigned = (table->found_next_number_field->flags & UNSIGNED_FLAG) != 0;
    *largest = value > 0 || is_unsigned ? static_cast<uint64_t>(value) : 0;
  }
  memcpy(table->record[0], record.data(), record.size());
  return read.code() == StatusCode::kEndOfRange ? 0 : cairn::HandlerError(read);
}

// Then a value that the counter hands out is a primary key that no row has, as long as nobody chose
// it himself. Rows that have expired may be there unseen.
bool ha_rocksdb::CounterIsPrimaryKey() const {
  if (table->found_next_number_field == nullptr || table->s->primary_key == MAX_KEY) return false;
  const KEY& key = table->key_info[table->s->primary_key];
  return key.user_defined_key_parts == 1 &&
         key.key_part[0].field->field_index == table->found_next_number_field->field_index &&
         table->found_next_number_field->cmp_type() == INT_RESULT &&
         engine_table_->ttl_seconds() == 0;
}

// The value that update_auto_increment() has put into the record, if it comes from the counter and
// no row has had it before: not the last one of the type, at which a counter of the stock plug-in
// stays. Else 0.
uint64_t ha_rocksdb::TakeHandedOutValue() {
  if (!counter_is_primary_key_ || insert_id_for_cur_row == 0) return 0;
  const uint64_t value = insert_id_for_cur_row;
  if (value < first_handed_out_ || value > last_handed_out_) return 0;
  first_handed_out_ = value + 1;
  const auto in_record = static_cast<uint64_t>(table->found_next_number_field->val_int());
  return value == in_record && value < table->found_next_number_field->get_max_int_value() ? value
                                                                                           : 0;
}

// Somebody has chosen the value of a row himself; called before its key is locked.
int ha_rocksdb::NoteGivenValue(const uchar* record) {
  if (const int error = EnsureAutoIncrementLoaded()) return error;
  Field* const field = table->found_next_number_field;
  const longlong value = field->val_int(record + field->offset(table->record[0]));
  if (value > 0 || (field->flags & UNSIGNED_FLAG)) {
    engine_table_->definition().counters->RaiseLargestGivenValue(static_cast<uint64_t>(value));
  }
  return 0;
}

// Where the statement itself may go into the binary log, it gets all its values in a row: the log
// tells the first.
void ha_rocksdb::get_auto_increment(ulonglong offset, ulonglong increment,
                                    ulonglong nb_desired_values, ulonglong* first_value,
                                    ulonglong* nb_reserved_values) {
  const bool may_be_logged = statement_.Writes(ha_thd(), *engine_table_).log_may_have_statement;
  const ulonglong wanted = may_be_logged ? std::max<ulonglong>(nb_desired_values, 1) : 1;
  *nb_reserved_values = 1;
  if (EnsureAutoIncrementLoaded() != 0) {
    *first_value = ULONGLONG_MAX;
    return;
  }
  if (offset > increment) offset = 1;
  const ulonglong largest = table->next_number_field->get_max_int_value();
  // The server refuses a value beyond the type with an error, but a FLOAT or DOUBLE would round one
  // away.
  const bool counts_on =
      largest != ULONGLONG_MAX && table->next_number_field->cmp_type() == INT_RESULT;
  const ulonglong beyond = counts_on ? largest + 1 : ULONGLONG_MAX;
  std::atomic<uint64_t>& counter = engine_table_->definition().counters->next_auto_increment;
  uint64_t next = counter.load(std::memory_order_relaxed);
  uint64_t value;
  uint64_t last;
  do {
    // Used up, or set there by AUTO_INCREMENT=n.
    if (next > largest) {
      *first_value = next == ULONGLONG_MAX ? next : beyond;
      return;
    }
    // The smallest offset + n * increment that is not below the counter.
    value = next;
    if (increment > 1) {
      const uint64_t steps = next <= offset ? 0 : (next - offset + increment - 1) / increment;
      value = offset + steps * increment;
    }
    if (value > largest || value < next) {
      *first_value = beyond;
      return;
    }
    *nb_reserved_values =
        std::min(wanted, (largest - value) / std::max<ulonglong>(increment, 1) + 1);
    last = value + (*nb_reserved_values - 1) * increment;
  } while (!counter.compare_exchange_weak(next, last == ULONGLONG_MAX ? last : last + 1,
                                          std::memory_order_relaxed));
  *first_value = first_handed_out_ = value;
  last_handed_out_ = last;
}

// Raises the counter above the value of a row that was written.
int ha_rocksdb::NoteAutoIncrement(const uchar* record) {
  Field* const field = table->found_next_number_field;
  if (field == nullptr || record != table->record[0] || field->is_null()) return 0;
  const longlong signed_value = field->val_int();
  if (signed_value < 0 && !(field->flags & UNSIGNED_FLAG)) return 0;
  if (const int error = EnsureAutoIncrementLoaded()) return error;
  const auto value = static_cast<uint64_t>(signed_value);
  // Behind the type's last value, nothing is left.
  const uint64_t next = value == UINT64_MAX ? value : value + 1;
  std::atomic<uint64_t>& counter = engine_table_->definition().counters->next_auto_increment;
  uint64_t current = counter.load(std::memory_order_relaxed);
  while (current < next &&
         !counter.compare_exchange_weak(current, next, std::memory_order_relaxed)) {
  }
  transaction().RaiseAutoIncrement(engine_table_->definition(), next);
  return 0;
}

int ha_rocksdb::reset_auto_increment(ulonglong value) {
  return cairn::HandlerError(cairn::RunningEngine()->dictionary().SetAutoIncrement(
      engine_table_->definition(), std::max<ulonglong>(value, 1)));
}
