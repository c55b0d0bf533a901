#include "engine/table/unique_suspects.h"

#include <utility>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/sort/sorted_files.h"
#include "engine/table/ordered_iterator.h"

namespace cairn {

// While they are sorted, values end with a number that makes them differ.
Status UniqueSuspects::Add(uint32_t position, std::string_view value) {
  std::unique_ptr<ExternalSorter>& sorter = sorters_[position];
  if (sorter == nullptr) {
    SortSettings settings = settings_;
    settings.keys_differ = true;
    const TableIndex& index = table_->index(position);
    sorter = MakeSorter(database_, index.family(), index.definition.id.index_number, settings);
  }
  key_.assign(value);
  AppendBigEndian(++count_, &key_);
  return sorter->Add(key_, std::string_view());
}

// An entry that has expired is in nobody's way.
Result<bool> UniqueSuspects::IsDuplicate(Transaction* transaction, uint32_t position,
                                         std::string_view value, std::string* entry) const {
  OrderedIterator iterator(table_->index(position).definition, transaction,
                           Transaction::View::kLatest);
  bool found = false;
  for (iterator.SeekAtOrAfter(value); iterator.Valid() && iterator.key().starts_with(value);
       iterator.Next()) {
    if (transaction->HidesExpired(iterator.value(), table_->ttl_seconds(),
                                  Transaction::View::kLatest)) {
      continue;
    }
    if (found) {
      entry->assign(iterator.key());
      return true;
    }
    found = true;
  }
  CAIRN_RETURN_IF_ERROR(iterator.status());
  return false;
}

Result<std::optional<UniqueSuspects::Duplicate>> UniqueSuspects::FindDuplicate(
    Transaction* transaction) {
  auto sorters = std::exchange(sorters_, {});
  for (auto& [position, sorter] : sorters) {
    std::optional<Duplicate> duplicate;
    std::string previous;
    const Status drained =
        sorter->Drain([&, at = position](std::string_view key, std::string_view) -> Status {
          const std::string_view value = key.substr(0, key.size() - sizeof(count_));
          if (value == previous) return Status();
          if (WaitInterrupted()) return Status(StatusCode::kInterrupted);
          previous.assign(value);
          std::string entry;
          CAIRN_ASSIGN_OR_RETURN(const bool found, IsDuplicate(transaction, at, value, &entry));
          if (!found) return Status();
          duplicate = Duplicate{at, std::move(entry)};
          return Status(StatusCode::kDuplicateKey);  // Ends the walk.
        });
    if (duplicate.has_value()) return duplicate;
    CAIRN_RETURN_IF_ERROR(drained);
  }
  return std::optional<Duplicate>();
}

}  // namespace cairn
