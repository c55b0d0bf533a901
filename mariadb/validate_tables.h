// Comparing the data dictionary with the server's .frm files at start (rocksdb_validate_tables).
#pragma once

#include <string>
#include <vector>

#include "engine/catalog/dictionary.h"

namespace cairn {

// One line for every table that only the dictionary or only a .frm file below `data_directory`
// knows of. Names of the server's own making (#sql) do not count, and a partitioned table's file
// does not say which engine its partitions have. Files that cannot be read are named as well.
std::vector<std::string> FindSchemaMismatches(const Dictionary& dictionary,
                                              const std::string& data_directory);

// The encoded names "db.table" of the .frm files in one database's directory that are of this
// engine, partitioned or not, and that the dictionary does not know. Errors: kIoError.
Result<std::vector<std::string>> FindUnregistered(const Dictionary& dictionary,
                                                  const std::string& database);

// Logs them when the variable asks for it. The start goes on: a table that is out of step is of no
// harm to the others, and opening it gives an error.
void ValidateTables(const Dictionary& dictionary);

}  // namespace cairn
