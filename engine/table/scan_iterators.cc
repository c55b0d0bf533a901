#include "engine/table/scan_iterators.h"

#include <utility>

namespace cairn {

ScanIterators::ScanIterators(const Table* table) : table_(table), kept_(table->indexes().size()) {}

void ScanIterators::ShowLatest() {
  view_ = Transaction::View::kLatest;
  Drop();
}

void ScanIterators::Ensure() {
  if (plain_ == nullptr || !plain_->IsCurrent(*transaction_)) {
    plain_ = std::move(kept_[index_]);
    const bool serves = plain_ != nullptr && plain_->ServesStatementOf(*transaction_, view_);
    if (!serves) plain_ = std::make_unique<OrderedIterator>(definition(), transaction_, view_);
  }
  current_ = plain_.get();
}

void ScanIterators::EnsureFor(const lsm::ConfinedSeek& seek) {
  if (!ask_filters_ ||
      !lsm::MayAskPrefixFilters(definition().family->prefix_extractor.current(), seek)) {
    return Ensure();
  }
  if (!filtering_.has_value() || !filtering_->AsksFiltersFor(seek) ||
      !filtering_->IsCurrent(*transaction_)) {
    filtering_.emplace(definition(), transaction_, view_, seek);
  }
  current_ = &*filtering_;
}

void ScanIterators::DropOpen() {
  if (transaction_ != nullptr && plain_ != nullptr &&
      plain_->ServesStatementOf(*transaction_, view_)) {
    kept_[index_] = std::move(plain_);
    keeps_ = true;
  }
  plain_.reset();
  filtering_.reset();
}

OrderedIterator* ScanIterators::ForStatement(Transaction* transaction, uint32_t index) {
  constexpr Transaction::View kView = Transaction::View::kSnapshot;
  std::unique_ptr<OrderedIterator>& kept = kept_[index];
  if (kept == nullptr || !kept->ServesStatementOf(*transaction, kView)) {
    kept = std::make_unique<OrderedIterator>(table_->index(index).definition, transaction, kView);
    keeps_ = true;
  }
  return kept.get();
}

void ScanIterators::ForgetKept() {
  for (std::unique_ptr<OrderedIterator>& kept : kept_) kept.reset();
  keeps_ = false;
}

}  // namespace cairn
