#include "engine/sst/file_statistics.h"

#include <algorithm>
#include <utility>

#include "engine/lsm/rocksdb_status.h"
#include "rocksdb/env.h"

namespace cairn {
namespace {

class StatisticsListener final : public rocksdb::EventListener {
 public:
  explicit StatisticsListener(std::shared_ptr<FileStatistics> statistics)
      : statistics_(std::move(statistics)) {}

  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override {
    statistics_->MarkStale(info.cf_id);
  }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) override {
    statistics_->MarkStale(info.cf_id);
  }
  // The file was written for the family that it went to.
  void OnExternalFileIngested(rocksdb::DB*,
                              const rocksdb::ExternalFileIngestionInfo& info) override {
    statistics_->MarkStale(static_cast<uint32_t>(info.table_properties.column_family_id));
  }

 private:
  const std::shared_ptr<FileStatistics> statistics_;
};

// Replaces what is known of the indexes of one family.
void ReplaceFamily(uint32_t family_id, std::map<IndexId, uint64_t> fresh,
                   std::map<IndexId, uint64_t>* all) {
  all->erase(all->lower_bound(IndexId{family_id, 0}), all->lower_bound(IndexId{family_id + 1, 0}));
  all->merge(fresh);
}

}  // namespace

void FileStatistics::Restore(const IndexStatistics& statistics) {
  std::lock_guard lock(mutex_);
  sums_[statistics.id].sums = statistics;
}

void FileStatistics::MarkStale(uint32_t column_family) {
  std::lock_guard lock(mutex_);
  stale_.insert(column_family);
}

std::vector<uint32_t> FileStatistics::StaleFamilies() const {
  std::lock_guard lock(mutex_);
  return std::vector<uint32_t>(stale_.begin(), stale_.end());
}

Status FileStatistics::Refresh(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
  const uint32_t family_id = family->GetID();
  {
    std::lock_guard lock(mutex_);
    stale_.erase(family_id);  // Before the files are listed: what changes meanwhile counts again.
  }
  rocksdb::TablePropertiesCollection files;
  const rocksdb::Status listed = db->GetPropertiesOfAllTables(family, &files);
  if (!listed.ok()) {
    MarkStale(family_id);
    return FromRocksDb(listed);
  }
  FileSums fresh = SumFiles(db, family, files, *layouts_, log_);

  std::lock_guard lock(mutex_);
  counted_at_[family_id] = static_cast<int64_t>(db->GetEnv()->NowMicros());
  ReplaceFamily(family_id, std::move(fresh.disk_bytes), &disk_bytes_);
  if (fresh.complete) {
    incomplete_.erase(family_id);
  } else {
    incomplete_.insert(family_id);
  }
  with_range_deletions_.erase(family_id);
  if (fresh.range_deletions) with_range_deletions_.insert(family_id);
  const auto first = sums_.lower_bound(IndexId{family_id, 0});
  auto last = first;
  for (; last != sums_.end() && last->first.column_family == family_id; ++last) {
    // An index all of whose entries went keeps a record, which says so.
    IndexSums& sum = fresh.indexes[last->first];
    sum.sums.id = last->first;
    if (sum.sums != last->second.sums) changed_.insert(last->first);
  }
  for (const auto& [id, sum] : fresh.indexes) {
    if (!sums_.contains(id)) changed_.insert(id);
  }
  sums_.erase(first, last);
  sums_.merge(fresh.indexes);
  return Status();
}

bool FileStatistics::MayHaveRangeDeletions(uint32_t column_family) const {
  std::lock_guard lock(mutex_);
  return !counted_at_.contains(column_family) || with_range_deletions_.contains(column_family);
}

std::optional<IndexSums> FileStatistics::FindSums(IndexId id) const {
  std::lock_guard lock(mutex_);
  if (stale_.contains(id.column_family) || incomplete_.contains(id.column_family)) {
    return std::nullopt;
  }
  const auto found = sums_.find(id);
  if (found == sums_.end()) return std::nullopt;
  return found->second;
}

std::optional<IndexStatistics> FileStatistics::Find(IndexId id) const {
  auto found = FindSums(id);
  if (!found.has_value()) return std::nullopt;
  return std::move(found->sums);
}

IndexInFiles FileStatistics::FindLast(IndexId id) const {
  std::lock_guard lock(mutex_);
  IndexInFiles found;
  const auto sums = sums_.find(id);
  if (sums != sums_.end()) found.sums = sums->second.sums;
  const auto disk_bytes = disk_bytes_.find(id);
  if (disk_bytes != disk_bytes_.end()) {
    found.disk_bytes = disk_bytes->second;
  } else if (!counted_at_.contains(id.column_family)) {
    found.disk_bytes = static_cast<uint64_t>(std::max<int64_t>(0, found.sums.disk_bytes));
  }
  return found;
}

std::optional<int64_t> FileStatistics::CountedAt(uint32_t column_family) const {
  std::lock_guard lock(mutex_);
  const auto found = counted_at_.find(column_family);
  if (found == counted_at_.end()) return std::nullopt;
  return found->second;
}

std::vector<IndexStatistics> FileStatistics::TakeChanged() {
  std::lock_guard lock(mutex_);
  std::vector<IndexStatistics> changed;
  for (const IndexId id : changed_) {
    const auto found = sums_.find(id);
    if (found != sums_.end()) changed.push_back(found->second.sums);
  }
  changed_.clear();
  return changed;
}

void FileStatistics::Remove(IndexId id) {
  std::lock_guard lock(mutex_);
  sums_.erase(id);
  disk_bytes_.erase(id);
  changed_.erase(id);
}

std::shared_ptr<rocksdb::EventListener> MakeStatisticsListener(
    std::shared_ptr<FileStatistics> statistics) {
  return std::make_shared<StatisticsListener>(std::move(statistics));
}

}  // namespace cairn
