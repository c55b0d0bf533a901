#include "engine/store/prepared_indexes.h"

#include <algorithm>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/store/batch_entries.h"
#include "rocksdb/utilities/write_batch_with_index.h"

namespace cairn {
namespace {

constexpr size_t kMergedKeyBytes = 3 * sizeof(uint32_t);
// An index number and a number: docs/stock-format.md, 3.
constexpr size_t kHiddenKeyBytes = sizeof(uint32_t) + sizeof(uint64_t);

}  // namespace

// The numbers that the keys of a batch begin with, and those of merged records of the dictionary:
// their keys begin with the type of the record, which no index has as its number, and go on with
// column family and number of an index (docs/stock-format.md, 12).
Result<PreparedIndexes::Numbers> PreparedIndexes::NumbersIn(const rocksdb::WriteBatch& batch) {
  Numbers numbers;
  CAIRN_RETURN_IF_ERROR(ForEachEntry(batch, [&](const BatchEntry& entry) {
    if (entry.key.size() < sizeof(uint32_t)) return;
    auto number = LoadBigEndian<uint32_t>(entry.key.data());
    if (entry.change == BatchEntry::Change::kMerge && entry.key.size() == kMergedKeyBytes) {
      numbers.emplace(LoadBigEndian<uint32_t>(entry.key.data() + 2 * sizeof(uint32_t)), 0);
      return;
    }
    uint64_t& largest = numbers[number];
    if (entry.key.size() != kHiddenKeyBytes) return;
    largest = std::max(largest, LoadBigEndian<uint64_t>(entry.key.data() + sizeof(uint32_t)));
  }));
  return numbers;
}

Status PreparedIndexes::Add(rocksdb::Transaction* transaction) {
  CAIRN_ASSIGN_OR_RETURN(Numbers numbers,
                         NumbersIn(*transaction->GetWriteBatch()->GetWriteBatch()));
  const std::lock_guard lock(mutex_);
  numbers_.insert_or_assign(transaction->GetName(), std::move(numbers));
  return Status();
}

// RocksDB forgets a name after it has written what its transaction held.
void PreparedIndexes::ForgetDecided(rocksdb::TransactionDB* database) {
  std::erase_if(numbers_, [database](const auto& transaction) {
    return database->GetTransactionByName(transaction.first) == nullptr;
  });
}

bool PreparedIndexes::Names(uint32_t index_number, rocksdb::TransactionDB* database) {
  const std::lock_guard lock(mutex_);
  ForgetDecided(database);
  for (const auto& [name, numbers] : numbers_) {
    if (numbers.contains(index_number)) return true;
  }
  return false;
}

uint64_t PreparedIndexes::LargestHiddenKey(uint32_t index_number,
                                           rocksdb::TransactionDB* database) {
  const std::lock_guard lock(mutex_);
  ForgetDecided(database);
  uint64_t largest = 0;
  for (const auto& [name, numbers] : numbers_) {
    if (const auto found = numbers.find(index_number); found != numbers.end()) {
      largest = std::max(largest, found->second);
    }
  }
  return largest;
}

}  // namespace cairn
