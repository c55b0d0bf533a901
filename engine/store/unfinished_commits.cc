#include "engine/store/unfinished_commits.h"

#include <memory>
#include <utility>

#include "engine/store/rocksdb_status.h"

namespace cairn {

void UnfinishedCommits::Add(std::string name) {
  std::lock_guard lock(mutex_);
  names_.insert(std::move(name));
}

Status UnfinishedCommits::Retry(rocksdb::TransactionDB* database, RangeLockTable* locks) {
  std::lock_guard lock(mutex_);
  while (!names_.empty()) {
    rocksdb::Transaction* const transaction = database->GetTransactionByName(*names_.begin());
    if (transaction != nullptr) {
      CAIRN_RETURN_IF_ERROR(FromRocksDb(transaction->Commit()));
      delete transaction;
    }
    if (locks != nullptr) locks->ReleaseKept(*names_.begin());
    names_.erase(names_.begin());
  }
  return Status();
}

}  // namespace cairn
