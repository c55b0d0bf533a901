#include "engine/txn/prepared_locks.h"

#include <utility>
#include <vector>

#include "engine/lsm/rocksdb_status.h"
#include "engine/store/batch_entries.h"
#include "engine/txn/auto_increment_raises.h"
#include "engine/txn/lock_list.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/write_batch_with_index.h"

namespace cairn {
namespace {

// What a prepared transaction locks.
struct PreparedKeys {
  LockList written;         // The keys of its batch, but for those of the data dictionary.
  std::string listed = "";  // The list of further locks, if it has one.
};

Result<PreparedKeys> KeysOf(rocksdb::Transaction* transaction, uint32_t system_family) {
  PreparedKeys keys;
  const std::string list_key = LockListKey();
  const auto add = [&](const BatchEntry& entry) {
    if (entry.family != system_family) {
      keys.written.emplace(RangeOfKey(entry.family, entry.key), LockMode::kExclusive);
    } else if (entry.change == BatchEntry::Change::kPut && entry.key == list_key) {
      keys.listed = entry.value;
    }
  };
  CAIRN_RETURN_IF_ERROR(ForEachEntry(*transaction->GetWriteBatch()->GetWriteBatch(), add));
  return keys;
}

rocksdb::Status LockKey(rocksdb::Transaction* holder, const ColumnFamily& family,
                        const rocksdb::Slice& key, LockMode mode) {
  const rocksdb::Status locked = holder->GetForUpdate(
      rocksdb::ReadOptions(), family.handle, key, static_cast<rocksdb::PinnableSlice*>(nullptr),
      /*exclusive=*/mode == LockMode::kExclusive, /*do_validate=*/false);
  return locked.IsNotFound() ? rocksdb::Status::OK() : locked;
}

// Without range locks, those of a list that are no single keys are passed over. A lock of the list
// that another transaction has was released before that one took it.
Status TakeLocks(Database* database, const LockList& locks, rocksdb::Transaction* holder) {
  holder->SetLockTimeout(0);
  for (const auto& [range, mode] : locks) {
    const ColumnFamily* const family = database->families().Find(range.family);
    if (family == nullptr || !IsOneKey(range)) continue;
    const rocksdb::Status locked = LockKey(holder, *family, range.first, mode);
    if (!locked.ok() && !locked.IsTimedOut()) return FromRocksDb(locked);
  }
  return Status();
}

Status TakeLocks(RangeLockTable* table, const LockList& locks, RangeLockTable::Owner* owner) {
  for (const auto& [range, mode] : locks) table->Restore(owner, range, mode);
  return Status();
}

}  // namespace

Result<std::unique_ptr<PreparedLocks>> PreparedLocks::Take(Database* database,
                                                           RangeLockTable* table) {
  constexpr std::string_view kContext = "locking the rows of a prepared transaction";
  std::unique_ptr<PreparedLocks> locks(new PreparedLocks());
  std::map<std::string, std::unique_ptr<RangeLockTable::Owner>> owners;  // By transaction name.
  const auto take = [&](const std::string& name, const LockList& list) {
    return table != nullptr ? TakeLocks(table, list, owners.at(name).get())
                            : TakeLocks(database, list, locks->holders_.at(name).get());
  };
  std::vector<rocksdb::Transaction*> prepared;
  database->rocksdb()->GetAllPreparedTransactions(&prepared);
  locks->any_recovered_ = !prepared.empty();
  std::map<std::string, LockList> lists;
  for (rocksdb::Transaction* transaction : prepared) {
    const std::string name = transaction->GetName();
    CAIRN_RETURN_IF_ERROR(database->prepared_indexes().Add(transaction).WithContext(kContext));
    // Whoever is handed out values next does not see what was prepared.
    CAIRN_RETURN_IF_ERROR(
        AutoIncrementRaises::Of(*database, *transaction->GetWriteBatch()->GetWriteBatch())
            .Write(database)
            .WithContext(kContext));
    const Result<PreparedKeys> keys = KeysOf(transaction, database->system_family().id);
    CAIRN_RETURN_IF_ERROR(keys.status().WithContext(kContext));
    if (!keys->listed.empty()) {
      CAIRN_ASSIGN_OR_RETURN(lists[name], DecodeLockList(keys->listed));
    }
    if (table != nullptr) {
      owners.emplace(name, std::make_unique<RangeLockTable::Owner>(transaction->GetID()));
    } else {
      locks->holders_.emplace(name, database->rocksdb()->BeginTransaction(rocksdb::WriteOptions()));
    }
    // What the transactions wrote comes first: there they cannot be in each other's way.
    CAIRN_RETURN_IF_ERROR(take(name, keys->written).WithContext(kContext));
  }
  for (const auto& [name, list] : lists) {
    CAIRN_RETURN_IF_ERROR(take(name, list).WithContext(kContext));
  }
  for (auto& [name, owner] : owners) table->Keep(name, std::move(owner));
  return locks;
}

void PreparedLocks::Release(const TransactionId& id) { GiveUp(id).reset(); }

std::unique_ptr<rocksdb::Transaction> PreparedLocks::GiveUp(const TransactionId& id) {
  std::lock_guard lock(mutex_);
  auto holder = holders_.extract(EncodeTransactionName(id));
  return holder.empty() ? nullptr : std::move(holder.mapped());
}

}  // namespace cairn
