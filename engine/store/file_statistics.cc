#include "engine/store/file_statistics.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/store/rocksdb_status.h"
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

// A file's blocks by index: those that were finished while an index was written are its own, the others
// are shared by the amount of data.
void AddDiskBytes(uint32_t family_id, const rocksdb::TableProperties& properties,
                  const std::vector<IndexStatistics>& entries,
                  std::map<IndexId, uint64_t>* disk_bytes) {
  double data = 0;
  double own = 0;
  for (const IndexStatistics& entry : entries) {
    data += static_cast<double>(entry.data_bytes);
    own += static_cast<double>(entry.disk_bytes);
  }
  const double all = static_cast<double>(properties.data_size) +
                     static_cast<double>(properties.index_size) +
                     static_cast<double>(properties.filter_size);
  const double shared = std::max(0.0, all - own);
  for (const IndexStatistics& entry : entries) {
    const double share = data > 0 ? static_cast<double>(entry.data_bytes) / data : 0;
    const double bytes = static_cast<double>(entry.disk_bytes) + share * shared;
    (*disk_bytes)[IndexId{family_id, entry.id.index_number}] +=
        static_cast<uint64_t>(std::max(0.0, bytes));
  }
}

// Replaces what is known of the indexes of one family.
void ReplaceFamily(uint32_t family_id, std::map<IndexId, uint64_t> fresh,
                   std::map<IndexId, uint64_t>* all) {
  all->erase(all->lower_bound(IndexId{family_id, 0}), all->lower_bound(IndexId{family_id + 1, 0}));
  all->merge(fresh);
}

}  // namespace

void FileStatistics::Restore(const IndexStatistics& statistics) {
  std::lock_guard lock(mutex_);
  sums_[statistics.id] = statistics;
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
  std::map<IndexId, IndexStatistics> sums;
  std::map<IndexId, uint64_t> disk_bytes;
  bool complete = true;
  bool range_deletions = false;
  for (const auto& [path, properties] : files) {
    range_deletions = range_deletions || properties->num_range_deletions != 0;
    const auto entries = ReadFileStatistics(*properties);
    if (!entries.ok()) {
      log_->Write(Severity::kWarning, "statistics in the file " + path +
                                          " are ignored: " + entries.status().ToString());
      complete = false;
      continue;
    }
    if (!entries->has_value()) {
      complete = false;
      continue;
    }
    AddDiskBytes(family_id, *properties, **entries, &disk_bytes);
    for (const IndexStatistics& entry : **entries) {
      IndexStatistics& sum = sums[IndexId{family_id, entry.id.index_number}];
      sum.id = IndexId{family_id, entry.id.index_number};
      sum.Add(entry);
    }
  }

  std::lock_guard lock(mutex_);
  counted_at_[family_id] = static_cast<int64_t>(db->GetEnv()->NowMicros());
  ReplaceFamily(family_id, std::move(disk_bytes), &disk_bytes_);
  if (complete) {
    incomplete_.erase(family_id);
  } else {
    incomplete_.insert(family_id);
  }
  with_range_deletions_.erase(family_id);
  if (range_deletions) with_range_deletions_.insert(family_id);
  const auto first = sums_.lower_bound(IndexId{family_id, 0});
  auto last = first;
  for (; last != sums_.end() && last->first.column_family == family_id; ++last) {
    // An index all of whose entries went keeps a record, which says so.
    if (!sums.contains(last->first)) sums[last->first].id = last->first;
    if (sums[last->first] == last->second) continue;
    changed_.insert(last->first);
  }
  for (const auto& [id, sum] : sums) {
    if (!sums_.contains(id)) changed_.insert(id);
  }
  sums_.erase(first, last);
  sums_.merge(sums);
  return Status();
}

bool FileStatistics::MayHaveRangeDeletions(uint32_t column_family) const {
  std::lock_guard lock(mutex_);
  return !counted_at_.contains(column_family) || with_range_deletions_.contains(column_family);
}

std::optional<IndexStatistics> FileStatistics::Find(IndexId id) const {
  std::lock_guard lock(mutex_);
  if (stale_.contains(id.column_family) || incomplete_.contains(id.column_family)) {
    return std::nullopt;
  }
  const auto found = sums_.find(id);
  if (found == sums_.end()) return std::nullopt;
  return found->second;
}

IndexInFiles FileStatistics::FindLast(IndexId id) const {
  std::lock_guard lock(mutex_);
  IndexInFiles found;
  const auto sums = sums_.find(id);
  if (sums != sums_.end()) found.sums = sums->second;
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
    if (found != sums_.end()) changed.push_back(found->second);
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

Result<std::optional<std::vector<IndexStatistics>>> ReadFileStatistics(
    const rocksdb::TableProperties& properties) {
  const auto found =
      properties.user_collected_properties.find(std::string(kIndexStatisticsProperty));
  if (found == properties.user_collected_properties.end()) {
    return std::optional<std::vector<IndexStatistics>>();
  }
  CAIRN_ASSIGN_OR_RETURN(std::vector<IndexStatistics> entries,
                         DecodeIndexStatistics(found->second));
  return std::optional(std::move(entries));
}

std::shared_ptr<rocksdb::EventListener> MakeStatisticsListener(
    std::shared_ptr<FileStatistics> statistics) {
  return std::make_shared<StatisticsListener>(std::move(statistics));
}

}  // namespace cairn
