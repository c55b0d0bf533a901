// Rows of one table that are fetched together by their primary keys, which costs about half of
// fetching them one by one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/store/database.h"
#include "engine/txn/transaction.h"
#include "rocksdb/slice.h"

namespace cairn {

// Used by one thread. Takes no room before it is used, and keeps its buffers for the next batch.
class RowBatch {
 public:
  static constexpr size_t kMostRows = 32;

  size_t size() const { return size_; }
  bool full() const { return size_ == kMostRows; }
  // Forgets the keys and lets go of the rows.
  void Clear() {
    if (size_ != 0) LetGo();
  }
  // Room for the next primary key, index number first; not when full. It counts once KeyAdded() is
  // called.
  std::string* NextKey();
  void KeyAdded() { ++size_; }

  // Fetches the rows of all keys, as they are for `view`. The outcome of each is its own.
  void Fetch(Transaction* transaction, const ColumnFamily& family, Transaction::View view);

  std::string_view key(size_t i) const { return slots_->keys[i]; }
  // Of Fetch(): ok, kNotFound, kCorruption, kIoError.
  Status status(size_t i) const;
  // With an ok status; valid until Clear() or the next Fetch().
  std::string_view value(size_t i) const { return slots_->values[i].ToStringView(); }

 private:
  struct Slots {
    Database* database = nullptr;
    const ColumnFamily* family = nullptr;
    std::array<std::string, kMostRows> keys;
    std::array<rocksdb::PinnableSlice, kMostRows> values;
    std::array<rocksdb::Status, kMostRows> statuses;
  };

  void LetGo();

  size_t size_ = 0;
  std::unique_ptr<Slots> slots_;
};

}  // namespace cairn
