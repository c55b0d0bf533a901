#include "mariadb/foreign_key_errors.h"

#include "mariadb/foreign_key_clauses.h"
// The server's headers last.
#include "key.h"
#include "mariadb/server_headers.h"
#include "tztime.h"

namespace cairn {
namespace {

constexpr uint kMostBytesOfValue = 100;

// In the server's time zone, as its log has it.
std::string TimeText(int64_t at_us) {
  MYSQL_TIME time;
  my_tz_SYSTEM->gmt_sec_to_TIME(&time, static_cast<my_time_t>(at_us / 1'000'000));
  char text[MAX_DATE_STRING_REP_LENGTH];
  return std::string(text, static_cast<size_t>(my_datetime_to_str(&time, text, 0)));
}

}  // namespace

void ForeignKeyErrors::Note(THD* thd, std::string_view what) {
  const std::lock_guard lock(mutex_);
  at_us_ = static_cast<int64_t>(my_hrtime().val);
  connection_ = thd->thread_id;
  what_ = what;
}

std::string ForeignKeyErrors::Describe() const {
  const std::lock_guard lock(mutex_);
  if (at_us_ == 0) return "No error of a foreign key since the start.";
  return "Latest error: " + TimeText(at_us_) + ", connection " + std::to_string(connection_) +
         "\n" + what_;
}

std::string DescribeValues(TABLE* table, const ForeignKeyRecord& key,
                           std::string ForeignKeyRecord::ColumnPair::*side, const uint8_t* record) {
  String text;
  text.append('(');
  for (size_t i = 0; i < key.columns.size(); ++i) {
    if (i != 0) text.append(STRING_WITH_LEN(", "));
    const Field* const field = FindField(*table, key.columns[i].*side);
    if (field == nullptr) {
      text.append('?');
      continue;
    }
    MY_BITMAP* const before = dbug_tmp_use_all_columns(table, &table->read_set);
    field_unpack(&text, table->field[field->field_index], record, kMostBytesOfValue,
                 /*prefix_key=*/false);
    dbug_tmp_restore_column_map(&table->read_set, before);
  }
  text.append(')');
  return std::string(text.ptr(), text.length());
}

}  // namespace cairn
