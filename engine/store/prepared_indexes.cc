#include "engine/store/prepared_indexes.h"

#include <utility>

#include "engine/base/bytes.h"
#include "engine/store/batch_entries.h"
#include "rocksdb/utilities/write_batch_with_index.h"

namespace cairn {
namespace {

constexpr size_t kMergedKeyBytes = 3 * sizeof(uint32_t);

// The numbers that the keys of a batch begin with, and those of merged records of the dictionary:
// their keys begin with the type of the record, which no index has as its number, and go on with
// column family and number of an index (docs/stock-format.md, 12).
Result<std::set<uint32_t>> IndexNumbers(const rocksdb::WriteBatch& batch) {
  std::set<uint32_t> numbers;
  uint32_t last = 0;  // No index has it.
  CAIRN_RETURN_IF_ERROR(ForEachEntry(batch, [&](const BatchEntry& entry) {
    if (entry.key.size() < sizeof(uint32_t)) return;
    auto number = LoadBigEndian<uint32_t>(entry.key.data());
    if (entry.change == BatchEntry::Change::kMerge && entry.key.size() == kMergedKeyBytes) {
      number = LoadBigEndian<uint32_t>(entry.key.data() + 2 * sizeof(uint32_t));
    }
    if (number != last) numbers.insert(last = number);
  }));
  return numbers;
}

}  // namespace

Status PreparedIndexes::Add(rocksdb::Transaction* transaction) {
  CAIRN_ASSIGN_OR_RETURN(std::set<uint32_t> numbers,
                         IndexNumbers(*transaction->GetWriteBatch()->GetWriteBatch()));
  const std::lock_guard lock(mutex_);
  numbers_.insert_or_assign(transaction->GetName(), std::move(numbers));
  return Status();
}

// RocksDB forgets a name after it has written what its transaction held.
bool PreparedIndexes::Names(uint32_t index_number, rocksdb::TransactionDB* database) {
  const std::lock_guard lock(mutex_);
  std::erase_if(numbers_, [database](const auto& transaction) {
    return database->GetTransactionByName(transaction.first) == nullptr;
  });
  for (const auto& [name, numbers] : numbers_) {
    if (numbers.contains(index_number)) return true;
  }
  return false;
}

}  // namespace cairn
