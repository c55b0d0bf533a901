// Bulk loads. With rocksdb_bulk_load=1 the first row of a table begins one; a row of another table,
// SET and the end of the session finish it. So does whoever gives the table another definition.
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

class BulkLoads;

// The loads of all sessions that have not finished. Thread-safe.
class RunningLoads {
 public:
  // `owner`: of the session, which hears of a failure when it goes on with its loads or ends them.
  void Add(const std::shared_ptr<BulkLoad>& load, const BulkLoads* owner);
  // Finishes those of a table, a name in the dictionary, and of its partitions: before its
  // definition changes, and before somebody looks for its rows after he has shut writers out. The
  // first error of a load of `asking` is returned, after all are done.
  Status FinishOf(std::string_view table, const BulkLoads& asking);

 private:
  struct Entry {
    std::weak_ptr<BulkLoad> load;
    const BulkLoads* owner;  // To compare.
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

// The loads of one session. Used by its thread.
class BulkLoads {
 public:
  // The load that takes the rows of `table`, begun if need be; the partitions of a table have one
  // each. Loads of other tables are finished first, whose errors are returned.
  Result<std::shared_ptr<BulkLoad>> For(THD* thd, const std::shared_ptr<const Table>& table);
  // Finishes all; the first error is returned, after all are done, also of a load that another
  // session has finished.
  Status Finish();
  // Tables that are being loaded. For any thread.
  uint32_t table_count() const { return table_count_.load(std::memory_order_relaxed); }

 private:
  std::string table_;  // Of all loads, without partitions.
  std::map<std::string, std::shared_ptr<BulkLoad>, std::less<>>
      loads_;  // By name in the dictionary.
  std::atomic<uint32_t> table_count_{0};
  Status lost_;  // Of a load that others have finished, until Finish() tells of it.
};

// RunningLoads::FinishOf() for the session.
Status FinishLoadsOf(THD* thd, std::string_view table);

}  // namespace cairn
