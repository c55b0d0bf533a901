#include "engine/store/file_statistics.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

// Counts deletions among the last `window` entries of a file and remembers the most it saw.
class DeletionWindow {
 public:
  explicit DeletionWindow(int64_t entries) : entries_(static_cast<size_t>(entries)) {}

  void Add(bool is_deletion) {
    if (entries_.empty()) return;
    count_ += static_cast<int64_t>(is_deletion) - static_cast<int64_t>(entries_[next_]);
    entries_[next_] = is_deletion;
    next_ = next_ + 1 == entries_.size() ? 0 : next_ + 1;
    most_ = std::max(most_, count_);
  }
  int64_t most() const { return most_; }

 private:
  std::vector<bool> entries_;
  size_t next_ = 0;
  int64_t count_ = 0;
  int64_t most_ = 0;
};

size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t length = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(length), b.begin()).first -
      a.begin());
}

// Used by the one thread that writes the file.
class Collector final : public rocksdb::TablePropertiesCollector {
 public:
  Collector(std::shared_ptr<FileStatisticsControl> control,
            std::shared_ptr<const KnownIndexes> known_indexes, uint32_t column_family)
      : control_(std::move(control)),
        known_indexes_(std::move(known_indexes)),
        column_family_(column_family),
        sampled_percent_(control_->sampled_percent == 0 ? 100 : control_->sampled_percent.load()),
        single_deletes_count_(control_->single_deletes_count),
        window_(std::max<int64_t>(control_->delete_heavy_window, 0)) {}

  rocksdb::Status AddUserKey(const rocksdb::Slice& key, const rocksdb::Slice& value,
                             rocksdb::EntryType type, rocksdb::SequenceNumber,
                             uint64_t file_size) override {
    if (key.size() < kIndexNumberBytes) return rocksdb::Status::OK();
    EnterIndex(key.ToStringView(), file_size);
    IndexStatistics& index = statistics_.back();
    index.data_bytes += static_cast<int64_t>(key.size() + value.size());
    index.disk_bytes = static_cast<int64_t>(file_size - index_start_);
    Count(type, &index);
    CountDistinct(key.ToStringView(), &index);
    file_bytes_ = file_size;
    return rocksdb::Status::OK();
  }

  rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
    for (IndexStatistics& index : statistics_) {
      for (int64_t& count : index.distinct_prefix_counts) count = count * 100 / sampled_percent_;
      control_->puts += static_cast<uint64_t>(index.row_count);
      control_->deletes += static_cast<uint64_t>(index.delete_count);
      control_->single_deletes += static_cast<uint64_t>(index.single_delete_count);
      control_->merges += static_cast<uint64_t>(index.merge_count);
      control_->others += static_cast<uint64_t>(index.other_count);
    }
    if (statistics_.empty()) return rocksdb::Status::OK();
    properties->emplace(kIndexStatisticsProperty, EncodeIndexStatistics(statistics_));
    return rocksdb::Status::OK();
  }

  rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
  const char* Name() const override { return "CairnFileStatistics"; }

  bool NeedCompact() const override {
    const int64_t limit = control_->delete_heavy_count;
    return limit > 0 && window_.most() > limit &&
           static_cast<int64_t>(file_bytes_) > control_->delete_heavy_file_bytes;
  }

 private:
  // Keys come in order: another number than that of the entry before begins another index.
  void EnterIndex(std::string_view key, uint64_t file_size) {
    const uint32_t number = LoadBigEndian<uint32_t>(key.data());
    if (!statistics_.empty() && statistics_.back().id.index_number == number) return;
    IndexStatistics index;
    index.id = {column_family_, number};
    codec_ = known_indexes_->Find(number);
    if (codec_ != nullptr) index.distinct_prefix_counts.assign(codec_->key_part_count(), 0);
    statistics_.push_back(std::move(index));
    previous_key_.clear();
    index_start_ = file_size;
  }

  void Count(rocksdb::EntryType type, IndexStatistics* index) {
    switch (type) {
      case rocksdb::kEntryPut:
        ++index->row_count;
        break;
      case rocksdb::kEntryDelete:
        ++index->delete_count;
        break;
      case rocksdb::kEntrySingleDelete:
        ++index->single_delete_count;
        break;
      case rocksdb::kEntryMerge:
        ++index->merge_count;
        break;
      default:
        ++index->other_count;
    }
    window_.Add(type == rocksdb::kEntryDelete ||
                (type == rocksdb::kEntrySingleDelete && single_deletes_count_));
  }

  // A sampled key is compared with the one before it, sampled or not, so that the count stays right on
  // average whatever the percentage is.
  void CountDistinct(std::string_view key, IndexStatistics* index) {
    if (codec_ == nullptr) return;
    if (IsSampled() && codec_->SplitKey(key, &part_ends_).ok()) {
      const size_t common = CommonPrefix(key, previous_key_);
      for (size_t i = 0; i < part_ends_.size() && i < index->distinct_prefix_counts.size(); ++i) {
        if (part_ends_[i] > common || previous_key_.empty()) ++index->distinct_prefix_counts[i];
      }
    }
    previous_key_.assign(key);
  }

  bool IsSampled() {
    if (sampled_percent_ >= 100) return true;
    // A multiplicative congruential generator; the same file gives the same sample.
    random_ = random_ * 48271 % 2147483647;
    return random_ % 100 < sampled_percent_;
  }

  const std::shared_ptr<FileStatisticsControl> control_;
  const std::shared_ptr<const KnownIndexes> known_indexes_;
  const uint32_t column_family_;
  const uint32_t sampled_percent_;
  const bool single_deletes_count_;
  DeletionWindow window_;
  std::vector<IndexStatistics> statistics_;
  std::shared_ptr<const IndexCodec> codec_;
  std::string previous_key_;
  std::vector<uint32_t> part_ends_;
  uint64_t index_start_ = 0;
  uint64_t file_bytes_ = 0;
  uint64_t random_ = 1;
};

class Factory final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  Factory(std::shared_ptr<FileStatisticsControl> control,
          std::shared_ptr<const KnownIndexes> known_indexes)
      : control_(std::move(control)), known_indexes_(std::move(known_indexes)) {}

  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context context) override {
    return new Collector(control_, known_indexes_, context.column_family_id);
  }
  const char* Name() const override { return "CairnFileStatistics"; }

 private:
  const std::shared_ptr<FileStatisticsControl> control_;
  const std::shared_ptr<const KnownIndexes> known_indexes_;
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> MakeFileStatisticsFactory(
    std::shared_ptr<FileStatisticsControl> control,
    std::shared_ptr<const KnownIndexes> known_indexes) {
  return std::make_shared<Factory>(std::move(control), std::move(known_indexes));
}

Result<std::vector<IndexStatistics>> ReadFileStatistics(
    const rocksdb::TableProperties& properties) {
  const auto found =
      properties.user_collected_properties.find(std::string(kIndexStatisticsProperty));
  if (found == properties.user_collected_properties.end()) return std::vector<IndexStatistics>();
  return DecodeIndexStatistics(found->second);
}

}  // namespace cairn
