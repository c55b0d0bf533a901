#include "engine/txn/prepared_locks.h"

#include <utility>
#include <vector>

#include "engine/store/rocksdb_status.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "rocksdb/write_batch.h"

namespace cairn {
namespace {

// Locks every key of a write batch, but for those of the data dictionary, which no transaction locks.
class KeyLocker final : public rocksdb::WriteBatch::Handler {
 public:
  KeyLocker(const Database& database, rocksdb::Transaction* holder)
      : database_(database), holder_(holder) {}

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice&) override {
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
    const rocksdb::Status locked =
        holder_->GetForUpdate(rocksdb::ReadOptions(), family->handle, key,
                              static_cast<rocksdb::PinnableSlice*>(nullptr), /*exclusive=*/true,
                              /*do_validate=*/false);
    return locked.IsNotFound() ? rocksdb::Status::OK() : locked;
  }

  const Database& database_;
  rocksdb::Transaction* const holder_;
};

}  // namespace

Result<std::unique_ptr<PreparedLocks>> PreparedLocks::Take(Database* database) {
  std::unique_ptr<PreparedLocks> locks(new PreparedLocks());
  std::vector<rocksdb::Transaction*> prepared;
  database->rocksdb()->GetAllPreparedTransactions(&prepared);
  for (rocksdb::Transaction* transaction : prepared) {
    std::unique_ptr<rocksdb::Transaction> holder(
        database->rocksdb()->BeginTransaction(rocksdb::WriteOptions()));
    KeyLocker locker(*database, holder.get());
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(transaction->GetWriteBatch()->GetWriteBatch()->Iterate(&locker))
            .WithContext("locking the rows of a prepared transaction"));
    locks->holders_.emplace(transaction->GetName(), std::move(holder));
  }
  return locks;
}

void PreparedLocks::Release(const TransactionId& id) {
  std::lock_guard lock(mutex_);
  holders_.erase(EncodeTransactionName(id));
}

}  // namespace cairn
