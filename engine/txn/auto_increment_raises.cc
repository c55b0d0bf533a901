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

AutoIncrementRaises AutoIncrementRaises::Of(const Database& database,
                                            const rocksdb::WriteBatch& batch) {
  AutoIncrementRaises raises;
  if (!batch.HasMerge()) return raises;
  const uint32_t system = database.system_family().handle->GetID();
  const Status walked = ForEachEntry(batch, [&](const BatchEntry& entry) {
    if (entry.family != system || entry.change != BatchEntry::Change::kMerge) return;
    const Result<uint64_t> next_value = DecodeAutoIncrement(entry.value);
    if (next_value.ok()) {
      raises.raises_.push_back({nullptr, std::string(entry.key), next_value.value()});
    }
  });
  if (!walked.ok()) {
    database.log().Write(Severity::kWarning,
                         "AUTO_INCREMENT values of a transaction: " + walked.ToString());
  }
  return raises;
}

void AutoIncrementRaises::Raise(const TableDefinition& table, uint64_t next_value) {
  for (Raised& raised : raises_) {
    if (raised.counters == table.counters) {
      raised.next_value = std::max(raised.next_value, next_value);
      return;
    }
  }
  raises_.push_back({table.counters, Dictionary::AutoIncrementKey(table), next_value});
}

Status AutoIncrementRaises::MoveTo(const Database& database, rocksdb::WriteBatchBase* batch) {
  rocksdb::ColumnFamilyHandle* const system = database.system_family().handle;
  for (const Raised& raised : raises_) {
    // The session may have dropped it: a temporary table, or one that CREATE ... SELECT gave up.
    if (raised.counters != nullptr && raised.counters->dropped.load(std::memory_order_relaxed)) {
      continue;
    }
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

void AutoIncrementRaises::WriteForRollback(Database* database) {
  if (raises_.empty()) return;
  rocksdb::WriteOptions options;
  options.no_slowdown = true;
  rocksdb::WriteBatch batch;
  if (!MoveTo(*database, &batch).ok() || batch.Count() == 0) return;
  const rocksdb::Status written = WriteUnlocked(database, options, &batch);
  if (written.ok()) (void)database->WriteLog();
}

}  // namespace cairn
