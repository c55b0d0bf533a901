// Bulk loads: SET rocksdb_bulk_load=1 begins them, writing to another table, SET and the end of the
// session finish them; so does whoever gives their table another definition.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/bulk_load.h"

class THD;

namespace cairn {

// The loads of all sessions that have not finished. Thread-safe.
class RunningLoads {
 public:
  void Add(const std::shared_ptr<BulkLoad>& load);
  // Finishes those of a table, a name in the dictionary, and of its partitions: its rows are in it
  // when its definition changes, or when somebody is about to look for them who waits for writers.
  // The first error is returned, after all are done.
  Status FinishOf(std::string_view table);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<BulkLoad>> loads_;
};

// The loads of one session. Used by its thread.
class BulkLoads {
 public:
  // The load that takes the rows of `table`, begun if need be; the partitions of a table have one
  // each. Loads of other tables are finished first, whose errors are returned.
  Result<std::shared_ptr<BulkLoad>> For(THD* thd, const std::shared_ptr<const Table>& table);
  // Finishes all; the first error is returned, after all are done.
  Status Finish();
  // Tables that are being loaded. For any thread.
  uint32_t table_count() const { return table_count_.load(std::memory_order_relaxed); }

 private:
  std::string table_;  // Of all loads, without partitions.
  std::map<std::string, std::shared_ptr<BulkLoad>, std::less<>>
      loads_;  // By name in the dictionary.
  std::atomic<uint32_t> table_count_{0};
};

}  // namespace cairn
