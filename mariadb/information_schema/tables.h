// The tables of information_schema that the library has; plugin.cc declares them.
#pragma once

#include <string_view>

struct st_mysql_information_schema;
struct TABLE;
class THD;

namespace cairn {

extern st_mysql_information_schema information_schema_interface;

int InitCairnTables(void* schema_table);

// Fills one row of an information_schema table, column by column.
class RowWriter {
 public:
  explicit RowWriter(TABLE* table);
  RowWriter& Text(std::string_view text);
  RowWriter& Number(unsigned long long number);
  RowWriter& Null();
  // Hands the row to the server. Returns true on failure, as the server's functions do.
  bool Store(THD* thd);

 private:
  TABLE* const table_;
  unsigned int column_ = 0;
};

}  // namespace cairn
