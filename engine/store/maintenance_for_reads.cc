// Maintenance: what is done in the background because it makes reads cheaper, memtables that are
// written out and files that are merged.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/lsm/rocksdb_status.h"
#include "engine/store/maintenance.h"

namespace cairn {

// Nothing is written out where it would only add to the memtables that wait to be written, or the
// files to be merged; nor while writing fails, as RocksDB, which recovers from that by itself, does
// not from a memtable that cannot be replaced.
Status Maintenance::FlushMemtablesWhereItPays() {
  if (parts_.log_failure->any()) return Status();
  for (const ColumnFamily* family : parts_.families->All()) {
    const lsm::MemtableReads::Figures seen = family->memtable_reads.figures();
    if (!lsm::MemtableReads::Pays(seen, /*merged_bytes=*/0)) continue;
    uint64_t entries = 0;
    if (!db_->GetIntProperty(family->handle, rocksdb::DB::Properties::kNumEntriesActiveMemTable,
                             &entries) ||
        entries < seen.entries) {
      family->memtable_reads.Forget();  // It is another memtable by now.
      continue;
    }
    uint64_t unwritten = 0;
    db_->GetIntProperty(family->handle, rocksdb::DB::Properties::kNumImmutableMemTable, &unwritten);
    if (unwritten != 0) continue;
    const rocksdb::Options options = db_->GetOptions(family->handle);
    rocksdb::ColumnFamilyMetaData files;
    db_->GetColumnFamilyMetaData(family->handle, &files);
    const auto waiting = static_cast<int>(files.levels.empty() ? 0 : files.levels[0].files.size());
    const int most_waiting = std::max(options.level0_file_num_compaction_trigger, 1);
    if (options.disable_auto_compactions || waiting >= most_waiting) continue;
    // So many files of level 0 are merged with it and with the next level at once.
    uint64_t merged_bytes = files.levels.empty() ? 0 : files.levels[0].size;
    for (size_t level = 1; level < files.levels.size() && merged_bytes == files.levels[0].size;
         ++level) {
      merged_bytes += files.levels[level].size;
    }
    if (!lsm::MemtableReads::Pays(seen, merged_bytes / most_waiting)) continue;
    family->memtable_reads.Forget();
    rocksdb::FlushOptions flush;
    flush.wait = false;
    flush.allow_write_stall = true;  // Else it would wait for one to end.
    CAIRN_RETURN_IF_ERROR(FromRocksDb(db_->Flush(flush, family->handle)));
    ++memtables_written_for_reads_;
  }
  return Status();
}

// Nothing is merged while writing fails.
Status Maintenance::MergeLevelZeroWhereItPays(const std::atomic<bool>& cancel) {
  Status first_error;
  for (const ColumnFamily* family : parts_.families->All()) {
    std::lock_guard lock(merge_mutex_);
    if (cancel.load(std::memory_order_relaxed) || pause_wanted_ || background_work_paused_ ||
        parts_.log_failure->any()) {
      break;
    }
    const Status merged = MergeLevelZeroWhereItPays(*family);
    if (first_error.ok()) first_error = merged;
  }
  return first_error;
}

// Whether RocksDB merges something, or is about to, in any family. That is more urgent, and with
// few background jobs one of ours would hold it up.
bool Maintenance::IsCompacting() const {
  uint64_t running = 0;
  db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions, &running);
  if (running != 0) return true;
  const std::vector<const ColumnFamily*> families = parts_.families->All();
  return std::any_of(families.begin(), families.end(), [this](const ColumnFamily* family) {
    uint64_t pending = 0;
    db_->GetIntProperty(family->handle, rocksdb::DB::Properties::kCompactionPending, &pending);
    return pending != 0 && !db_->GetOptions(family->handle).disable_auto_compactions;
  });
}

Status Maintenance::MergeLevelZeroWhereItPays(const ColumnFamily& family) {
  const auto level_of = [&](int level, const rocksdb::OptSlice& smallest,
                            const rocksdb::OptSlice& largest) {
    rocksdb::ColumnFamilyMetaData found;
    db_->GetColumnFamilyMetaData(family.handle, {smallest, largest, level}, &found);
    return found.levels.empty() ? rocksdb::LevelMetaData(level, 0, {}) : found.levels[0];
  };
  const rocksdb::LevelMetaData top = level_of(0, {}, {});
  if (top.files.empty()) return Status();
  lsm::LevelZeroReads::Files files{
      .oldest = top.files.back().file_number, .count = top.files.size(), .bytes = top.size};
  for (const rocksdb::SstFileMetaData& file : top.files) {
    files.asked += file.num_reads_sampled;
    if (file.being_compacted) return Status();
  }
  if (!family.level_zero_reads.MayPay(files.oldest, files.asked) || IsCompacting()) return Status();

  const rocksdb::Options options = db_->GetOptions(family.handle);
  uint64_t base_level = 0;
  if (options.disable_auto_compactions ||
      options.compaction_style != rocksdb::kCompactionStyleLevel ||
      !db_->GetIntProperty(family.handle, rocksdb::DB::Properties::kBaseLevel, &base_level)) {
    return Status();
  }
  files.trigger = static_cast<uint64_t>(std::max(options.level0_file_num_compaction_trigger, 0));
  std::vector<std::string> names;
  std::string smallest = top.files[0].smallestkey;
  std::string largest = top.files[0].largestkey;
  for (const rocksdb::SstFileMetaData& file : top.files) {
    names.push_back(file.name);
    if (options.comparator->Compare(file.smallestkey, smallest) < 0) smallest = file.smallestkey;
    if (options.comparator->Compare(file.largestkey, largest) > 0) largest = file.largestkey;
  }
  const auto below = level_of(static_cast<int>(base_level), smallest, largest);
  files.bytes_below = below.size;
  if (files.count == 1 && below.files.empty()) return Status();
  for (const rocksdb::SstFileMetaData& file : below.files) {
    if (file.being_compacted) return Status();
  }
  const lsm::LevelZeroMerge choice = family.level_zero_reads.Choose(files);
  if (choice == lsm::LevelZeroMerge::kNone) return Status();

  const bool into_below = choice == lsm::LevelZeroMerge::kWithLevelBelow;
  rocksdb::CompactionOptions merge;
  if (into_below) merge.output_file_size_limit = options.target_file_size_base;
  const rocksdb::Status merged =
      db_->CompactFiles(merge, family.handle, names, into_below ? static_cast<int>(base_level) : 0);
  // Somebody else merges some of the files, or has done so, or this is to end.
  if (merged.IsAborted() || merged.IsInvalidArgument() || merged.IsIncomplete() ||
      merged.IsShutdownInProgress()) {
    return Status();
  }
  CAIRN_RETURN_IF_ERROR(FromRocksDb(merged));
  NoteMerged(family);
  ++level_zero_merges_for_reads_;
  return Status();
}

}  // namespace cairn
