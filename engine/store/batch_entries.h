// What a write batch does to the entries of the database.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/base/status.h"
#include "rocksdb/write_batch.h"

namespace cairn {

struct BatchEntry {
  enum class Change : uint8_t { kPut, kMerge, kDelete, kSingleDelete };

  Change change;
  uint32_t family;         // RocksDB's number of the column family.
  std::string_view key;    // Until the batch changes.
  std::string_view value;  // What is put or merged; as long as the key.
};

// Calls `use` for each entry, in the order of the batch, which may be one of a prepared transaction
// or of the log. Errors: kCorruption; others for what we never write, such as deletions of ranges.
Status ForEachEntry(const rocksdb::WriteBatch& batch,
                    const std::function<void(const BatchEntry&)>& use);

}  // namespace cairn
