// Walks the entries of one index in key order, whichever way its column family sorts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/store/index_range.h"
#include "engine/txn/transaction.h"
#include "rocksdb/iterator.h"

namespace cairn {

// The shortest byte string above all strings that start with `prefix`. False when there is none (all
// bytes are ff).
bool PrefixSuccessor(std::string_view prefix, std::string* successor);

// Bounded to its index on both sides, so that it never walks the entries or tombstones of a neighbour.
// Belongs to one statement of one transaction.
class OrderedIterator {
 public:
  // With `most_skipped` it gives up when it would pass over more deleted entries than that in one step.
  OrderedIterator(const IndexEntry& index, Transaction* transaction, Transaction::View view,
                  uint64_t most_skipped = 0);

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

 private:
  const bool reverse_;
  const uint64_t epoch_;
  const bool merges_writes_;
  const IndexRange range_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace cairn
