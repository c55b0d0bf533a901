#include "engine/store/prepared_indexes.h"

#include <utility>

#include "engine/base/bytes.h"
#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

// Collects what the keys of a batch begin with. Those of the data dictionary begin with the type of
// a record, which no index has as its number.
class NumberCollector final : public rocksdb::WriteBatch::Handler {
 public:
  std::set<uint32_t> Take() { return std::move(numbers_); }

  rocksdb::Status PutCF(uint32_t, const rocksdb::Slice& key, const rocksdb::Slice&) override {
    return Add(key);
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice& key) override { return Add(key); }
  rocksdb::Status SingleDeleteCF(uint32_t, const rocksdb::Slice& key) override { return Add(key); }
  rocksdb::Status MergeCF(uint32_t, const rocksdb::Slice& key, const rocksdb::Slice&) override {
    return Add(key);
  }
  rocksdb::Status MarkBeginPrepare(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkEndPrepare(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkRollback(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkCommit(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }

 private:
  rocksdb::Status Add(const rocksdb::Slice& key) {
    if (key.size() < sizeof(uint32_t)) return rocksdb::Status::OK();
    const auto number = LoadBigEndian<uint32_t>(key.data());
    if (number != last_) numbers_.insert(last_ = number);
    return rocksdb::Status::OK();
  }

  std::set<uint32_t> numbers_;
  uint32_t last_ = 0;  // No index has it.
};

}  // namespace

Status PreparedIndexes::Add(rocksdb::Transaction* transaction) {
  NumberCollector collector;
  CAIRN_RETURN_IF_ERROR(
      FromRocksDb(transaction->GetWriteBatch()->GetWriteBatch()->Iterate(&collector)));
  const std::lock_guard lock(mutex_);
  numbers_.insert_or_assign(transaction->GetName(), collector.Take());
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
