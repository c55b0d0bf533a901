#include "engine/store/dropped_index_filter.h"

#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"

namespace cairn {
namespace {

class DroppedIndexFilter final : public rocksdb::CompactionFilter {
 public:
  DroppedIndexFilter(uint32_t column_family, std::shared_ptr<const DroppedIndexes::Set> dropped)
      : column_family_(column_family), dropped_(std::move(dropped)) {}

  bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice&, std::string*,
              bool*) const override {
    if (key.size() < kIndexNumberBytes) return false;
    const uint32_t number = LoadBigEndian<uint32_t>(key.data());
    if (number != last_number_) {  // Keys come in order: one look-up an index.
      last_number_ = number;
      last_is_dropped_ = dropped_->contains(IndexId{column_family_, number});
    }
    return last_is_dropped_;
  }

  const char* Name() const override { return "Rdb_compact_filter"; }

 private:
  const uint32_t column_family_;
  const std::shared_ptr<const DroppedIndexes::Set> dropped_;
  // One compaction thread uses one filter.
  mutable uint32_t last_number_ = 0;
  mutable bool last_is_dropped_ = false;
};

class DroppedIndexFilterFactory final : public rocksdb::CompactionFilterFactory {
 public:
  explicit DroppedIndexFilterFactory(std::shared_ptr<const DroppedIndexes> dropped_indexes)
      : dropped_indexes_(std::move(dropped_indexes)) {}

  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override {
    auto dropped = dropped_indexes_->Get();
    if (dropped->empty()) return nullptr;
    return std::make_unique<DroppedIndexFilter>(context.column_family_id, std::move(dropped));
  }

  const char* Name() const override { return "Rdb_compact_filter_factory"; }

 private:
  const std::shared_ptr<const DroppedIndexes> dropped_indexes_;
};

}  // namespace

void DroppedIndexes::Add(IndexId id) {
  std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Set>(*current_);
  changed->insert(id);
  current_ = std::move(changed);
}

void DroppedIndexes::Remove(IndexId id) {
  std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Set>(*current_);
  changed->erase(id);
  current_ = std::move(changed);
}

std::shared_ptr<const DroppedIndexes::Set> DroppedIndexes::Get() const {
  std::lock_guard lock(mutex_);
  return current_;
}

std::shared_ptr<rocksdb::CompactionFilterFactory> MakeDroppedIndexFilterFactory(
    std::shared_ptr<const DroppedIndexes> dropped_indexes) {
  return std::make_shared<DroppedIndexFilterFactory>(std::move(dropped_indexes));
}

}  // namespace cairn
