// Scans between bounds, which step through files by themselves (engine/lsm/level_iterator.h), show
// what RocksDB's own iterator shows.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/lsm/forward_iterator.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/table.h"
#include "tests/unit/lsm/random_database.h"

namespace cairn::lsm {
namespace {

class LevelIteratorTest : public RandomDatabase {
 protected:
  // Between bounds; of a state that both iterators have.
  struct Range {
    Range(std::string first, std::string end, const rocksdb::Comparator& order)
        : first(std::move(first)), end(std::move(end)) {
      if (order.Compare(this->first, this->end) > 0) std::swap(this->first, this->end);
      lower = this->first;
      upper = this->end;
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

    void SetIn(rocksdb::ReadOptions* options) const {
      options->total_order_seek = true;
      options->ignore_range_deletions = true;
      options->iterate_lower_bound = &lower;
      options->iterate_upper_bound = &upper;
    }
    std::string first;
    std::string end;
    rocksdb::Slice lower;
    rocksdb::Slice upper;
  };

  static std::optional<std::string> Describe(const rocksdb::Iterator& iterator) {
    if (!iterator.status().ok()) return iterator.status().ToString();
    if (!iterator.Valid()) return std::nullopt;
    return iterator.key().ToString(/*hex=*/true) + "=" + iterator.value().ToString();
  }

  void EmptyCache() {
    options_.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()
        ->block_cache->EraseUnRefEntries();
  }

  // Takes both the same way at random, while blocks leave the cache.
  void Walk() {
    rocksdb::ReadOptions options = AnyView();
    const Range range(AnyKey(), AnyKey(), *options_.comparator);
    range.SetIn(&options);
    const auto scan = NewForwardIterator(database_, family_, options);
    const std::unique_ptr<rocksdb::Iterator> general(database_->NewIterator(options, family_));
    std::string steps;
    for (int step = 0; step < 40; ++step) {
      if (Below(12) == 0) EmptyCache();
      const size_t choice = Below(20);
      if (!general->Valid() || choice == 0) {
        const std::string target = AnyKey();
        steps += " Seek " + rocksdb::Slice(target).ToString(/*hex=*/true);
        scan->Seek(target);
        general->Seek(target);
      } else if (choice == 1 && Below(10) == 0) {
        steps += " Prev";
        scan->Prev();
        general->Prev();
      } else {
        steps += " Next";
        scan->Next();
        general->Next();
      }
      ASSERT_EQ(Describe(*scan), Describe(*general)) << steps << " with seed " << seed_;
    }
  }

  static std::vector<std::string> All(rocksdb::Iterator* iterator) {
    std::vector<std::string> entries;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      entries.push_back(*Describe(*iterator));
    }
    if (!iterator->status().ok()) entries.push_back(iterator->status().ToString());
    return entries;
  }

  // A scan over everything, which is in the cache.
  void CompareScansOfAll() {
    rocksdb::ReadOptions options;
    const Range range(std::string(1, '\0'), std::string(1, '\1'), *options_.comparator);
    range.SetIn(&options);
    const auto general = [&] {
      const std::unique_ptr<rocksdb::Iterator> iterator(database_->NewIterator(options, family_));
      return All(iterator.get());
    };
    const auto scan = [&] { return All(NewForwardIterator(database_, family_, options).get()); };
    const std::vector<std::string> expected = general();
    ASSERT_GT(expected.size(), 100u);
    Figures expected_figures = FiguresOf([&] { EXPECT_EQ(general(), expected); });
    Figures figures = FiguresOf([&] { EXPECT_EQ(scan(), expected); });
    if (!GetParam().is_plain) return;
    for (const char* const name : {"rocksdb.block.cache.data.hit", "rocksdb.block.cache.data.miss",
                                   "rocksdb.number.db.next.found", "rocksdb.db.iter.bytes.read"}) {
      EXPECT_EQ(figures[name], expected_figures[name]) << name << " with seed " << seed_;
    }
    EXPECT_GT(BlocksAskedByRocksDb(general), 0u);
    EXPECT_EQ(BlocksAskedByRocksDb(scan), 0u);
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, LevelIteratorTest, AllLayouts(),
                         [](const auto& info) { return info.param.name; });

TEST_P(LevelIteratorTest, ShowsWhatRocksDbShows) {
  RecordProperty("seed", std::to_string(seed_));
  for (int round = 0; round < 30; ++round) {
    for (int change = 0; change < 25; ++change) {
      ASSERT_NO_FATAL_FAILURE(ChangeSomething(/*everything=*/false));
    }
    // Such entries are RocksDB's to show.
    ASSERT_TRUE(database_->Merge(rocksdb::WriteOptions(), AnyKey(), "m").ok());
    database_->WaitForCompact(rocksdb::WaitForCompactOptions()).PermitUncheckedError();
    for (int walk = 0; walk < 10; ++walk) {
      ASSERT_NO_FATAL_FAILURE(Walk()) << "round " << round;
    }
  }
}

// Beside files there are memtables that wait to be written out.
TEST_P(LevelIteratorTest, ShowsWhatWaitsInMemtablesToo) {
  for (int round = 0; round < 5; ++round) {
    for (int change = 0; change < 60; ++change) {
      ASSERT_NO_FATAL_FAILURE(ChangeSomething(/*everything=*/false));
    }
    ASSERT_TRUE(database_->PauseBackgroundWork().ok());
    rocksdb::FlushOptions flush;
    flush.wait = false;
    flush.allow_write_stall = true;
    constexpr int kWaiting = 2;
    for (int memtable = 0; memtable <= kWaiting; ++memtable) {
      for (int change = 0; change < 20; ++change) {
        ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), AnyKey(), AnyValue()).ok());
      }
      if (memtable < kWaiting) {
        ASSERT_TRUE(database_->Flush(flush).ok());
      }
    }
    std::string waiting;
    ASSERT_TRUE(database_->GetProperty("rocksdb.num-immutable-mem-table", &waiting));
    EXPECT_EQ(waiting, std::to_string(kWaiting));
    for (int walk = 0; walk < 10; ++walk) {
      ASSERT_NO_FATAL_FAILURE(Walk()) << "round " << round;
    }
    ASSERT_TRUE(database_->ContinueBackgroundWork().ok());
  }
}

TEST_P(LevelIteratorTest, StepsThroughTheCacheByItself) {
  // Not in memtables, of whose versions RocksDB passes many by a search in all files.
  for (int change = 1; change <= 600; ++change) {
    ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), AnyKey(), AnyValue()).ok());
    if (change % 150 == 0) {
      ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
    }
  }
  for (const bool compacted : {false, true}) {
    if (compacted) {
      ASSERT_TRUE(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
    }
    // What compactions find in the cache counts, too.
    ASSERT_TRUE(database_->PauseBackgroundWork().ok());
    ASSERT_NO_FATAL_FAILURE(CompareScansOfAll());
    ASSERT_TRUE(database_->ContinueBackgroundWork().ok());
  }
}

// What it shows stays for as long as it stands there, whatever happens to the block and its file.
TEST_P(LevelIteratorTest, EntriesStayAfterTheirFile) {
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key" + std::to_string(1000 + i);
    ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), key, "of " + key).ok());
  }
  ASSERT_TRUE(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  rocksdb::ReadOptions options;
  const Range range("key", "kez", *options_.comparator);
  range.SetIn(&options);
  All(NewForwardIterator(database_, family_, options).get());
  const auto scan = NewForwardIterator(database_, family_, options);
  scan->Seek(GetParam().reverse ? "key1095" : "key1005");
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key" + std::to_string(1000 + i);
    ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), key, "another").ok());
  }
  ASSERT_TRUE(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  EmptyCache();
  int shown = 0;
  for (; scan->Valid(); scan->Next()) {
    EXPECT_EQ(scan->value(), "of " + scan->key().ToString());
    EmptyCache();
    ++shown;
  }
  EXPECT_TRUE(scan->status().ok()) << scan->status().ToString();
  EXPECT_EQ(shown, GetParam().reverse ? 96 : 95);
}

// Damage is reported as RocksDB does it, and never taken for an end.
TEST_P(LevelIteratorTest, DamageIsAnError) {
  std::vector<std::string> keys;
  // Of the last data blocks.
  ASSERT_NO_FATAL_FAILURE(MakeDamagedFile(900, 1300, 200, &keys));
  // A compaction that meets the damage would stop all writing.
  ASSERT_TRUE(database_->SetOptions(family_, {{"disable_auto_compactions", "true"}}).ok());
  rocksdb::ReadOptions options;
  const Range range("key", "kez", *options_.comparator);
  range.SetIn(&options);
  for (const bool beside_others : {false, true}) {
    if (beside_others) {
      for (size_t i = 0; i < keys.size(); i += 3) {
        ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), keys[i] + "x", "whole").ok());
      }
      ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
    }
    const std::unique_ptr<rocksdb::Iterator> general(database_->NewIterator(options, family_));
    const std::vector<std::string> expected = All(general.get());
    EXPECT_TRUE(general->status().IsCorruption()) << general->status().ToString();
    const auto scan = NewForwardIterator(database_, family_, options);
    for (int round = 0; round < 2; ++round) {  // With what was read in the cache, too.
      EXPECT_EQ(All(scan.get()), expected);
    }
    // A search elsewhere is not held up by an error.
    for (const std::string& key : keys) {
      scan->Seek(key);
      general->Seek(key);
      ASSERT_EQ(Describe(*scan), Describe(*general)) << key;
    }
  }
}

}  // namespace
}  // namespace cairn::lsm
