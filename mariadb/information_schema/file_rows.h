// Tables of information_schema that are made from the data files, one after the other.
#pragma once

#include "engine/monitor/inspection.h"
#include "mariadb/information_schema/schema_table.h"

namespace cairn {

// A FillFunction: `send` writes the rows of a file; false when the writer did.
template <bool (*send)(const DataFile& file, SchemaTableWriter* writer)>
bool FillFromFiles(Engine* engine, SchemaTableWriter* writer) {
  const auto files = ListDataFiles(engine->database());
  if (!files.ok()) return ReportSchemaTableError(files.status());
  for (const DataFile& file : *files) {
    if (!send(file, writer)) return false;
  }
  return true;
}

}  // namespace cairn
