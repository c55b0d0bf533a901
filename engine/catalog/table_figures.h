// How large a table is, on disk and in memory, and what its files hold beside rows: from counts
// that RocksDB and the engine keep anyway, without reading a row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/catalog/dictionary.h"
#include "engine/store/database.h"

namespace cairn {

struct TableFigures {
  uint64_t rows =
      0;  // Estimated: what the files hold less their deletions, and what is in memtables.
  uint64_t disk_bytes = 0;  // Of all indexes, with their share of index and filter blocks.
  uint64_t data_bytes = 0;  // The same entries before compression.
  uint64_t memtable_bytes = 0;
  uint64_t tombstones = 0;  // Deletions in files that no compaction took away yet.
  // The table's share, by size, of what waits to be compacted in its column families.
  uint64_t pending_compaction_bytes = 0;
  // When the statistics were counted last, microseconds since the epoch; none since the start of
  // the server.
  std::optional<int64_t> analysed_us;
};

// Reads figures of many tables and asks each column family only once. Used by one thread.
class TableFigureReader {
 public:
  // Counts the files of families that were not counted since the start. `database` outlives this.
  explicit TableFigureReader(Database* database);
  TableFigures Read(const TableDefinition& table);

 private:
  struct Family {
    uint64_t disk_bytes = 0;
    uint64_t pending_bytes = 0;
  };
  const Family& FamilyOf(const ColumnFamily& family);

  Database* const database_;
  std::map<uint32_t, Family> families_;
};

}  // namespace cairn
