#include "engine/table/ordered_iterator.h"

#include "engine/store/read_error.h"

namespace cairn {
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

OrderedIterator::OrderedIterator(const IndexDefinition& index, Transaction* transaction,
                                 Transaction::View view, uint64_t most_skipped)
    : family_(index.family),
      reverse_(index.family->reverse),
      transaction_(transaction),
      view_(view),
      epoch_(transaction->epoch()),
      merges_writes_(transaction->has_writes()),
      range_(*index.family, index.id.index_number),
      iterator_(Make(index, transaction, most_skipped)) {}

OrderedIterator::OrderedIterator(const IndexDefinition& index, Transaction* transaction,
                                 Transaction::View view, const lsm::ConfinedSeek& seek)
    : family_(index.family),
      reverse_(index.family->reverse),
      transaction_(transaction),
      view_(view),
      epoch_(transaction->epoch()),
      merges_writes_(transaction->has_writes()),
      range_(*index.family, index.id.index_number) {
  const lsm::PrefixExtractor& extractor = index.family->prefix_extractor;
  const rocksdb::SliceTransform* const known = extractor.current();
  if (lsm::MayAskPrefixFilters(known, seek)) extractor_ = known;
  iterator_ = Make(index, transaction, /*most_skipped=*/0);
  if (extractor_ == nullptr || extractor.current() == known) return;
  // It was replaced meanwhile, and the iterator may go by another one.
  extractor_ = nullptr;
  iterator_ = Make(index, transaction, /*most_skipped=*/0);
}

std::unique_ptr<rocksdb::Iterator> OrderedIterator::Make(const IndexDefinition& index,
                                                         Transaction* transaction,
                                                         uint64_t most_skipped) const {
  rocksdb::ReadOptions options;
  options.total_order_seek = !asks_filters();
  options.prefix_same_as_start = asks_filters();
  options.max_skippable_internal_keys = most_skipped;
  options.iterate_lower_bound = &range_.lower();
  options.iterate_upper_bound = &range_.upper();
  return transaction->NewIterator(*index.family, options, view_);
}

void OrderedIterator::SeekAtOrAfter(std::string_view key) {
  if (reverse_) {
    iterator_->SeekForPrev(key);
  } else {
    iterator_->Seek(key);
  }
}

void OrderedIterator::SeekBefore(std::string_view key) {
  if (reverse_) {
    iterator_->Seek(key);
  } else {
    iterator_->SeekForPrev(key);
  }
  if (iterator_->Valid() && iterator_->key() == key) Previous();
}

void OrderedIterator::SeekToFirst() { SeekAtOrAfter(range_.first()); }

void OrderedIterator::SeekToLast() { SeekBefore(range_.end()); }

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

Status OrderedIterator::status() const {
  return FromRead(&transaction_->database(), *family_, range_.first(), iterator_->status());
}

}  // namespace cairn
