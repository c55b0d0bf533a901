#include "mariadb/information_schema/tables.h"
#include "mariadb/server_headers.h"
#include "sql_show.h"

namespace cairn {

st_mysql_information_schema information_schema_interface = {
    MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION};

RowWriter::RowWriter(TABLE* table) : table_(table) { restore_record(table, s->default_values); }

RowWriter& RowWriter::Text(std::string_view text) {
  Field* const field = table_->field[column_++];
  field->set_notnull();
  field->store(text.data(), text.size(), system_charset_info);
  return *this;
}

RowWriter& RowWriter::Number(unsigned long long number) {
  Field* const field = table_->field[column_++];
  field->set_notnull();
  field->store(static_cast<longlong>(number), /*unsigned_val=*/true);
  return *this;
}

RowWriter& RowWriter::Null() {
  table_->field[column_++]->set_null();
  return *this;
}

bool RowWriter::Store(THD* thd) { return schema_table_store_record(thd, table_); }

}  // namespace cairn
