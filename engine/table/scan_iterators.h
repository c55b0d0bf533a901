// The iterators with which a cursor reads an index: made when they are needed, kept as long as they
// serve.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/lsm/prefix_extractor.h"
#include "engine/table/ordered_iterator.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Used by one thread. Between Open() and Close() it serves reads of one index by one statement.
class ScanIterators {
 public:
  // The table outlives this.
  explicit ScanIterators(const Table* table);

  // `index` is the index's position in the table; the transaction outlives what is read.
  // `ask_filters`: EnsureFor() may do so.
  void Open(Transaction* transaction, uint32_t index, Transaction::View view, bool ask_filters) {
    transaction_ = transaction;
    index_ = index;
    view_ = view;
    ask_filters_ = ask_filters;
  }
  void Close() {
    Drop();
    transaction_ = nullptr;
  }

  // What the iterators show.
  Transaction::View view() const { return view_; }
  // From now on that is what is committed now; there is no iterator yet.
  void ShowLatest();

  // The one that the scan stands on; null when there is none.
  OrderedIterator* current() const { return current_; }
  // Whether there is one that shows writes which were undone: it must not be used any more.
  bool IsDangling() const { return current_ != nullptr && current_->IsDangling(*transaction_); }
  // Has current() show every entry; at any position. It stays the one that it is, if it does.
  void Ensure();
  // The same for a seek. It asks prefix filters, if it may and they lose nothing.
  void EnsureFor(const lsm::ConfinedSeek& seek);
  // There is no current one any more. What serves later scans of the statement is kept.
  void Drop() {
    if (plain_ != nullptr || filtering_.has_value()) DropOpen();
    current_ = nullptr;
  }

  // One that shows what all reads of the transaction's statement see, for anybody until the next
  // call of this object; a scan uses it again. Not between Open() and Close().
  OrderedIterator* ForStatement(Transaction* transaction, uint32_t index);
  // The statement is over: what was kept for it goes, and pins nothing.
  void ReleaseKept() {
    if (keeps_) ForgetKept();
  }

 private:
  const IndexDefinition& definition() const { return table_->index(index_).definition; }
  void DropOpen();
  void ForgetKept();

  OrderedIterator* current_ = nullptr;
  const Table* const table_;
  Transaction* transaction_ = nullptr;
  uint32_t index_ = 0;
  Transaction::View view_ = Transaction::View::kSnapshot;
  bool ask_filters_ = true;
  // Each is kept for further reads of its kind.
  std::unique_ptr<OrderedIterator> plain_;
  std::optional<OrderedIterator> filtering_;
  // By index, for later scans of the same statement: to make one takes as long as to read dozens of
  // rows.
  std::vector<std::unique_ptr<OrderedIterator>> kept_;
  bool keeps_ = false;  // Some in kept_ may be there.
};

}  // namespace cairn
