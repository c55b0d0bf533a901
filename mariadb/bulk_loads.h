// The bulk loads of one session: SET rocksdb_bulk_load=1 begins them, writing to another table, SET
// and the end of the session finish them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/table/bulk_load.h"

class THD;

namespace cairn {

// Used by the session's thread.
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
