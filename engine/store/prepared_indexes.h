// Which indexes have entries in prepared transactions that no session owns: what such a transaction
// holds becomes part of the database whenever somebody decides it, even if the index was dropped
// meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "engine/base/status.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn {

// Thread-safe. Mutex: mutex_ guards the map; RocksDB's map of names is asked under it.
class PreparedIndexes {
 public:
  // A prepared transaction, which the caller has in hand, is left to be decided by its name.
  // Errors: kCorruption.
  Status Add(rocksdb::Transaction* transaction);
  // Whether a transaction that was added, and is not decided yet, has entries for the index of that
  // number. Entries of those that are decided can be read when this returns.
  bool Names(uint32_t index_number, rocksdb::TransactionDB* database);
  // The largest number that such a transaction gives a row of a table without a primary key, whose
  // hidden one is the index of that number; 0: none does. Rows of those that are decided can be
  // read when this returns.
  uint64_t LargestHiddenKey(uint32_t index_number, rocksdb::TransactionDB* database);

 private:
  // By index number; the largest of the 8-byte numbers that keys end with behind it.
  using Numbers = std::map<uint32_t, uint64_t>;

  static Result<Numbers> NumbersIn(const rocksdb::WriteBatch& batch);
  void ForgetDecided(rocksdb::TransactionDB* database);

  std::mutex mutex_;
  std::map<std::string, Numbers> numbers_;  // By transaction name.
};

}  // namespace cairn
