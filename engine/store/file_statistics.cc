#include "engine/store/file_statistics.h"

#include <string>
#include <utility>

#include "engine/store/rocksdb_status.h"

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
  bool complete = true;
  for (const auto& [path, properties] : files) {
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
    for (const IndexStatistics& entry : **entries) {
      IndexStatistics& sum = sums[IndexId{family_id, entry.id.index_number}];
      sum.id = IndexId{family_id, entry.id.index_number};
      sum.Add(entry);
    }
  }

  std::lock_guard lock(mutex_);
  if (complete) {
    incomplete_.erase(family_id);
  } else {
    incomplete_.insert(family_id);
  }
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

std::optional<IndexStatistics> FileStatistics::Find(IndexId id) const {
  std::lock_guard lock(mutex_);
  if (stale_.contains(id.column_family) || incomplete_.contains(id.column_family)) {
    return std::nullopt;
  }
  const auto found = sums_.find(id);
  if (found == sums_.end()) return std::nullopt;
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
