// Walks the entries of one index in key order, whichever way its column family sorts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/lsm/prefix_extractor.h"
#include "engine/store/index_range.h"
#include "engine/txn/transaction.h"
#include "rocksdb/iterator.h"

namespace cairn {

// The shortest byte string above all strings that start with `prefix`. False when there is none
// (all bytes are ff).
bool PrefixSuccessor(std::string_view prefix, std::string* successor);

// Bounded to its index on both sides, so that it never walks the entries or tombstones of a
// neighbour. Belongs to one statement of one transaction.
//
// One that asks prefix filters shows only entries with the prefix of the key that it was positioned
// with, passes over others as it likes, and goes one way from there: forward after SeekAtOrAfter,
// backward after SeekBefore.
class OrderedIterator {
 public:
  // With `most_skipped` it gives up when it would pass over more deleted entries than that in one
  // step.
  OrderedIterator(const IndexDefinition& index, Transaction* transaction, Transaction::View view,
                  uint64_t most_skipped = 0);
  // For that seek: asks prefix filters if that loses nothing of what the seek wants.
  OrderedIterator(const IndexDefinition& index, Transaction* transaction, Transaction::View view,
                  const lsm::ConfinedSeek& seek);

  // The bounds lie in this object and RocksDB points at them.
  OrderedIterator(const OrderedIterator&) = delete;
  OrderedIterator& operator=(const OrderedIterator&) = delete;

  // "At or after", "before" and so on speak of key bytes.
  void SeekAtOrAfter(std::string_view key);
  void SeekBefore(std::string_view key);
  void SeekToFirst();
  void SeekToLast();
  void Next();
  void Previous();

  bool Valid() const { return iterator_->Valid(); }
  // Why it is not valid: ok at the end of the index.
  Status status() const;
  // Whether it is not valid because it gave up.
  bool GaveUp() const { return iterator_->status().IsIncomplete(); }
  // Valid until the iterator moves.
  std::string_view key() const { return iterator_->key().ToStringView(); }
  std::string_view value() const { return iterator_->value().ToStringView(); }

  // Whether it shows what all reads of the transaction's current statement with that view see, so
  // that any of them can use it.
  bool ServesStatementOf(const Transaction& transaction, Transaction::View view) const {
    return transaction_ == &transaction && view_ == view && view != Transaction::View::kLatest &&
           !merges_writes_ && IsCurrent(transaction);
  }
  // Whether it also shows what its transaction has written.
  bool merges_writes() const { return merges_writes_; }
  // Whether writes that it shows were undone under it: it must not be used any more.
  bool IsDangling(const Transaction& transaction) const {
    return merges_writes_ && epoch_ != transaction.epoch();
  }
  // Whether the iterator still shows what its transaction should see.
  bool IsCurrent(const Transaction& transaction) const {
    return epoch_ == transaction.epoch() && merges_writes_ == transaction.has_writes();
  }
  bool asks_filters() const { return extractor_ != nullptr; }
  bool AsksFiltersFor(const lsm::ConfinedSeek& seek) const {
    return lsm::MayAskPrefixFilters(extractor_, seek);
  }

 private:
  std::unique_ptr<rocksdb::Iterator> Make(const IndexDefinition& index, Transaction* transaction,
                                          uint64_t most_skipped) const;

  const ColumnFamily* const family_;
  const bool reverse_;
  const Transaction* const transaction_;
  const Transaction::View view_;
  const uint64_t epoch_;
  const bool merges_writes_;
  const IndexRange range_;
  const rocksdb::SliceTransform* extractor_ = nullptr;  // Null: it asks no filters.
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace cairn
