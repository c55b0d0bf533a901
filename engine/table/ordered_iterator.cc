#include "engine/table/ordered_iterator.h"

#include "engine/base/bytes.h"
#include "engine/store/rocksdb_status.h"

namespace cairn {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) {
  return rocksdb::Slice(bytes.data(), bytes.size());
}

}  // namespace

bool PrefixSuccessor(std::string_view prefix, std::string* successor) {
  successor->assign(prefix);
  while (!successor->empty()) {
    auto& last = reinterpret_cast<unsigned char&>(successor->back());
    if (last != 0xff) {
      ++last;
      return true;
    }
    successor->pop_back();
  }
  return false;
}

OrderedIterator::OrderedIterator(const IndexEntry& index, Transaction* transaction,
                                 Transaction::View view)
    : reverse_(index.family->reverse),
      epoch_(transaction->epoch()),
      merges_writes_(transaction->has_writes()) {
  AppendBigEndian(index.id.index_number, &first_bytes_);
  AppendBigEndian(index.id.index_number + 1, &end_bytes_);
  // In a reverse family the comparator's order runs from the end to the beginning. No key equals a bare
  // index number, so that it does not matter which bound is the inclusive one.
  lower_bound_ = reverse_ ? end_bytes_ : first_bytes_;
  upper_bound_ = reverse_ ? first_bytes_ : end_bytes_;
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.iterate_lower_bound = &lower_bound_;
  options.iterate_upper_bound = &upper_bound_;
  iterator_ = transaction->NewIterator(*index.family, options, view);
}

void OrderedIterator::SeekAtOrAfter(std::string_view key) {
  if (reverse_) {
    iterator_->SeekForPrev(ToSlice(key));
  } else {
    iterator_->Seek(ToSlice(key));
  }
}

void OrderedIterator::SeekBefore(std::string_view key) {
  if (reverse_) {
    iterator_->Seek(ToSlice(key));
  } else {
    iterator_->SeekForPrev(ToSlice(key));
  }
  if (iterator_->Valid() && iterator_->key() == ToSlice(key)) Previous();
}

void OrderedIterator::SeekToFirst() { SeekAtOrAfter(first_bytes_); }

void OrderedIterator::SeekToLast() { SeekBefore(end_bytes_); }

void OrderedIterator::Next() {
  if (reverse_) {
    iterator_->Prev();
  } else {
    iterator_->Next();
  }
}

void OrderedIterator::Previous() {
  if (reverse_) {
    iterator_->Next();
  } else {
    iterator_->Prev();
  }
}

Status OrderedIterator::status() const { return FromRocksDb(iterator_->status()); }

}  // namespace cairn
