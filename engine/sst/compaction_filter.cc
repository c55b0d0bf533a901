#include "engine/sst/compaction_filter.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"

namespace cairn {
namespace {

// What a compaction goes by, as it was when the compaction started.
struct FilterRules {
  std::shared_ptr<const DroppedIndexes::Set> dropped;
  std::shared_ptr<const DroppedIndexes::Fronts> fronts;
  std::shared_ptr<const Expiry::Rules> expiring;
};

class CompactionFilter final : public rocksdb::CompactionFilter {
 public:
  CompactionFilter(uint32_t column_family, FilterRules rules, std::shared_ptr<Expiry> expiry,
                   Log* log)
      : column_family_(column_family),
        rules_(std::move(rules)),
        expiry_(std::move(expiry)),
        log_(log) {}

  ~CompactionFilter() override {
    expiry_->CountRemoved(removed_);
    if (short_values_ == 0) return;
    log_->Write(Severity::kError,
                "compaction kept " + std::to_string(short_values_) +
                    " entries of tables with ttl_duration whose values are too short for a TTL "
                    "stamp; the first has the key " +
                    first_short_key_);
  }

  Decision FilterV2(int, const rocksdb::Slice& key, ValueType type, const rocksdb::Slice& value,
                    std::string*, std::string* skip_until) const override {
    if (type != ValueType::kValue || key.size() < kIndexNumberBytes) return Decision::kKeep;
    UseIndex(LoadBigEndian<uint32_t>(key.data()));
    if (is_dropped_) return Decision::kRemove;
    if (front_ != nullptr && key.ToStringView() < front_->end) {
      // Leaves no tombstones. In a reverse family the bare number stands behind all keys.
      *skip_until = front_->reverse ? front_->end.substr(0, kIndexNumberBytes) : front_->end;
      return Decision::kRemoveAndSkipUntil;
    }
    if (!rule_.has_value() || !HasExpired(key, value)) return Decision::kKeep;
    ++removed_;
    // Entries of secondary indexes are written once and removed by SingleDelete. The tombstone must
    // be of the same kind: one that a session wrote may lie above this entry.
    return rule_->kind == IndexKind::kSecondary ? Decision::kPurge : Decision::kRemove;
  }

  const char* Name() const override { return "Rdb_compact_filter"; }

 private:
  // Keys come in order: one look-up an index.
  void UseIndex(uint32_t number) const {
    if (number == number_) return;
    number_ = number;
    const IndexId id{column_family_, number};
    is_dropped_ = rules_.dropped->contains(id);
    const auto front = rules_.fronts->find(id);
    front_ = front != rules_.fronts->end() ? &front->second : nullptr;
    rule_.reset();
    const auto rule = rules_.expiring->find(id);
    if (rule != rules_.expiring->end()) rule_ = rule->second;
  }

  bool HasExpired(const rocksdb::Slice& key, const rocksdb::Slice& value) const {
    if (!now_.has_value()) now_ = expiry_->CompactionTime().value_or(0);
    if (value.size() < kTtlStampBytes) {
      if (short_values_++ == 0) first_short_key_ = ToHex(key.ToStringView());
      return false;
    }
    return IsExpired(LoadBigEndian<uint64_t>(value.data()), rule_->duration_seconds, *now_);
  }

  const uint32_t column_family_;
  const FilterRules rules_;
  const std::shared_ptr<Expiry> expiry_;
  Log* const log_;
  // One compaction thread uses one filter.
  mutable uint32_t number_ = 0;  // No index has it.
  mutable bool is_dropped_ = false;
  mutable const DroppedIndexes::Front* front_ = nullptr;
  mutable std::optional<Expiry::Rule> rule_;
  mutable std::optional<uint64_t> now_;  // Taken at the first entry that may expire.
  mutable uint64_t removed_ = 0;
  mutable uint64_t short_values_ = 0;
  mutable std::string first_short_key_;
};

class FilterFactory final : public rocksdb::CompactionFilterFactory {
 public:
  FilterFactory(std::shared_ptr<const DroppedIndexes> dropped_indexes,
                std::shared_ptr<Expiry> expiry, Log* log)
      : dropped_indexes_(std::move(dropped_indexes)), expiry_(std::move(expiry)), log_(log) {}

  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override {
    FilterRules rules{
        dropped_indexes_->Get(), dropped_indexes_->GetFronts(),
        expiry_->removes() ? expiry_->Get() : std::make_shared<const Expiry::Rules>()};
    if (rules.dropped->empty() && rules.fronts->empty() && rules.expiring->empty()) return nullptr;
    return std::make_unique<CompactionFilter>(context.column_family_id, std::move(rules), expiry_,
                                              log_);
  }

  const char* Name() const override { return "Rdb_compact_filter_factory"; }

 private:
  const std::shared_ptr<const DroppedIndexes> dropped_indexes_;
  const std::shared_ptr<Expiry> expiry_;
  Log* const log_;
};

}  // namespace

std::shared_ptr<rocksdb::CompactionFilterFactory> MakeCompactionFilterFactory(
    std::shared_ptr<const DroppedIndexes> dropped_indexes, std::shared_ptr<Expiry> expiry,
    Log* log) {
  return std::make_shared<FilterFactory>(std::move(dropped_indexes), std::move(expiry), log);
}

}  // namespace cairn
