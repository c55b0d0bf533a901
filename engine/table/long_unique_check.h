// Whether a row that an action of a foreign key changes gets the long unique value of another row
// (child_columns.h). For its own statements the server looks itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/index_codec.h"
#include "engine/table/child_columns.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Of one table; used by one thread. Its buffers are reused from row to row.
class LongUniqueCheck {
 public:
  // Outlives this.
  explicit LongUniqueCheck(const Table* table) : table_(table) {}

  // Looks for another row than the one with the primary key `row_key` that has the value of the
  // complete `record`. The hash stays locked until the transaction ends, as by statements of the
  // server. Errors: kDuplicateKey, kLockTimeout, kDeadlock, kLockLimit, kInterrupted, kCorruption,
  // kIoError, those of ChildColumns.
  Status Check(Transaction* transaction, ChildColumns* columns, uint32_t index,
               const uint8_t* record, std::string_view row_key);

 private:
  struct Wanted {
    Transaction* transaction;
    ChildColumns* columns;
    uint32_t index;
    const uint8_t* record;
    std::string_view row_key;
  };
  Result<bool> FindOther(const Wanted& wanted);
  Result<bool> HasValue(const Wanted& wanted, std::string_view entry);
  Result<bool> OtherStays(const Wanted& wanted);

  const Table* const table_;
  std::unique_ptr<const DecodePlan> plan_;  // Of whole rows.
  std::vector<uint8_t> other_record_;
  std::vector<std::string> other_blobs_;
  std::string hash_key_;
  // Of the row that was found.
  std::string other_key_;  // The primary key.
  std::string other_hash_key_;
};

}  // namespace cairn
