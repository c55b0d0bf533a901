#include "engine/upkeep/upkeep.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "engine/lsm/rocksdb_status.h"
#include "engine/store/index_range.h"
#include "rocksdb/convenience.h"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kLogSyncInterval(1000);
constexpr std::chrono::milliseconds kRemovalInterval(60'000);
// At most a tenth of the time goes into statistics, however many files there are.
constexpr std::chrono::milliseconds kStatisticsInterval(1000);
constexpr int kStatisticsRest = 9;
constexpr std::chrono::milliseconds kMergeInterval(1000);

}  // namespace

Upkeep::Upkeep(Database* database, Dictionary* dictionary)
    : database_(database), dictionary_(dictionary) {
  sync_thread_ = std::thread([this] { SyncLogLoop(); });
  removal_thread_ = std::thread([this] { RemoveDroppedIndexesLoop(); });
  statistics_thread_ = std::thread([this] { KeepStatisticsLoop(); });
  merge_thread_ = std::thread([this] { MergeLoop(); });
}

Upkeep::~Upkeep() {
  const CompactionThrottle::Haste haste(database_->throttle());
  sync_alarm_.Stop();
  removal_alarm_.Stop();
  cancel_compaction_ = true;  // Who sees it finds the alarm stopped.
  statistics_alarm_.Stop();
  merge_alarm_.Stop();
  database_->maintenance().AbortCompactions();  // A merge may have minutes to go.
  sync_thread_.join();
  removal_thread_.join();
  statistics_thread_.join();
  merge_thread_.join();
  database_->maintenance().ResumeCompactions();
}

void Upkeep::RemoveDroppedIndexes() { removal_alarm_.Ring(); }

// Bounds what a crash can lose of transactions that committed without a sync of their own.
void Upkeep::SyncLogLoop() {
  bool failing = false;
  while (sync_alarm_.Wait(kLogSyncInterval)) {
    const Status synced = database_->MakeCommitsDurable();
    if (!synced.ok() && !failing) {
      database_->log().Write(Severity::kError, "syncing the log: " + synced.ToString());
    }
    failing = !synced.ok();
  }
}

Status Upkeep::UpdateStatistics() {
  const Status refreshed = database_->maintenance().RefreshStatistics();
  const Status saved = dictionary_->SaveStatistics();
  return refreshed.ok() ? saved : refreshed;
}

// Goes round all indexes in the order of their numbers.
void Upkeep::MarkNextIndexesStale() {
  const uint32_t rate = recount_rate_;
  if (rate == 0) return;
  std::map<uint32_t, uint32_t> families;  // By index number.
  for (const auto& table : dictionary_->Tables()) {
    for (const IndexDefinition& index : table->indexes) {
      families.emplace(index.id.index_number, index.id.column_family);
    }
  }
  auto next = families.upper_bound(last_recounted_);
  for (uint32_t i = 0; i < rate && i < families.size(); ++i) {
    if (next == families.end()) next = families.begin();
    database_->file_statistics().MarkStale(next->second);
    last_recounted_ = next->first;
    ++next;
  }
}

void Upkeep::KeepStatisticsLoop() {
  bool failing = false;
  bool failing_flush = false;
  auto rest = kStatisticsInterval;
  while (statistics_alarm_.Wait(rest)) {
    const auto begun = std::chrono::steady_clock::now();
    database_->write_stalls().LookAtChanged();
    MarkNextIndexesStale();
    const Status updated = UpdateStatistics();
    if (!updated.ok() && !failing) {
      database_->log().Write(Severity::kWarning,
                             "updating the statistics of indexes: " + updated.ToString());
    }
    failing = !updated.ok();
    const Status flushed = database_->maintenance().FlushMemtablesWhereItPays();
    if (!flushed.ok() && !failing_flush) {
      database_->log().Write(Severity::kWarning,
                             "writing out what scans read in memory: " + flushed.ToString());
    }
    failing_flush = !flushed.ok();
    const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begun);
    rest = std::max(kStatisticsInterval, taken * kStatisticsRest);
  }
}

void Upkeep::MergeLoop() {
  bool failing = false;
  while (merge_alarm_.Wait(kMergeInterval)) {
    const Status merged = database_->maintenance().MergeLevelZeroWhereItPays(cancel_compaction_);
    if (!merged.ok() && !failing) {
      database_->log().Write(Severity::kWarning,
                             "merging files that reads ask one by one: " + merged.ToString());
    }
    failing = !merged.ok();
  }
}

void Upkeep::RemoveDroppedIndexesLoop() {
  std::set<IndexId> failing;  // What was said once.
  do {
    for (const IndexId id : dictionary_->PendingDrops()) {
      if (removal_alarm_.stopped()) return;
      const Status removed = RemoveIndex(id);
      if (removed.ok()) {
        failing.erase(id);
      } else if (!removal_alarm_.stopped() && failing.insert(id).second) {
        database_->log().Write(Severity::kWarning,
                               "removing the entries of the dropped index " +
                                   std::to_string(id.index_number) +
                                   " (will be tried again): " + removed.ToString());
      }
    }
  } while (removal_alarm_.Wait(kRemovalInterval));
}

// Deletes whole files inside the index's range, lets compactions filter the rest, and forgets the
// index when no entry is left.
Status Upkeep::RemoveIndex(IndexId id) {
  const ColumnFamily* family = database_->families().Find(id.column_family);
  if (family == nullptr) return dictionary_->ForgetDroppedIndex(id);
  const IndexRange range(*family, id.index_number);
  rocksdb::TransactionDB* const db = database_->rocksdb();

  const auto is_empty = [&]() -> Result<bool> {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    options.fill_cache = false;
    options.iterate_lower_bound = &range.lower();
    options.iterate_upper_bound = &range.upper();
    std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator(options, family->handle));
    iterator->SeekToFirst();
    if (iterator->Valid()) return false;
    CAIRN_RETURN_IF_ERROR(FromRocksDb(iterator->status()));
    return true;
  };

  // Asked before the entries are looked for, so that those of a decision in between are found.
  const bool more_may_come = database_->prepared_indexes().Names(id.index_number, db);
  CAIRN_ASSIGN_OR_RETURN(bool empty, is_empty());
  if (!empty) {
    CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb::DeleteFilesInRange(
        db->GetBaseDB(), family->handle, &range.lower(), &range.upper(), /*include_end=*/false)));
    CAIRN_RETURN_IF_ERROR(
        database_->maintenance().CompactIndex(*family, id.index_number, &cancel_compaction_));
    CAIRN_ASSIGN_OR_RETURN(empty, is_empty());
  }
  // A transaction that was open during the drop may still hold entries; the next round looks again.
  return empty && !more_may_come ? dictionary_->ForgetDroppedIndex(id) : Status();
}

}  // namespace cairn
