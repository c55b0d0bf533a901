#include "engine/sst/statistics_collector.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/distinct_prefixes.h"
#include "engine/codec/index_statistics.h"
#include "engine/codec/value_sample.h"

namespace cairn {
namespace {

constexpr char kCollectorName[] = "Rdb_tbl_prop_coll";
constexpr char kFactoryName[] = "Rdb_tbl_prop_coll_factory";

// Counts deletions among the last `window` entries of a file and remembers the most it saw.
class DeletionWindow {
 public:
  explicit DeletionWindow(int64_t entries)
      : entries_(static_cast<size_t>(std::max<int64_t>(entries, 0))) {}

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

uint32_t SamplingPercent(const CollectorControl& control) {
  const uint32_t percent = control.sampling_percent.load(std::memory_order_relaxed);
  return percent == 0 || percent > 100 ? 100 : percent;
}

class StatisticsCollector final : public rocksdb::TablePropertiesCollector {
 public:
  StatisticsCollector(uint32_t column_family, std::shared_ptr<CollectorControl> control,
                      std::shared_ptr<const KeyLayouts> layouts)
      : column_family_(column_family),
        control_(std::move(control)),
        layouts_(std::move(layouts)),
        percent_(SamplingPercent(*control_)),
        single_deletes_count_(control_->single_deletes_count),
        window_(control_->delete_heavy_window) {}

  rocksdb::Status AddUserKey(const rocksdb::Slice& key, const rocksdb::Slice& value,
                             rocksdb::EntryType type, rocksdb::SequenceNumber,
                             uint64_t file_bytes) override {
    if (key.size() < kIndexNumberBytes) return rocksdb::Status::OK();
    UseIndex(LoadBigEndian<uint32_t>(key.data()));
    IndexStatistics& index = indexes_.back();
    index.data_bytes += static_cast<int64_t>(key.size() + value.size());
    index.disk_bytes += static_cast<int64_t>(file_bytes - file_bytes_);
    file_bytes_ = file_bytes;
    switch (type) {
      case rocksdb::kEntryPut:
        ++index.row_count;
        CountDistinct(key.ToStringView(), index.row_count);
        break;
      case rocksdb::kEntryDelete:
        ++index.delete_count;
        break;
      case rocksdb::kEntrySingleDelete:
        ++index.single_delete_count;
        break;
      case rocksdb::kEntryMerge:
        ++index.merge_count;
        break;
      default:
        ++index.other_count;
    }
    window_.Add(type == rocksdb::kEntryDelete ||
                (type == rocksdb::kEntrySingleDelete && single_deletes_count_));
    return rocksdb::Status::OK();
  }

  rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
    EndIndex();
    for (const IndexStatistics& index : indexes_) {
      control_->puts += static_cast<uint64_t>(index.row_count);
      control_->deletes += static_cast<uint64_t>(index.delete_count);
      control_->single_deletes += static_cast<uint64_t>(index.single_delete_count);
      control_->merges += static_cast<uint64_t>(index.merge_count);
      control_->others += static_cast<uint64_t>(index.other_count);
    }
    properties->emplace(std::string(kIndexStatisticsProperty), EncodeIndexStatistics(indexes_));
    if (!samples_.empty()) {
      properties->emplace(std::string(kValueSamplesProperty), EncodeValueSamples(samples_));
    }
    return rocksdb::Status::OK();
  }

  rocksdb::UserCollectedProperties GetReadableProperties() const override {
    std::string text;
    for (const IndexStatistics& index : indexes_) {
      text += std::to_string(index.id.index_number) + ": " + std::to_string(index.row_count) +
              " rows; ";
    }
    return {{std::string(kIndexStatisticsProperty), text}};
  }

  const char* Name() const override { return kCollectorName; }

  bool NeedCompact() const override {
    const int64_t limit = control_->delete_heavy_count;
    return limit > 0 && window_.most() > limit &&
           static_cast<int64_t>(file_bytes_) > control_->delete_heavy_file_bytes;
  }

 private:
  // Keys come in order, so that each index has one stretch.
  void UseIndex(uint32_t number) {
    if (!indexes_.empty() && indexes_.back().id.index_number == number) return;
    EndIndex();
    IndexStatistics& index = indexes_.emplace_back();
    index.id = IndexId{column_family_, number};
    codec_ = layouts_->Find(index.id);
    if (codec_ != nullptr) {
      values_.emplace(*codec_, percent_ == 100 ? DistinctPrefixes::Samples::kKept
                                               : DistinctPrefixes::Samples::kNone);
    }
  }

  // Damaged keys are for readers to report; what was counted before them is left as it is.
  void CountDistinct(std::string_view key, int64_t row) {
    if (!values_.has_value()) return;
    if (percent_ != 100 && row > kCountedRows) {
      if (row == kCountedRows + 1) counted_ = values_->Counts();
      if (!IsSampled()) {
        values_->Pass(key);
        return;
      }
      ++sampled_rows_;
    }
    if (!values_->Add(key)) EndIndex();
  }

  // A pseudo-random choice that is the same for the same file.
  bool IsSampled() {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return (random_ >> 33) % 100 < percent_;
  }

  // What was seen on the sampled keys stands for all beyond the counted ones.
  void EndIndex() {
    if (!values_.has_value()) return;
    IndexStatistics& index = indexes_.back();
    index.distinct_prefix_counts = values_->Counts();
    if (sampled_rows_ > 0) {
      const double scale =
          static_cast<double>(index.row_count - kCountedRows) / static_cast<double>(sampled_rows_);
      for (size_t i = 0; i < counted_.size(); ++i) {
        int64_t& count = index.distinct_prefix_counts[i];
        count =
            counted_[i] + static_cast<int64_t>(static_cast<double>(count - counted_[i]) * scale);
      }
    }
    if (!values_->samples().empty()) samples_[index.id.index_number] = values_->TakeSamples();
    values_.reset();
    sampled_rows_ = 0;
  }

  const uint32_t column_family_;
  const std::shared_ptr<CollectorControl> control_;
  const std::shared_ptr<const KeyLayouts> layouts_;
  const uint32_t percent_;
  const bool single_deletes_count_;
  DeletionWindow window_;
  std::vector<IndexStatistics> indexes_;
  IndexSamples samples_;
  // Of the index that is being written.
  std::shared_ptr<const IndexCodec> codec_;  // Null when its parts are not known.
  std::optional<DistinctPrefixes> values_;   // None when nothing is counted.
  std::vector<int64_t> counted_;             // Before sampling set in.
  int64_t sampled_rows_ = 0;
  uint64_t file_bytes_ = 0;
  uint64_t random_ = 1;
};

class CollectorFactory final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  CollectorFactory(std::shared_ptr<CollectorControl> control,
                   std::shared_ptr<const KeyLayouts> layouts)
      : control_(std::move(control)), layouts_(std::move(layouts)) {}

  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context context) override {
    // RocksDB deletes it.
    return new StatisticsCollector(context.column_family_id, control_, layouts_);
  }

  const char* Name() const override { return kFactoryName; }

 private:
  const std::shared_ptr<CollectorControl> control_;
  const std::shared_ptr<const KeyLayouts> layouts_;
};

}  // namespace

void KeyLayouts::Add(IndexId id, std::shared_ptr<const IndexCodec> codec) {
  std::lock_guard lock(mutex_);
  codecs_[id] = std::move(codec);
}

void KeyLayouts::Remove(IndexId id) {
  std::lock_guard lock(mutex_);
  codecs_.erase(id);
}

std::shared_ptr<const IndexCodec> KeyLayouts::Find(IndexId id) const {
  std::lock_guard lock(mutex_);
  const auto found = codecs_.find(id);
  return found == codecs_.end() ? nullptr : found->second;
}

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> MakeStatisticsCollectorFactory(
    std::shared_ptr<CollectorControl> control, std::shared_ptr<const KeyLayouts> layouts) {
  return std::make_shared<CollectorFactory>(std::move(control), std::move(layouts));
}

}  // namespace cairn
