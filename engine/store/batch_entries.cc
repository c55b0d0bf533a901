#include "engine/store/batch_entries.h"

#include "engine/lsm/rocksdb_status.h"

namespace cairn {
namespace {

using Change = BatchEntry::Change;
using rocksdb::Slice;

class EntryReader final : public rocksdb::WriteBatch::Handler {
 public:
  explicit EntryReader(const std::function<void(const BatchEntry&)>& use) : use_(use) {}

  rocksdb::Status PutCF(uint32_t family, const Slice& key, const Slice& value) override {
    return Use(Change::kPut, family, key, value);
  }
  rocksdb::Status MergeCF(uint32_t family, const Slice& key, const Slice& value) override {
    return Use(Change::kMerge, family, key, value);
  }
  rocksdb::Status DeleteCF(uint32_t family, const Slice& key) override {
    return Use(Change::kDelete, family, key, Slice());
  }
  rocksdb::Status SingleDeleteCF(uint32_t family, const Slice& key) override {
    return Use(Change::kSingleDelete, family, key, Slice());
  }
  rocksdb::Status MarkBeginPrepare(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkEndPrepare(const Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkRollback(const Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkCommit(const Slice&) override { return rocksdb::Status::OK(); }

 private:
  rocksdb::Status Use(Change change, uint32_t family, const Slice& key, const Slice& value) {
    use_({change, family, key.ToStringView(), value.ToStringView()});
    return rocksdb::Status::OK();
  }

  const std::function<void(const BatchEntry&)>& use_;
};

}  // namespace

Status ForEachEntry(const rocksdb::WriteBatch& batch,
                    const std::function<void(const BatchEntry&)>& use) {
  EntryReader reader(use);
  return FromRocksDb(batch.Iterate(&reader));
}

}  // namespace cairn
