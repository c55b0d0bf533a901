#include "engine/store/unfinished_commits.h"

#include <utility>

#include "engine/store/rocksdb_status.h"

namespace cairn {

void UnfinishedCommits::Add(std::string name, std::unique_ptr<rocksdb::Transaction> holder,
                            Chance chance) {
  std::lock_guard lock(mutex_);
  Holders& holders = chance == Chance::kNow ? holders_ : for_the_next_start_;
  holders.insert_or_assign(std::move(name), std::move(holder));
}

Status UnfinishedCommits::Retry(rocksdb::TransactionDB* database, RangeLockTable* locks) {
  std::lock_guard lock(mutex_);
  while (!holders_.empty()) {
    const auto next = holders_.begin();
    rocksdb::Transaction* const transaction = database->GetTransactionByName(next->first);
    if (transaction != nullptr) {
      CAIRN_RETURN_IF_ERROR(FromRocksDb(transaction->Commit()));
      delete transaction;
    }
    if (locks != nullptr) locks->ReleaseKept(next->first);
    holders_.erase(next);
  }
  if (for_the_next_start_.empty()) return Status();
  return Status(StatusCode::kIoError,
                "a large transaction whose commit failed is committed at the next start");
}

void UnfinishedCommits::Clear() {
  std::lock_guard lock(mutex_);
  holders_.clear();
  for_the_next_start_.clear();
}

}  // namespace cairn
