// What changes in an index while it is being built: the delta that writers leave beside the rows,
// and what the build reads of it.
//
// The delta is an index of its own. A key is that of the index that is being built, with the
// delta's number for the index's and the generation (IndexBuildState) behind it. The last value of
// a key, in the last generation that has it, says what becomes of that entry, whatever the scan of
// the rows has seen of it. Nothing of this outlives the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

// With what the keys of one generation begin, and no others.
std::string DeltaPrefix(uint32_t delta_number, uint32_t generation);
// The key of an entry in the index of that number.
void DecodeDeltaKey(std::string_view delta_key, uint32_t index_number, std::string* key);

struct DeltaEntry {
  bool exists = false;        // The index is to have the entry, with this value.
  std::string_view value;     // Borrowed.
  uint32_t unique_bytes = 0;  // Of the key, that are unique; 0: the entry is unlike any other.
};

// Of the value of a key. Errors: kCorruption.
Result<DeltaEntry> DecodeDelta(std::string_view value);

// How many bytes at the front of the key are unique, 0 when nothing can collide. `prefix` is a
// buffer.
uint32_t UniqueBytes(const IndexCodec& codec, const uint8_t* record, std::string* prefix);

// Part of a TableWriter; the caller has locked the row. Errors of all functions: kInternal,
// kAborted (the write batch is full).
class DeltaWriter {
 public:
  explicit DeltaWriter(const Table* table) : table_(table) {}

  struct Row {
    const uint8_t* record;
    uint64_t hidden_key;
    uint64_t ttl_stamp;
  };
  void AppendChecksums(bool append) { append_checksums_ = append; }

  Status Insert(Transaction* transaction, const Row& row);
  Status Update(Transaction* transaction, const Row& old_row, const Row& new_row);
  Status Delete(Transaction* transaction, const uint8_t* record, uint64_t hidden_key);

 private:
  void EncodeEntry(const TableBuild& build, const Row& row, std::string* key, std::string* value);
  Status PutEntry(Transaction* transaction, const TableBuild& build, const uint8_t* record);
  Status PutGone(Transaction* transaction, const TableBuild& build, std::string_view key);
  Status Put(Transaction* transaction, const TableBuild& build, std::string_view key,
             std::string_view value);

  const Table* const table_;
  bool append_checksums_ = false;
  std::string key_;
  std::string value_;
  std::string delta_key_;
  std::string old_key_;
  std::string old_value_;
  std::string unpack_info_;
  std::string unique_prefix_;
};

}  // namespace cairn
