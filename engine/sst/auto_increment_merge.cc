#include "engine/sst/auto_increment_merge.h"

#include <algorithm>

#include "engine/codec/dictionary_record.h"

namespace cairn {
namespace {

class AutoIncrementMerge final : public rocksdb::AssociativeMergeOperator {
 public:
  // Answering false makes RocksDB report corruption for this key; it never brings the server down.
  bool Merge(const rocksdb::Slice& key, const rocksdb::Slice* existing,
             const rocksdb::Slice& operand, std::string* merged, rocksdb::Logger*) const override {
    if (!IsMergeableKey(key.ToStringView())) return false;
    const Result<uint64_t> added = DecodeAutoIncrement(operand.ToStringView());
    if (!added.ok()) return false;
    uint64_t next_value = *added;
    if (existing != nullptr) {
      const Result<uint64_t> stored = DecodeAutoIncrement(existing->ToStringView());
      if (!stored.ok()) return false;
      next_value = std::max(next_value, *stored);
    }
    *merged = EncodeAutoIncrement(next_value);
    return true;
  }

  const char* Name() const override { return "Rdb_system_merge_op"; }  // Persisted in OPTIONS.
};

}  // namespace

std::shared_ptr<rocksdb::MergeOperator> MakeAutoIncrementMerge() {
  return std::make_shared<AutoIncrementMerge>();
}

}  // namespace cairn
