// What the tables of information_schema share: their declaration, and how a row is sent.
#pragma once

#include <cstdint>
#include <string_view>

#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "sql_i_s.h"

namespace cairn {

// Fills one row after the other, column by column from the left.
class SchemaTableWriter {
 public:
  SchemaTableWriter(THD* thd, TABLE* table) : thd_(thd), table_(table) {}
  THD* thd() const { return thd_; }

  SchemaTableWriter& Text(std::string_view text);  // Cut to the width of the column.
  // Three columns, of a name of the dictionary: schema, table and partition, NULL without one.
  SchemaTableWriter& TableName(std::string_view dictionary_name);
  // In hexadecimal, both ends of a range; ".." ends what the column, of kLongWidth, is too narrow
  // for.
  SchemaTableWriter& Keys(const KeySpan& keys);
  SchemaTableWriter& Number(int64_t value);
  SchemaTableWriter& Unsigned(uint64_t value);
  SchemaTableWriter& Real(double value);
  SchemaTableWriter& Null();
  SchemaTableWriter& Time(int64_t epoch_us);  // In the time zone of the session.
  // NULL when the text is empty.
  SchemaTableWriter& TextOrNull(std::string_view text) {
    return text.empty() ? Null() : Text(text);
  }
  // Sends the row and begins the next. False when no more rows can be taken.
  bool Send();

 private:
  Field& NextField();

  THD* const thd_;
  TABLE* const table_;
  uint32_t column_ = 0;
};

// Writes all rows; false when the writer did.
using FillFunction = bool (*)(Engine* engine, SchemaTableWriter* writer);

// The server's function to fill a table, on top of ours. No rows when the engine does not run.
template <FillFunction fill>
int FillSchemaTable(THD* thd, TABLE_LIST* tables, Item*) {
  Engine* const engine = RunningEngine();
  if (engine == nullptr) return 0;
  SchemaTableWriter writer(thd, tables->table);
  return fill(engine, &writer) ? 0 : 1;
}

// The body of a plug-in's initialisation.
template <FillFunction fill>
int DeclareSchemaTable(void* plugin, ST_FIELD_INFO* columns) {
  auto* const table = static_cast<ST_SCHEMA_TABLE*>(plugin);
  table->fields_info = columns;
  table->fill_table = FillSchemaTable<fill>;
  return 0;
}

// Reports a failed read as the statement's error; always false, for FillFunction to return.
bool ReportSchemaTableError(const Status& status);

// Widths of text columns that many tables share.
inline constexpr uint kNameWidth = 193;
inline constexpr uint kLongWidth = 513;
// Digits of numbers with a fraction, as the server writes them: 100 times all, plus those behind
// the point.
inline constexpr uint kRatioDigits = 1202;
inline constexpr uint kSecondsDigits = 1803;

#define SCHEMA_TABLE(NAME, Initialise, text) int Initialise(void* plugin);
#include "mariadb/information_schema/tables.def"
#undef SCHEMA_TABLE

}  // namespace cairn
