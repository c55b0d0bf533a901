#include "engine/table/row_batch.h"

#include "engine/store/rocksdb_status.h"

namespace cairn {

void RowBatch::Clear() {
  for (size_t i = 0; i < size_; ++i) values_[i].Reset();
  size_ = 0;
}

void RowBatch::Fetch(Transaction* transaction, const ColumnFamily& family, Transaction::View view) {
  std::array<rocksdb::Slice, kMostRows> keys;
  for (size_t i = 0; i < size_; ++i) keys[i] = rocksdb::Slice(keys_[i]);
  transaction->GetMany(family, size_, keys.data(), view, values_.data(), statuses_.data());
}

Status RowBatch::status(size_t i) const { return FromRocksDb(statuses_[i]); }

}  // namespace cairn
