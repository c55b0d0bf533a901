// The AUTO_INCREMENT values that a transaction has taken, as the dictionary will know them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/store/database.h"
#include "rocksdb/write_batch.h"

namespace cairn {

// Belongs to one thread.
class AutoIncrementRaises {
 public:
  // Those that the batch of a transaction holds, which may be prepared. What of them cannot be read
  // is left out, and the log says so.
  static AutoIncrementRaises Of(const Database& database, const rocksdb::WriteBatch& batch);

  void Raise(const TableDefinition& table, uint64_t next_value);
  bool empty() const { return raises_.empty(); }
  void Clear() { raises_.clear(); }

  // Puts those of tables that are still there into a batch, and forgets all. Errors: those of a
  // write batch.
  Status MoveTo(const Database& database, rocksdb::WriteBatchBase* batch);
  // Writes them to the database, without a sync, and forgets them. Errors: those of a write.
  Status Write(Database* database);
  // The same, for a transaction that is rolled back: what was handed out stays so, as with InnoDB,
  // also after a kill of the process. A rollback neither waits for that nor fails: while writes are
  // throttled nothing is written, and where the log cannot be written RocksDB's listener tells so.
  // Then the values, which no row has, may come again after a restart, unless a later transaction
  // takes others of the table.
  void WriteForRollback(Database* database);

 private:
  struct Raised {
    std::shared_ptr<const TableCounters> counters;  // Null: of a batch.
    std::string key;
    uint64_t next_value = 0;
  };

  std::vector<Raised> raises_;  // Few: one for each table.
};

}  // namespace cairn
