#include "tests/unit/table/index_merge_fixture.h"

#include <algorithm>
#include <map>

#include "engine/base/bytes.h"
#include "engine/store/batch_entries.h"

namespace cairn {
namespace {

// What happened last to each key of the new indexes, in the order of the log.
class PutCounter {
 public:
  explicit PutCounter(std::vector<uint32_t> numbers) : numbers_(std::move(numbers)) {}

  void Add(const BatchEntry& entry) {
    if (entry.key.size() < 4 ||
        std::find(numbers_.begin(), numbers_.end(), LoadBigEndian<uint32_t>(entry.key.data())) ==
            numbers_.end()) {
      return;
    }
    EXPECT_NE(entry.change, BatchEntry::Change::kDelete) << ToHex(entry.key);
    const bool put = entry.change == BatchEntry::Change::kPut;
    const auto [before, first] = put_.emplace(entry.key, put);
    if (first) return;
    EXPECT_FALSE(put && before->second) << ToHex(entry.key);
    before->second = put;
  }

  size_t count() const { return put_.size(); }

 private:
  const std::vector<uint32_t> numbers_;
  std::map<std::string, bool> put_;
};

}  // namespace

void IndexMergeTest::ExpectSingleDeleteBetweenPuts() {
  std::vector<uint32_t> numbers;
  for (const BuildingIndex& building : state_->indexes()) {
    numbers.push_back(building.definition.id.index_number);
  }
  PutCounter counter(numbers);
  std::unique_ptr<rocksdb::TransactionLogIterator> log;
  ASSERT_TRUE(database_->WriteLog().ok());
  ASSERT_TRUE(database_->rocksdb()->GetUpdatesSince(0, &log, {}).ok());
  for (; log->Valid(); log->Next()) {
    const rocksdb::BatchResult batch = log->GetBatch();
    ASSERT_TRUE(ForEachEntry(*batch.writeBatchPtr, [&](const BatchEntry& entry) {
                  counter.Add(entry);
                }).ok());
  }
  EXPECT_GT(counter.count(), 0u);
}

}  // namespace cairn
