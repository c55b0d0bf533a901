// Values of UNIQUE indexes that two entries have had at some time while the indexes were built.
//
// Others write meanwhile, so that one of the two may be gone by the end: only then it is decided
// whether the indexes are unique.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/sort/external_sorter.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

// Used by one thread at a time, in bounded memory.
class UniqueSuspects {
 public:
  // `database` and `table` outlive this.
  UniqueSuspects(Database* database, const Table* table, SortSettings settings)
      : database_(database), table_(table), settings_(std::move(settings)) {}

  // `value`: the unique bytes of an entry, index number first, of the index at this position.
  // Errors: kIoError, kNoSpace.
  Status Add(uint32_t position, std::string_view value);
  uint64_t count() const { return count_; }

  struct Duplicate {
    uint32_t position;
    std::string entry;  // Its key, index number first.
  };
  // The first entry that has the value of one before it, as the indexes are now; forgets all
  // suspects. Errors: those of Transaction, kInterrupted, kIoError, kNoSpace, kCorruption.
  Result<std::optional<Duplicate>> FindDuplicate(Transaction* transaction);

 private:
  Result<bool> IsDuplicate(Transaction* transaction, uint32_t position, std::string_view value,
                           std::string* entry) const;

  Database* const database_;
  const Table* const table_;
  const SortSettings settings_;
  std::map<uint32_t, std::unique_ptr<ExternalSorter>> sorters_;  // By position.
  uint64_t count_ = 0;
  std::string key_;
};

}  // namespace cairn
