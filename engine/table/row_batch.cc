#include "engine/table/row_batch.h"

#include "engine/store/read_error.h"

namespace cairn {

std::string* RowBatch::NextKey() {
  if (slots_ == nullptr) slots_ = std::make_unique<Slots>();
  return &slots_->keys[size_];
}

void RowBatch::LetGo() {
  for (size_t i = 0; i < size_; ++i) slots_->values[i].Reset();
  size_ = 0;
}

void RowBatch::Fetch(Transaction* transaction, const ColumnFamily& family, Transaction::View view) {
  if (size_ == 0) return;
  std::array<rocksdb::Slice, kMostRows> keys;
  for (size_t i = 0; i < size_; ++i) keys[i] = rocksdb::Slice(slots_->keys[i]);
  slots_->database = &transaction->database();
  slots_->family = &family;
  transaction->GetMany(family, size_, keys.data(), view, slots_->values.data(),
                       slots_->statuses.data());
}

Status RowBatch::status(size_t i) const {
  return FromRead(slots_->database, *slots_->family, key(i), slots_->statuses[i]);
}

}  // namespace cairn
