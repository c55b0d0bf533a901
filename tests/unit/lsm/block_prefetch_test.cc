// An iterator that looks ahead in blocks shows the same as one that does not, whatever way it goes.
#include "engine/lsm/block_prefetch.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/statistics.h"

namespace cairn::lsm {
namespace {

constexpr int kKeys = 3000;

std::string KeyOf(int number) {
  const std::string digits = std::to_string(number);
  return "k" + std::string(6 - digits.size(), '0') + digits;
}

std::string ValueOf(int number) {
  return std::string(static_cast<size_t>(number % 40), 'v') + std::to_string(number);
}

// Counts the look-ups of those who cannot make an entry that is missing: hardly anybody but the
// code under test.
class CountingCache final : public rocksdb::CacheWrapper {
 public:
  CountingCache(std::shared_ptr<rocksdb::Cache> cache, const char* name)
      : CacheWrapper(std::move(cache)), name_(name) {}
  const char* Name() const override { return name_; }
  Handle* Lookup(const rocksdb::Slice& key, const CacheItemHelper* helper, CreateContext* context,
                 Priority priority, rocksdb::Statistics* statistics) override {
    if (helper == nullptr) ++looks_ahead;
    return CacheWrapper::Lookup(key, helper, context, priority, statistics);
  }
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override {
    return target_->Release(handle, useful, erase_if_last_ref);
  }
  int looks_ahead = 0;

 private:
  const char* const name_;
};

// Every third number up to 3 * kKeys, in files of several levels with blocks of some entries.
class BlockPrefetchTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { Open(1 << 20, /*looks_ahead=*/true); }

  void Open(size_t cache_bytes, bool looks_ahead, const char* name = "CountingHyperClockCache") {
    database_.reset();
    environment_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    cache_ = std::make_shared<CountingCache>(
        rocksdb::HyperClockCacheOptions(cache_bytes, /*charge=*/0).MakeSharedCache(), name);
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache_;
    table.block_size = 128;
    table.metadata_block_size = 256;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    rocksdb::BlockBasedTableOptions complete;
    ASSERT_TRUE(rocksdb::GetBlockBasedTableOptionsFromString(rocksdb::ConfigOptions(), table,
                                                             GetParam(), &complete)
                    .ok());
    rocksdb::Options options;
    options.env = environment_.get();
    options.create_if_missing = true;
    options.statistics = rocksdb::CreateDBStatistics();
    options.target_file_size_base = 16 << 10;
    options.disable_auto_compactions = true;
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(complete));
    if (looks_ahead) options.table_factory = WithBlockPrefetch(options.table_factory);
    statistics_ = options.statistics;
    ASSERT_TRUE(rocksdb::DB::Open(options, "/db", &database_).ok());
    expected_.clear();
    // Two thirds lie in a level of many files, the others in one file above.
    for (const int part : {0, 1, 2}) {
      for (int number = part; number < kKeys; number += 3) {
        Put(3 * number);
      }
      ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
      if (part == 1) {
        ASSERT_TRUE(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
      }
    }
  }

  void Put(int number) {
    ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), KeyOf(number), ValueOf(number)).ok());
    expected_[KeyOf(number)] = ValueOf(number);
  }

  // In an index of two levels the next entry may have to be read.
  static bool LooksAhead() { return std::string(GetParam()).find("TwoLevel") == std::string::npos; }

  int Below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }

  // Goes its way at random, and compares each step with what there is between the bounds.
  void Walk(const std::optional<std::string>& lower, const std::optional<std::string>& upper) {
    const rocksdb::Slice lower_slice = lower ? rocksdb::Slice(*lower) : rocksdb::Slice();
    const rocksdb::Slice upper_slice = upper ? rocksdb::Slice(*upper) : rocksdb::Slice();
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    if (lower) options.iterate_lower_bound = &lower_slice;
    if (upper) options.iterate_upper_bound = &upper_slice;
    const std::unique_ptr<rocksdb::Iterator> iterator(database_->NewIterator(options));
    const auto begin = lower ? expected_.lower_bound(*lower) : expected_.begin();
    const auto end = upper ? expected_.lower_bound(*upper) : expected_.end();
    auto place = end;
    std::string steps;
    for (int step = 0; step < 60; ++step) {
      const int choice = place == end ? Below(4) : Below(10);
      const std::string target = KeyOf(Below(3 * kKeys));
      if (choice == 0) {
        steps += " SeekToFirst";
        iterator->SeekToFirst();
        place = begin;
      } else if (choice == 1) {
        steps += " SeekToLast";
        iterator->SeekToLast();
        place = begin == end ? end : std::prev(end);
      } else if (choice == 2) {
        steps += " Seek " + target;
        iterator->Seek(target);
        place = expected_.lower_bound(lower && target < *lower ? *lower : target);
        if (upper && place != expected_.end() && place->first >= *upper) place = end;
        if (place == expected_.end()) place = end;
      } else if (choice == 3) {
        steps += " SeekForPrev " + target;
        iterator->SeekForPrev(target);
        place = expected_.upper_bound(target);
        if (upper && target >= *upper) place = end;
        place = place == expected_.begin() ? end : std::prev(place);
        if (place != end && lower && place->first < *lower) place = end;
      } else {
        // Some blocks in one direction.
        const bool is_forward = Below(3) != 0;
        const int moves = 1 + Below(30);
        steps += (is_forward ? " Next*" : " Prev*") + std::to_string(moves);
        for (int move = 0; move < moves && place != end; ++move) {
          if (is_forward) {
            iterator->Next();
            ++place;
          } else {
            iterator->Prev();
            place = place == begin ? end : std::prev(place);
          }
        }
      }
      ASSERT_TRUE(iterator->status().ok()) << iterator->status().ToString() << steps;
      ASSERT_EQ(iterator->Valid(), place != end) << steps;
      if (place == end) continue;
      ASSERT_EQ(iterator->key().ToString(), place->first) << steps;
      ASSERT_EQ(iterator->value().ToString(), place->second) << steps;
    }
  }

  void WalkOften() {
    for (int round = 0; round < 150 && !HasFatalFailure(); ++round) {
      const int first = Below(3 * kKeys);
      const int last = first + Below(round % 2 == 0 ? 40 : 3 * kKeys);
      const bool is_bounded = round % 5 != 0;
      Walk(is_bounded && round % 3 != 0 ? std::optional(KeyOf(first)) : std::nullopt,
           is_bounded && round % 3 != 1 ? std::optional(KeyOf(last)) : std::nullopt);
    }
  }

  // What a scan of everything counts, once all is in the cache.
  uint64_t DataBlockHitsOfAScan() {
    uint64_t hits = 0;
    for (int round = 0; round < 2; ++round) {
      statistics_->Reset().PermitUncheckedError();
      const std::unique_ptr<rocksdb::Iterator> iterator(
          database_->NewIterator(rocksdb::ReadOptions()));
      int rows = 0;
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        if (++rows == kKeys / 2) pinned_ = cache_->GetPinnedUsage();
      }
      EXPECT_EQ(rows, kKeys);
      hits = statistics_->getTickerCount(rocksdb::BLOCK_CACHE_DATA_HIT);
    }
    return hits;
  }

  std::unique_ptr<rocksdb::Env> environment_;
  std::shared_ptr<CountingCache> cache_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> database_;
  std::map<std::string, std::string> expected_;
  size_t pinned_ = 0;  // In the middle of the last scan.
  std::mt19937 random_{20261123};
};

INSTANTIATE_TEST_SUITE_P(Indexes, BlockPrefetchTest,
                         ::testing::Values("index_type=kBinarySearch", "index_type=kHashSearch",
                                           "index_type=kTwoLevelIndexSearch",
                                           "index_type=kBinarySearchWithFirstKey",
                                           "cache_index_and_filter_blocks=true"));

TEST_P(BlockPrefetchTest, ShowsWhatThereIsInACacheForAll) { WalkOften(); }

TEST_P(BlockPrefetchTest, ShowsWhatThereIsInACacheForHardlyAnything) {
  Open(1 << 14, /*looks_ahead=*/true);
  WalkOften();
}

TEST_P(BlockPrefetchTest, CountsABlockOnceAndPinsNone) {
  const uint64_t hits = DataBlockHitsOfAScan();
  EXPECT_GT(hits, 100U);
  EXPECT_EQ(cache_->looks_ahead > 100, LooksAhead());
  const size_t pinned = pinned_;
  Open(1 << 20, /*looks_ahead=*/false);
  EXPECT_EQ(DataBlockHitsOfAScan(), hits);
  EXPECT_LT(pinned, pinned_ + 100);    // One block more would be 128 bytes at least.
  EXPECT_LT(cache_->looks_ahead, 10);  // RocksDB itself does it at times.
}

TEST_P(BlockPrefetchTest, StaysWhenOptionsOfTheTableChange) {
  ASSERT_TRUE(database_
                  ->SetOptions(database_->DefaultColumnFamily(),
                               {{"block_based_table_factory", "{block_size=256}"}})
                  .ok());
  // New readers, of new files.
  ASSERT_TRUE(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  cache_->looks_ahead = 0;
  DataBlockHitsOfAScan();
  EXPECT_EQ(cache_->looks_ahead > 100, LooksAhead());
  WalkOften();
}

// It would take a look-up for a use, and has a mutex for each.
TEST_P(BlockPrefetchTest, LeavesOtherCachesAlone) {
  Open(1 << 20, /*looks_ahead=*/true, "LRUCache");
  DataBlockHitsOfAScan();
  EXPECT_LT(cache_->looks_ahead, 10);
}

TEST(BlockPrefetch, LeavesOtherFactoriesAlone) {
  const std::shared_ptr<rocksdb::TableFactory> plain(rocksdb::NewPlainTableFactory());
  EXPECT_EQ(WithBlockPrefetch(plain), plain);
  const std::shared_ptr<rocksdb::TableFactory> none;
  EXPECT_EQ(WithBlockPrefetch(none), none);
}

}  // namespace
}  // namespace cairn::lsm
