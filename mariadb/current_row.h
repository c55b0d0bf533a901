// A row that a statement has read and is about to change, as it is by then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/codec/index_codec.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

struct TABLE;

namespace cairn {

// Actions of foreign keys may have changed the row since: those of a statement in a trigger or a
// function, of which the server knows nothing. An UPDATE then changes the columns to which it gives
// other values, and leaves the others as they are now; so does InnoDB.
//
// Records are the server's, without virtual columns that indexes have; BLOBs are valid until the
// next Read().
class CurrentRow {
 public:
  // Both outlive this; `table` is the engine's.
  CurrentRow(const TABLE* server_table, const Table* table);

  // Reads the row that was `old_record`, which is locked. False: it has gone, or has another
  // primary key. Errors: those of Transaction::Get, kCorruption.
  Result<bool> Read(Transaction* transaction, const uint8_t* old_record, uint64_t hidden_key);
  const uint8_t* record() const { return record_.data(); }
  // What becomes of it by an UPDATE that made `new_record` of `old_record`. Valid until the next
  // call.
  const uint8_t* Update(const uint8_t* old_record, const uint8_t* new_record);

 private:
  const TABLE* const server_table_;
  const Table* const table_;
  std::unique_ptr<const DecodePlan> plan_;  // Of whole rows.
  rocksdb::PinnableSlice value_;
  std::vector<uint8_t> record_;
  std::vector<uint8_t> updated_;
  std::string key_;
  std::string unpack_info_;
};

}  // namespace cairn
