// The size of a range of keys in files is what RocksDB says it is.
#include "engine/lsm/range_size.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "tests/unit/lsm/random_database.h"

namespace cairn::lsm {
namespace {

class RangeSizeTest : public RandomDatabase {
 protected:
  void Compare(std::string start, std::string limit) {
    if (options_.comparator->Compare(start, limit) > 0) std::swap(start, limit);
    rocksdb::SizeApproximationOptions approximation;
    approximation.include_files = true;
    const rocksdb::Range range(start, limit);
    uint64_t expected = 0;
    ASSERT_TRUE(database_->GetApproximateSizes(approximation, family_, &range, 1, &expected).ok());
    const Result<uint64_t> measured = FileBytesBetween(database_, family_, start, limit);
    ASSERT_TRUE(measured.ok()) << measured.status().ToString();
    std::vector<rocksdb::LiveFileMetaData> files;
    database_->GetLiveFilesMetaData(&files);
    // Each file's share is rounded, at either end.
    EXPECT_NEAR(static_cast<double>(*measured), static_cast<double>(expected),
                2.0 * static_cast<double>(files.size()))
        << range.start.ToString(/*hex=*/true) << " to " << range.limit.ToString(/*hex=*/true)
        << " with seed " << seed_;
    largest_ = std::max(largest_, *measured);
  }

  uint64_t largest_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Layouts, RangeSizeTest, AllLayouts(),
                         [](const auto& info) { return info.param.name; });

TEST_P(RangeSizeTest, IsWhatRocksDbSays) {
  RecordProperty("seed", std::to_string(seed_));
  for (int round = 0; round < 40; ++round) {
    for (int change = 0; change < 25; ++change) {
      ASSERT_NO_FATAL_FAILURE(ChangeSomething(/*everything=*/true));
    }
    database_->WaitForCompact(rocksdb::WaitForCompactOptions()).PermitUncheckedError();
    for (int range = 0; range < 20; ++range) {
      ASSERT_NO_FATAL_FAILURE(Compare(AnyKey(), AnyKey())) << "round " << round;
    }
    ASSERT_NO_FATAL_FAILURE(Compare("", "\xff\xff\xff\xff\xff")) << "round " << round;
    // Also where an index is not in the cache.
    options_.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()
        ->block_cache->EraseUnRefEntries();
  }
  EXPECT_GT(largest_, 1000u);
}

TEST_P(RangeSizeTest, AsksRocksDbWhereThatIsNeededAlone) {
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), AnyKey(), AnyValue()).ok());
    if (i % 200 == 0) {
      ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
    }
  }
  // Into files that are written anew: the readers of moved ones hold their indexes.
  ASSERT_TRUE(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  const std::string start("\0\0\1\1", 4);
  const std::string limit("\0\0\1\2", 4);
  const auto blocks_asked = [&] {
    return BlocksAskedByRocksDb([&] {
      const bool is_reverse = GetParam().reverse;
      const Result<uint64_t> bytes = FileBytesBetween(
          database_, family_, is_reverse ? limit : start, is_reverse ? start : limit);
      ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
      EXPECT_GT(*bytes, 0u);
    });
  };
  ASSERT_NO_FATAL_FAILURE(Compare(start, limit));  // So that the indexes are in the cache.
  if (GetParam().is_plain) {
    EXPECT_EQ(blocks_asked(), 0u);
  }
  // Whoever collects figures of a thread sees those of RocksDB.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  const uint64_t asked = blocks_asked();
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  if (GetParam().cached_index) {
    EXPECT_GT(asked, 0u);
  }
}

}  // namespace
}  // namespace cairn::lsm
