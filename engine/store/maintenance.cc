#include "engine/store/maintenance.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/lsm/rocksdb_status.h"
#include "engine/sst/expiry.h"
#include "engine/store/index_range.h"
#include "rocksdb/utilities/checkpoint.h"

namespace cairn {

Maintenance::Maintenance(const Parts& parts)
    : parts_(parts), db_(parts.db), backup_checkpoint_(parts.db->GetEnv(), parts.directory) {}

Status Maintenance::FlushMemtables() {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (const ColumnFamily* family : parts_.families->All()) handles.push_back(family->handle);
  return FromRocksDb(db_->Flush(rocksdb::FlushOptions(), handles));
}

Status Maintenance::FlushUnloggedWrites() {
  return has_unlogged_writes_.load(std::memory_order_relaxed) ? FlushMemtables() : Status();
}

Status Maintenance::PauseBackgroundWork() {
  const CompactionThrottle::Haste haste(parts_.throttle);
  pause_wanted_ = true;
  std::lock_guard lock(merge_mutex_);
  pause_wanted_ = false;
  if (background_work_paused_) return Status();
  CAIRN_RETURN_IF_ERROR(FromRocksDb(db_->PauseBackgroundWork()));
  background_work_paused_ = true;
  return Status();
}

Status Maintenance::ContinueBackgroundWork() {
  const CompactionThrottle::Haste haste(parts_.throttle);
  std::lock_guard lock(merge_mutex_);
  if (!background_work_paused_) return Status();
  CAIRN_RETURN_IF_ERROR(FromRocksDb(db_->ContinueBackgroundWork()));
  background_work_paused_ = false;
  return Status();
}

void Maintenance::AbortCompactions() {
  const CompactionThrottle::Haste haste(parts_.throttle);
  db_->AbortAllCompactions();
}

void Maintenance::ResumeCompactions() { db_->ResumeAllCompactions(); }

Status Maintenance::Compact(const ColumnFamily& family, uint32_t threads) {
  const CompactionThrottle::Haste haste(parts_.throttle);
  rocksdb::CompactRangeOptions options;
  options.max_subcompactions = threads;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  ++compactions_running_;
  const std::string what =
      "Manual Compaction id " + std::to_string(++compactions_begun_) + " cf " + family.name;
  parts_.log->Write(Severity::kNote, what + " started.");
  Status compacted = FromRocksDb(db_->CompactRange(options, family.handle, nullptr, nullptr));
  parts_.log->Write(Severity::kNote,
                    what + (compacted.ok() ? " ended." : " aborted. " + compacted.ToString()));
  --compactions_running_;
  ++compactions_processed_;
  return compacted;
}

Status Maintenance::CompactIndex(const ColumnFamily& family, uint32_t index_number,
                                 std::atomic<bool>* cancel) {
  const CompactionThrottle::Haste haste(cancel == nullptr ? parts_.throttle : nullptr);
  const IndexRange range(family, index_number);
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = cancel;
  return FromRocksDb(db_->CompactRange(options, family.handle, &range.lower(), &range.upper()));
}

// RocksDB tells nobody of merges that it is asked for file by file.
void Maintenance::NoteMerged(const ColumnFamily& family) {
  parts_.file_statistics->MarkStale(family.id);
  parts_.write_stalls->Look(family.name);
}

Status Maintenance::CompactLevelZero() {
  const CompactionThrottle::Haste haste(parts_.throttle);
  std::lock_guard lock(merge_mutex_);  // A merge for reads may leave its file in level 0.
  for (const ColumnFamily* family : parts_.families->All()) {
    rocksdb::ColumnFamilyMetaData metadata;
    db_->GetColumnFamilyMetaData(family->handle, &metadata);
    std::vector<std::string> files;
    for (const rocksdb::SstFileMetaData& file : metadata.levels[0].files) {
      if (!file.being_compacted) files.push_back(file.name);
    }
    if (files.empty()) continue;
    const rocksdb::Status compacted =
        db_->CompactFiles(rocksdb::CompactionOptions(), family->handle, files, /*output_level=*/1);
    NoteMerged(*family);
    // A background compaction took some of the files in the meantime: they leave level 0 as well.
    if (!compacted.ok() && !compacted.IsInvalidArgument() && !compacted.IsAborted()) {
      return FromRocksDb(compacted);
    }
  }
  return Status();
}

Status Maintenance::CreateCheckpoint(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  CAIRN_RETURN_IF_ERROR(CheckCheckpointPath(parts_.directory, path));
  parts_.log->Write(Severity::kNote, "creating checkpoint in directory : " + path);
  rocksdb::Checkpoint* made = nullptr;
  CAIRN_RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(db_, &made)));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  CAIRN_RETURN_IF_ERROR(FromRocksDb(checkpoint->CreateCheckpoint(path))
                            .WithContext("creating a checkpoint in " + path));
  CAIRN_RETURN_IF_ERROR(FinishCheckpoint(db_->GetEnv(), parts_.directory, path));
  backup_checkpoint_.NoteMade(path, NowSeconds(db_));
  parts_.log->Write(Severity::kNote, "created checkpoint in directory : " + path);
  return Status();
}

Status Maintenance::RefreshStatistics() {
  Status result;
  FileStatistics& statistics = *parts_.file_statistics;
  const std::vector<uint32_t> stale = statistics.StaleFamilies();
  for (const ColumnFamily* family : parts_.families->All()) {
    if (family == &parts_.families->system_family()) continue;
    const bool is_stale = std::find(stale.begin(), stale.end(), family->id) != stale.end();
    // Looked at once since the start, also when nothing has changed.
    if (!is_stale && statistics.CountedAt(family->id).has_value()) continue;
    const Status refreshed = statistics.Refresh(db_, family->handle);
    if (result.ok()) result = refreshed;
    // As long as they are not there they never will be.
    if (family->opened_without_memtable && !statistics.MayHaveRangeDeletions(family->id)) {
      family->may_have_range_deletions.store(false, std::memory_order_relaxed);
    }
  }
  return result;
}

}  // namespace cairn
