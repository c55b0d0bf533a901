#include "mariadb/foreign_key_errors.h"

#include "engine/base/bytes.h"
#include "mariadb/foreign_key_clauses.h"
// The server's headers last.
#include "mariadb/server_headers.h"
#include "tztime.h"

namespace cairn {
namespace {

constexpr size_t kMostCharactersOfValue = 64;

// In the server's time zone, as its log has it.
std::string TimeText(int64_t at_us) {
  MYSQL_TIME time;
  my_tz_SYSTEM->gmt_sec_to_TIME(&time, static_cast<my_time_t>(at_us / 1'000'000));
  char text[MAX_DATE_STRING_REP_LENGTH];
  return std::string(text, static_cast<size_t>(my_datetime_to_str(&time, text, 0)));
}

// Between quotes: what cannot be printed as \xHH.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char byte : text) {
    const bool is_control = static_cast<unsigned char>(byte) < ' ' || byte == '\x7f';
    if (is_control) {
      quoted += "\\x" + ToHex({&byte, 1});
    } else {
      quoted.append(byte == '\'' ? 2 : 1, byte);
    }
  }
  return quoted + "'";
}

// The value that the field has where it points to, in the character set of messages.
std::string ValueText(Field* field) {
  if (field->is_real_null()) return "NULL";
  StringBuffer<MAX_FIELD_WIDTH> buffer(field->charset());
  const String* const value = field->val_str(&buffer, &buffer);
  if (value == nullptr) return "NULL";
  const bool is_bits = field->type() == MYSQL_TYPE_BIT;
  if (field->result_type() != STRING_RESULT && !is_bits) return {value->ptr(), value->length()};
  if (is_bits || value->charset() == &my_charset_bin) {
    const std::string_view bytes(value->ptr(), value->length());
    return "0x" + ToHex(bytes.substr(0, kMostCharactersOfValue)) +
           (bytes.size() > kMostCharactersOfValue ? "..." : "");
  }
  String text;
  uint errors = 0;
  if (text.copy(value->ptr(), value->length(), value->charset(), system_charset_info, &errors)) {
    return "?";
  }
  const size_t kept =
      system_charset_info->charpos(text.ptr(), text.ptr() + text.length(), kMostCharactersOfValue);
  if (kept >= text.length()) return Quoted({text.ptr(), text.length()});
  return Quoted({text.ptr(), kept}) + "...";
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
  MY_BITMAP* const before = dbug_tmp_use_all_columns(table, &table->read_set);
  const my_ptrdiff_t offset = record - table->record[0];
  std::string text;
  for (const ForeignKeyRecord::ColumnPair& pair : key.columns) {
    if (!text.empty()) text += ", ";
    const Field* const found = FindField(*table, pair.*side);
    if (found == nullptr) {
      text += "?";
      continue;
    }
    Field* const field = table->field[found->field_index];
    field->move_field_offset(offset);
    text += ValueText(field);
    field->move_field_offset(-offset);
  }
  dbug_tmp_restore_column_map(&table->read_set, before);
  return "(" + text + ")";
}

}  // namespace cairn
