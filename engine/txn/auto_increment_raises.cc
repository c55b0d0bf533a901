#include "engine/txn/auto_increment_raises.h"

#include <algorithm>

#include "engine/codec/dictionary_record.h"
#include "engine/lsm/rocksdb_status.h"
#include "engine/store/batch_entries.h"
#include "rocksdb/utilities/transaction_db.h"

namespace cairn {
namespace {

rocksdb::Status WriteUnlocked(Database* database, const rocksdb::WriteOptions& options,
                              rocksdb::WriteBatch* batch) {
  rocksdb::TransactionDBWriteOptimizations without_locks;
  without_locks.skip_concurrency_control = true;
  return database->rocksdb()->Write(options, without_locks, batch);
}

}  // namespace

AutoIncrementRaises AutoIncrementRaises::OfPrepared(const Database& database,
                                                    const rocksdb::WriteBatch& batch) {
  AutoIncrementRaises raises;
  if (!batch.HasMerge()) return raises;
  const uint32_t system = database.system_family().handle->GetID();
  const Status walked = ForEachEntry(batch, [&](const BatchEntry& entry) {
    if (entry.family != system || entry.change != BatchEntry::Change::kMerge) return;
    const Result<uint64_t> next_value = DecodeAutoIncrement(entry.value);
    if (next_value.ok()) raises.Raise(std::string(entry.key), next_value.value());
  });
  if (!walked.ok()) {
    database.log().Write(Severity::kWarning,
                         "AUTO_INCREMENT values of a prepared transaction: " + walked.ToString());
  }
  return raises;
}

void AutoIncrementRaises::Raise(const std::string& key, uint64_t next_value) {
  for (Raised& raised : raises_) {
    if (raised.key == key) {
      raised.next_value = std::max(raised.next_value, next_value);
      return;
    }
  }
  raises_.push_back(Raised{key, next_value});
}

Status AutoIncrementRaises::MoveTo(const Database& database, rocksdb::WriteBatchBase* batch) {
  rocksdb::ColumnFamilyHandle* const system = database.system_family().handle;
  for (const Raised& raised : raises_) {
    CAIRN_RETURN_IF_ERROR(
        FromRocksDb(batch->Merge(system, raised.key, EncodeAutoIncrement(raised.next_value))));
  }
  raises_.clear();
  return Status();
}

Status AutoIncrementRaises::Write(Database* database) {
  if (raises_.empty()) return Status();
  rocksdb::WriteBatch batch;
  CAIRN_RETURN_IF_ERROR(MoveTo(*database, &batch));
  return FromRocksDb(WriteUnlocked(database, rocksdb::WriteOptions(), &batch));
}

void AutoIncrementRaises::WriteAfterRollback(Database* database) {
  if (raises_.empty()) return;
  rocksdb::WriteOptions options;
  options.no_slowdown = true;
  rocksdb::WriteBatch batch;
  if (!MoveTo(*database, &batch).ok()) return;
  WriteUnlocked(database, options, &batch).PermitUncheckedError();
}

}  // namespace cairn
