#include "tests/unit/table/index_merge_fixture.h"

#include <algorithm>
#include <map>

#include "engine/base/bytes.h"

namespace cairn {
namespace {

// What happened last to each key of the new indexes, in the order of the log.
class PutCounter final : public rocksdb::WriteBatch::Handler {
 public:
  explicit PutCounter(std::vector<uint32_t> numbers) : numbers_(std::move(numbers)) {}

  rocksdb::Status PutCF(uint32_t, const rocksdb::Slice& key, const rocksdb::Slice&) override {
    Note(key, true);
    return rocksdb::Status::OK();
  }
  rocksdb::Status SingleDeleteCF(uint32_t, const rocksdb::Slice& key) override {
    Note(key, false);
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice& key) override {
    EXPECT_FALSE(IsNew(key)) << "an entry is removed by a Delete: " << ToHex(key.ToStringView());
    return rocksdb::Status::OK();
  }
  rocksdb::Status MergeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status MarkBeginPrepare(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkEndPrepare(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkRollback(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkCommit(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }

  size_t count() const { return put_.size(); }

 private:
  bool IsNew(const rocksdb::Slice& key) const {
    return key.size() >= 4 && std::find(numbers_.begin(), numbers_.end(),
                                        LoadBigEndian<uint32_t>(key.data())) != numbers_.end();
  }
  void Note(const rocksdb::Slice& key, bool put) {
    if (!IsNew(key)) return;
    const auto [before, first] = put_.emplace(key.ToString(), put);
    if (first) return;
    EXPECT_NE(before->second, put) << ToHex(key.ToStringView());
    before->second = put;
  }

  const std::vector<uint32_t> numbers_;
  std::map<std::string, bool> put_;
};

}  // namespace

void IndexMergeTest::ExpectOnePutForEachSingleDelete() {
  std::vector<uint32_t> numbers;
  for (const BuildingIndex& building : state_->indexes()) {
    numbers.push_back(building.entry.id.index_number);
  }
  PutCounter counter(numbers);
  std::unique_ptr<rocksdb::TransactionLogIterator> log;
  ASSERT_TRUE(database_->WriteLog().ok());
  ASSERT_TRUE(database_->rocksdb()->GetUpdatesSince(0, &log, {}).ok());
  for (; log->Valid(); log->Next()) {
    ASSERT_TRUE(log->GetBatch().writeBatchPtr->Iterate(&counter).ok());
  }
  EXPECT_GT(counter.count(), 0u);
}

}  // namespace cairn
