// What the open database consists of, as lists for people: data files, options of column families.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/database.h"
#include "rocksdb/table_properties.h"

namespace cairn {

struct DataFile {
  std::string name;  // Without its directory.
  uint32_t column_family = 0;
  std::shared_ptr<const rocksdb::TableProperties> properties;
};

// All live data files, by column family. Errors: those of RocksDB.
Result<std::vector<DataFile>> ListDataFiles(const Database& database);

// Name and value of each option of a family, in the words of information_schema.ROCKSDB_CF_OPTIONS:
// objects by their names, NULL for those that are not set, ON and OFF for switches.
std::vector<std::pair<std::string, std::string>> DescribeFamilyOptions(const Database& database,
                                                                       const ColumnFamily& family);

}  // namespace cairn
