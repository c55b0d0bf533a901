// AUTO_INCREMENT: what the counter of the table (engine/table/auto_increment.h) has to do with the
// server's fields and records.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/ha_rocksdb.h"

using cairn::AutoIncrement;
using cairn::Status;
using cairn::StatusCode;

namespace {

// A value of the column as the counter takes it. Nothing: it is negative, and the counter has
// nothing to do with it.
std::optional<uint64_t> CountedValue(const Field& field, longlong value) {
  if (value < 0 && !(field.flags & UNSIGNED_FLAG)) return std::nullopt;
  return static_cast<uint64_t>(value);
}

// The server refuses a value beyond the type with an error, but a FLOAT or DOUBLE would round one
// away.
AutoIncrement::Type TypeOf(const Field& field) {
  const uint64_t largest = field.get_max_int_value();
  const bool counts_on = largest != UINT64_MAX && field.cmp_type() == INT_RESULT;
  return {largest, counts_on ? largest + 1 : UINT64_MAX};
}

}  // namespace

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

cairn::Result<uint64_t> ha_rocksdb::LargestAutoIncrement::Read() {
  TABLE* const table = handler_->table;
  cairn::Transaction reader(&cairn::RunningEngine()->database());
  reader.Start(cairn::TransactionSettings());
  cairn::Cursor cursor(handler_->engine_table_.get());
  cairn::ColumnSet column(table->s->fields, false);
  column[table->found_next_number_field->field_index] = true;
  cairn::CursorAccess access;
  access.index = table->s->next_number_index;
  access.columns = &column;
  // The record may hold a row that the server still needs.
  std::string record(reinterpret_cast<const char*>(table->record[0]), table->s->reclength);
  outcome_ = cursor.Open(&reader, access);
  const bool descends = table->s->next_number_keypart == 0 &&
                        (table->key_info[access.index].key_part[0].key_part_flag & HA_REVERSE_SORT);
  if (outcome_.ok()) {
    outcome_ = descends ? cursor.ReadFirst(table->record[0]) : cursor.ReadLast(table->record[0]);
  }
  uint64_t largest = 0;
  if (outcome_.ok()) {
    const Field& field = *table->found_next_number_field;
    largest = CountedValue(field, table->found_next_number_field->val_int()).value_or(0);
  }
  memcpy(table->record[0], record.data(), record.size());
  if (outcome_.code() == StatusCode::kEndOfRange) outcome_ = Status();
  if (!outcome_.ok()) return outcome_;
  return largest;
}

int ha_rocksdb::LoadAutoIncrement() {
  if (auto_increment_.is_loaded()) return 0;
  cairn::Engine* const engine = cairn::RunningEngine();
  LargestAutoIncrement rows(this);
  const Status loaded = auto_increment_.Load(engine->dictionary(), engine->prepared_locks(), &rows);
  if (!loaded.ok()) return cairn::HandlerError(loaded);
  // A stored counter goes on without the rows; their damage is logged all the same.
  cairn::HandlerError(rows.outcome());
  return 0;
}

// The value that update_auto_increment() has put into the record, if it comes from the counter and
// no row has had it before: not the last one of the type, at which a counter of the stock plug-in
// stays. Else 0.
uint64_t ha_rocksdb::TakeHandedOutValue() {
  const uint64_t value = insert_id_for_cur_row;
  if (!auto_increment_.is_primary_key() || !auto_increment_.TakeHandedOut(value)) return 0;
  const auto in_record = static_cast<uint64_t>(table->found_next_number_field->val_int());
  return value == in_record && value < table->found_next_number_field->get_max_int_value() ? value
                                                                                           : 0;
}

// Somebody has chosen the value of a row himself; called before its key is locked.
int ha_rocksdb::NoteGivenValue(const uchar* record) {
  if (const int error = LoadAutoIncrement()) return error;
  Field* const field = table->found_next_number_field;
  const auto value = CountedValue(*field, field->val_int(record + field->offset(table->record[0])));
  if (value.has_value()) auto_increment_.NoteGiven(*value);
  return 0;
}

// Raises the counter above the value of a row that was written.
int ha_rocksdb::NoteAutoIncrement(const uchar* record) {
  Field* const field = table->found_next_number_field;
  if (field == nullptr || record != table->record[0] || field->is_null()) return 0;
  const auto value = CountedValue(*field, field->val_int());
  if (!value.has_value()) return 0;
  if (const int error = LoadAutoIncrement()) return error;
  auto_increment_.NoteWritten(*value, &transaction());
  return 0;
}

// The value of a row that was refused is not handed out again, but for one that SET insert_id
// chose. Of a partitioned table the server keeps the counter.
void ha_rocksdb::NoteRefusedValue() {
  const ulonglong value = table->file->insert_id_for_cur_row;
  if (value == 0 || !auto_increment_.is_loaded()) return;
  if (table->file != this || value < auto_increment_.next()) {
    auto_increment_.NoteWritten(value, &transaction());
  }
}

// Where the statement itself may go into the binary log, it gets all its values in a row: the log
// tells the first.
void ha_rocksdb::get_auto_increment(ulonglong offset, ulonglong increment,
                                    ulonglong nb_desired_values, ulonglong* first_value,
                                    ulonglong* nb_reserved_values) {
  *nb_reserved_values = 1;
  if (LoadAutoIncrement() != 0) {
    *first_value = ULONGLONG_MAX;
    return;
  }
  const bool may_be_logged = statement_.Writes(ha_thd(), *engine_table_).log_may_have_statement;
  const ulonglong wanted = may_be_logged ? std::max<ulonglong>(nb_desired_values, 1) : 1;
  const AutoIncrement::Values values =
      auto_increment_.HandOut(TypeOf(*table->next_number_field), {offset, increment}, wanted);
  *first_value = values.first;
  *nb_reserved_values = values.count;
}

int ha_rocksdb::reset_auto_increment(ulonglong value) {
  return cairn::HandlerError(cairn::RunningEngine()->dictionary().SetAutoIncrement(
      engine_table_->definition(), std::max<ulonglong>(value, 1)));
}
