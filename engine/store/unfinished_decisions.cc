#include "engine/store/unfinished_decisions.h"

#include <utility>

#include "engine/lsm/rocksdb_status.h"

namespace cairn {

void UnfinishedDecisions::Add(std::string name, Decision decision,
                              std::unique_ptr<rocksdb::Transaction> holder, Chance chance) {
  std::lock_guard lock(mutex_);
  Transactions& list = chance == Chance::kNow ? waiting_ : for_the_next_start_;
  list.try_emplace(std::move(name), Unfinished{decision, std::move(holder)});
}

Status UnfinishedDecisions::Retry(rocksdb::TransactionDB* database, RangeLockTable* locks) {
  std::lock_guard lock(mutex_);
  while (!waiting_.empty()) {
    const auto next = waiting_.begin();
    rocksdb::Transaction* const transaction = database->GetTransactionByName(next->first);
    if (transaction != nullptr) {
      const bool commits = next->second.decision == Decision::kCommit;
      CAIRN_RETURN_IF_ERROR(FromRocksDb(commits ? transaction->Commit() : transaction->Rollback()));
      delete transaction;
    }
    if (locks != nullptr) locks->ReleaseKept(next->first);
    waiting_.erase(next);
  }
  if (for_the_next_start_.empty()) return Status();
  return Status(StatusCode::kIoError,
                "a large transaction whose commit failed is committed at the next start");
}

bool UnfinishedDecisions::IsForTheNextStart(const std::string& name) {
  std::lock_guard lock(mutex_);
  return for_the_next_start_.count(name) != 0;
}

bool UnfinishedDecisions::IsTriedAgain(const std::string& name) {
  std::lock_guard lock(mutex_);
  return waiting_.count(name) != 0;
}

void UnfinishedDecisions::NoteTold(std::string name, Decision decision) {
  std::lock_guard lock(mutex_);
  told_.insert_or_assign(std::move(name), decision);
}

std::optional<UnfinishedDecisions::Decision> UnfinishedDecisions::Told(const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto found = told_.find(name);
  return found == told_.end() ? std::nullopt : std::optional(found->second);
}

void UnfinishedDecisions::Forget(const std::string& name) {
  std::lock_guard lock(mutex_);
  told_.erase(name);
}

void UnfinishedDecisions::Clear() {
  std::lock_guard lock(mutex_);
  waiting_.clear();
  for_the_next_start_.clear();
}

}  // namespace cairn
