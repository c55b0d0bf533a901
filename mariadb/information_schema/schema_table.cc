#include "mariadb/information_schema/schema_table.h"

#include <string>

#include "engine/base/bytes.h"
#include "mariadb/error.h"
#include "mariadb/table_name.h"
#include "tztime.h"

namespace cairn {

Field& SchemaTableWriter::NextField() {
  Field& field = *table_->field[column_++];
  field.set_notnull();
  return field;
}

SchemaTableWriter& SchemaTableWriter::Text(std::string_view text) {
  Field& field = NextField();
  const uint32_t width = field.char_length();
  if (text.size() > width) text = text.substr(0, width);
  field.store(text.data(), text.size(), system_charset_info);
  return *this;
}

SchemaTableWriter& SchemaTableWriter::TableName(std::string_view dictionary_name) {
  const cairn::TableName name = DecodeTableName(dictionary_name);
  return Text(name.schema).Text(name.table).TextOrNull(name.partition);
}

SchemaTableWriter& SchemaTableWriter::Keys(const KeySpan& keys) {
  std::string text = ToHex(keys.first);
  if (!IsOneKey(keys)) text += " - " + ToHex(keys.end);
  if (text.size() > kLongWidth) text.replace(kLongWidth - 2, std::string::npos, "..");
  return Text(text);
}

SchemaTableWriter& SchemaTableWriter::Number(int64_t value) {
  NextField().store(value, /*unsigned_val=*/false);
  return *this;
}

SchemaTableWriter& SchemaTableWriter::Unsigned(uint64_t value) {
  NextField().store(static_cast<longlong>(value), /*unsigned_val=*/true);
  return *this;
}

SchemaTableWriter& SchemaTableWriter::Real(double value) {
  NextField().store(value);
  return *this;
}

SchemaTableWriter& SchemaTableWriter::Null() {
  NextField().set_null();
  return *this;
}

SchemaTableWriter& SchemaTableWriter::Time(int64_t epoch_us) {
  constexpr int64_t kSecond = 1'000'000;
  MYSQL_TIME time;
  thd_->variables.time_zone->gmt_sec_to_TIME(&time, static_cast<my_time_t>(epoch_us / kSecond));
  thd_->used |= THD::TIME_ZONE_USED;
  time.second_part = static_cast<ulong>(epoch_us % kSecond);
  NextField().store_time(&time);
  return *this;
}

bool SchemaTableWriter::Send() {
  column_ = 0;
  return !schema_table_store_record(thd_, table_) && !thd_killed(thd_);
}

bool ReportSchemaTableError(const Status& status) {
  PushError(status);
  return false;
}

}  // namespace cairn
