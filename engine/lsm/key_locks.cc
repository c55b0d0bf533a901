#include "engine/lsm/key_locks.h"

#include <string>
#include <utility>

#include "engine/base/assert.h"
#include "engine/lsm/held_keys.h"
#include "engine/lsm/rocksdb_internals.h"

namespace cairn::lsm {
namespace {

class KeyLocks final : public rocksdb::PointLockManager {
 public:
  // RocksDB's asks the database for nothing but whether transactions have expired.
  explicit KeyLocks(const rocksdb::TransactionDBOptions& options)
      : PointLockManager(nullptr, options) {}

  const rocksdb::LockTrackerFactory& GetLockTrackerFactory() const override { return factory_; }

  using PointLockManager::UnLock;
  void UnLock(rocksdb::PessimisticTransaction* transaction, const rocksdb::LockTracker& tracker,
              rocksdb::Env* env) override {
    const auto& held = static_cast<const HeldKeys&>(tracker).all();
    if (held.size() > HeldKeys::kFew) {
      // Many at once, so that those who wait for one of a stripe wake once.
      PointLockManager::UnLock(transaction, tracker, env);
      return;
    }
    for (const HeldKeys::Held& one : held) UnLock(transaction, one.family, one.key, env);
  }

 protected:
  // Who need not wait needs no time either.
  rocksdb::Status AcquireWithTimeout(rocksdb::PessimisticTransaction* transaction,
                                     rocksdb::LockMap* map, rocksdb::LockMapStripe* stripe,
                                     uint32_t family, const std::string& key, rocksdb::Env* env,
                                     int64_t timeout_us, int64_t deadlock_timeout_us,
                                     const rocksdb::LockInfo& wanted) override {
    const auto acquire = [&](int64_t within_us) {
      return PointLockManager::AcquireWithTimeout(transaction, map, stripe, family, key, env,
                                                  within_us, deadlock_timeout_us, wanted);
    };
    rocksdb::Status acquired = acquire(0);
    return acquired.ok() || timeout_us == 0 ? acquired : acquire(timeout_us);
  }

 private:
  const HeldKeysFactory factory_;
};

class KeyLocksHandle final : public rocksdb::LockManagerHandle {
 public:
  explicit KeyLocksHandle(const rocksdb::TransactionDBOptions& options) : locks_(options) {}
  rocksdb::LockManager* getLockManager() override { return &locks_; }

 private:
  KeyLocks locks_;
};

// RocksDB clears a transaction when it has ended, and again when its object begins another, each
// time with the index of its batch, which may have had no entries.
class ReusedTransaction final : public rocksdb::WriteCommittedTxn {
 public:
  using WriteCommittedTxn::WriteCommittedTxn;

 private:
  void Clear() override {
    if (std::exchange(is_clear_, false) && IsAsCleared()) return;
    if (write_batch_.GetWBWIOpCount() == 0 && IsWithoutRocksDbsOwn()) {
      ClearAllButIndex();
    } else {
      WriteCommittedTxn::Clear();
    }
    is_clear_ = true;
  }

  // What it counts of its own writes and savepoints, or writes at commit.
  bool IsWithoutRocksDbsOwn() {
    return save_points_ == nullptr &&
           num_puts_ + num_put_entities_ + num_deletes_ + num_merges_ == 0 &&
           GetCommitTimeWriteBatch()->GetDataSize() == rocksdb::WriteBatchInternal::kHeader;
  }

  void ClearAllButIndex() {
    txn_db_impl_->UnLock(this, *tracked_locks_);
    write_batch_.GetWriteBatch()->Clear();
    tracked_locks_->Clear();
    if (dbimpl_->allow_2pc()) InitWriteBatch();
  }

  // Whether nothing has come since: the batch has its mark for two-phase commit alone.
  bool IsAsCleared() {
    return save_points_ == nullptr && tracked_locks_->GetNumPointLocks() == 0 &&
           write_batch_.GetDataSize() == rocksdb::WriteBatchInternal::kHeader + kMarkBytes &&
           GetCommitTimeWriteBatch()->GetDataSize() == rocksdb::WriteBatchInternal::kHeader;
  }

  static constexpr size_t kMarkBytes = 1;

  bool is_clear_ = false;
};

}  // namespace

void UseKeyLocks(rocksdb::TransactionDBOptions* options) {
  options->lock_mgr_handle = std::make_shared<KeyLocksHandle>(*options);
}

std::unique_ptr<rocksdb::Transaction> BeginTransaction(
    rocksdb::TransactionDB* database, const rocksdb::WriteOptions& write_options,
    const rocksdb::TransactionOptions& options, std::unique_ptr<rocksdb::Transaction> earlier) {
  CAIRN_ASSERT(options.expiration < 0);
  const auto& settings =
      static_cast<rocksdb::PessimisticTransactionDB*>(database)->GetTxnDBOptions();
  if (earlier == nullptr && settings.write_policy == rocksdb::WRITE_COMMITTED) {
    return std::make_unique<ReusedTransaction>(database, write_options, options);
  }
  return std::unique_ptr<rocksdb::Transaction>(
      database->BeginTransaction(write_options, options, earlier.release()));
}

}  // namespace cairn::lsm
