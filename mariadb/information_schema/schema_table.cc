#include "mariadb/information_schema/schema_table.h"

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

bool SchemaTableWriter::Send() {
  column_ = 0;
  return !schema_table_store_record(thd_, table_) && !thd_killed(thd_);
}

bool ReportSchemaTableError(const Status& status) {
  my_error(ER_GET_ERRMSG, MYF(0), static_cast<int>(status.code()), status.ToString().c_str(),
           "ROCKSDB");
  return false;
}

}  // namespace cairn
