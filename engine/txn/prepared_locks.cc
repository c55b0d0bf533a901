#include "engine/txn/prepared_locks.h"

#include <utility>
#include <vector>

#include "engine/store/rocksdb_status.h"
#include "engine/txn/lock_list.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

rocksdb::Status LockKey(rocksdb::Transaction* holder, const ColumnFamily& family,
                        const rocksdb::Slice& key, LockMode mode) {
  const rocksdb::Status locked = holder->GetForUpdate(
      rocksdb::ReadOptions(), family.handle, key, static_cast<rocksdb::PinnableSlice*>(nullptr),
      /*exclusive=*/mode == LockMode::kExclusive, /*do_validate=*/false);
  return locked.IsNotFound() ? rocksdb::Status::OK() : locked;
}

// Locks every key of a write batch, but for those of the data dictionary, which no transaction locks; keeps the list of
// further locks that it finds there.
class KeyLocker final : public rocksdb::WriteBatch::Handler {
 public:
  KeyLocker(const Database& database, rocksdb::Transaction* holder)
      : database_(database), holder_(holder), list_key_(LockListKey()) {}

  const std::string& list() const { return list_; }

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    if (family == database_.system_family().id && key == list_key_) list_ = value.ToString();
    return Lock(family, key);
  }
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    return Lock(family, key);
  }
  rocksdb::Status SingleDeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    return Lock(family, key);
  }
  rocksdb::Status MergeCF(uint32_t family, const rocksdb::Slice& key,
                          const rocksdb::Slice&) override {
    return Lock(family, key);
  }
  rocksdb::Status MarkBeginPrepare(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkEndPrepare(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkRollback(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkCommit(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }

 private:
  rocksdb::Status Lock(uint32_t family_id, const rocksdb::Slice& key) {
    const ColumnFamily* const family = database_.FindFamily(family_id);
    if (family == nullptr || family_id == database_.system_family().id)
      return rocksdb::Status::OK();
    return LockKey(holder_, *family, key, LockMode::kExclusive);
  }

  const Database& database_;
  rocksdb::Transaction* const holder_;
  const std::string list_key_;
  std::string list_;
};

// A lock of the list that another transaction has was released before that one took it.
Status LockListed(const Database& database, const std::string& list, rocksdb::Transaction* holder) {
  CAIRN_ASSIGN_OR_RETURN(const LockList locks, DecodeLockList(list));
  holder->SetLockTimeout(0);
  for (const auto& [where, mode] : locks) {
    const auto& [family_id, key] = where;
    const ColumnFamily* const family = database.FindFamily(family_id);
    if (family == nullptr) continue;
    const rocksdb::Status locked = LockKey(holder, *family, key, mode);
    if (!locked.ok() && !locked.IsTimedOut()) return FromRocksDb(locked);
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<PreparedLocks>> PreparedLocks::Take(Database* database) {
  constexpr std::string_view kContext = "locking the rows of a prepared transaction";
  std::unique_ptr<PreparedLocks> locks(new PreparedLocks());
  std::vector<rocksdb::Transaction*> prepared;
  database->rocksdb()->GetAllPreparedTransactions(&prepared);
  std::map<std::string, std::string> lists;  // By transaction name.
  for (rocksdb::Transaction* transaction : prepared) {
    std::unique_ptr<rocksdb::Transaction> holder(
        database->rocksdb()->BeginTransaction(rocksdb::WriteOptions()));
    KeyLocker locker(*database, holder.get());
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(transaction->GetWriteBatch()->GetWriteBatch()->Iterate(&locker))
            .WithContext(kContext));
    if (!locker.list().empty()) lists.emplace(transaction->GetName(), locker.list());
    locks->holders_.emplace(transaction->GetName(), std::move(holder));
  }
  // What the transactions wrote comes first: there they cannot be in each other's way.
  for (const auto& [name, list] : lists) {
    CAIRN_RETURN_IF_ERROR(
        LockListed(*database, list, locks->holders_.at(name).get()).WithContext(kContext));
  }
  return locks;
}

void PreparedLocks::Release(const TransactionId& id) {
  std::lock_guard lock(mutex_);
  holders_.erase(EncodeTransactionName(id));
}

}  // namespace cairn
