// Whatever is looked up, the answer and the figures are those of RocksDB's own look-up.
#include "engine/lsm/point_lookup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/table.h"
#include "tests/unit/lsm/random_database.h"

namespace cairn::lsm {
namespace {

class PointLookupTest : public RandomDatabase {
 protected:
  static std::string Describe(const rocksdb::Status& status, const rocksdb::PinnableSlice& value) {
    return status.ok() ? "= " + value.ToString() : status.ToString();
  }

  void CompareOne(const rocksdb::ReadOptions& options, const std::string& key) {
    const std::string shown =
        rocksdb::Slice(key).ToString(/*hex=*/true) + " with seed " + std::to_string(seed_);
    rocksdb::PinnableSlice expected;
    rocksdb::PinnableSlice found;
    // So that all is in the cache, for both.
    database_->Get(options, family_, key, &expected).PermitUncheckedError();
    rocksdb::Status expected_status;
    rocksdb::Status status;
    const Figures expected_figures =
        FiguresOf([&] { expected_status = database_->Get(options, family_, key, &expected); });
    const uint64_t calls_before = calls_;
    const Figures figures =
        FiguresOf([&] { status = LookUp(database_, family_, options, key, &found); });
    ++looked_up_;
    left_to_rocksdb_ += calls_ - calls_before;
    ASSERT_EQ(Describe(status, found), Describe(expected_status, expected)) << shown;
    ASSERT_EQ(figures, expected_figures) << shown;
  }

  void CompareMany(const rocksdb::ReadOptions& options, const std::vector<std::string>& keys) {
    const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
    std::vector<rocksdb::PinnableSlice> expected(keys.size());
    std::vector<rocksdb::PinnableSlice> found(keys.size());
    std::vector<rocksdb::Status> expected_outcomes(keys.size());
    std::vector<rocksdb::Status> outcomes(keys.size());
    const auto ask_rocksdb = [&] {
      database_->MultiGet(options, family_, keys.size(), slices.data(), expected.data(),
                          expected_outcomes.data());
    };
    ask_rocksdb();
    Figures expected_figures = FiguresOf(ask_rocksdb);
    Figures figures = FiguresOf([&] {
      LookUpMany(database_, family_, options, keys.size(), slices.data(), found.data(),
                 outcomes.data());
    });
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(Describe(outcomes[i], found[i]), Describe(expected_outcomes[i], expected[i]))
          << slices[i].ToString(/*hex=*/true) << " with seed " << seed_;
    }
    for (const char* const name :
         {"rocksdb.number.multiget.get", "rocksdb.number.multiget.keys.read",
          "rocksdb.number.multiget.keys.found", "rocksdb.number.multiget.bytes.read",
          "rocksdb.memtable.hit", "rocksdb.memtable.miss", "rocksdb.l0.hit", "rocksdb.l1.hit",
          "rocksdb.l2andup.hit"}) {
      ASSERT_EQ(figures[name], expected_figures[name]) << name << " with seed " << seed_;
    }
  }

  uint64_t looked_up_ = 0;
  uint64_t left_to_rocksdb_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Layouts, PointLookupTest, AllLayouts(),
                         [](const auto& info) { return info.param.name; });

TEST_P(PointLookupTest, AnswersAsRocksDbDoes) {
  RecordProperty("seed", std::to_string(seed_));
  for (int round = 0; round < 40; ++round) {
    for (int change = 0; change < 25; ++change) {
      ASSERT_NO_FATAL_FAILURE(ChangeSomething(/*everything=*/false));
    }
    database_->WaitForCompact(rocksdb::WaitForCompactOptions()).PermitUncheckedError();
    for (int read = 0; read < 25; ++read) {
      ASSERT_NO_FATAL_FAILURE(CompareOne(AnyView(), AnyKey())) << "round " << round;
    }
    std::vector<std::string> keys;
    for (int i = 0; i < 20; ++i) keys.push_back(AnyKey());
    ASSERT_NO_FATAL_FAILURE(CompareMany(AnyView(), keys)) << "round " << round;
  }
  if (GetParam().is_plain) {
    EXPECT_LT(left_to_rocksdb_, looked_up_ / 5);
  }
}

TEST_P(PointLookupTest, LeavesMergesAndDeletedRangesToRocksDb) {
  for (int round = 0; round < 15; ++round) {
    for (int change = 0; change < 25; ++change) {
      ASSERT_NO_FATAL_FAILURE(ChangeSomething(/*everything=*/true));
    }
    database_->WaitForCompact(rocksdb::WaitForCompactOptions()).PermitUncheckedError();
    for (int read = 0; read < 25; ++read) {
      ASSERT_NO_FATAL_FAILURE(CompareOne(AnyView(), AnyKey())) << "round " << round;
    }
    std::vector<std::string> keys;
    for (int i = 0; i < 20; ++i) keys.push_back(AnyKey());
    ASSERT_NO_FATAL_FAILURE(CompareMany(AnyView(), keys)) << "round " << round;
  }
}

// A reader never sees less of a key than it has seen.
TEST_P(PointLookupTest, ReadsBesideWritesFlushesAndCompactions) {
  constexpr size_t kKeys = 40;
  const auto key_of = [](size_t number) { return "key" + std::to_string(100 + number); };
  std::atomic<bool> ended = false;
  std::vector<std::thread> readers;
  for (unsigned reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
      std::mt19937 random(reader);
      std::vector<uint64_t> seen(kKeys);
      do {
        std::vector<size_t> numbers;
        std::vector<std::string> keys;
        for (int i = 0; i < 5; ++i) {
          numbers.push_back(random() % kKeys);
          keys.push_back(key_of(numbers.back()));
        }
        const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
        std::vector<rocksdb::PinnableSlice> values(keys.size());
        std::vector<rocksdb::Status> outcomes(keys.size());
        outcomes[0] = LookUp(database_, family_, rocksdb::ReadOptions(), slices[0], values.data());
        LookUpMany(database_, family_, rocksdb::ReadOptions(), keys.size() - 1, slices.data() + 1,
                   values.data() + 1, outcomes.data() + 1);
        for (size_t i = 0; i < keys.size(); ++i) {
          uint64_t now = 0;
          if (outcomes[i].ok()) {
            ASSERT_TRUE(values[i].starts_with(keys[i] + " "));
            now = std::stoull(values[i].ToString().substr(keys[i].size() + 1));
          } else {
            ASSERT_TRUE(outcomes[i].IsNotFound()) << outcomes[i].ToString();
          }
          ASSERT_GE(now, seen[numbers[i]]);
          seen[numbers[i]] = now;
        }
      } while (!ended);
    });
  }
  for (uint64_t write = 1; write <= 900; ++write) {
    const std::string key = key_of(Below(kKeys));
    EXPECT_TRUE(
        database_->Put(rocksdb::WriteOptions(), key, key + " " + std::to_string(write)).ok());
    if (write % 100 == 0) {
      EXPECT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
    }
    if (write % 300 == 0) {
      EXPECT_TRUE(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
    }
  }
  ended = true;
  for (std::thread& reader : readers) reader.join();
}

// What was read stays as it was, whatever happens to the block and its file.
TEST_P(PointLookupTest, ValuesStayAfterTheirFile) {
  ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), "key", "a value").ok());
  ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
  rocksdb::PinnableSlice one;
  ASSERT_TRUE(LookUp(database_, family_, rocksdb::ReadOptions(), "key", &one).ok());
  std::vector<rocksdb::PinnableSlice> two(2);
  std::vector<rocksdb::Status> outcomes(2);
  const std::vector<rocksdb::Slice> keys = {"key", "key"};
  LookUpMany(database_, family_, rocksdb::ReadOptions(), 2, keys.data(), two.data(),
             outcomes.data());
  ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), "key", "another").ok());
  ASSERT_TRUE(database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  auto* const factory = options_.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  factory->block_cache->EraseUnRefEntries();
  EXPECT_EQ(one, "a value");
  EXPECT_EQ(two[0], "a value");
  EXPECT_EQ(two[1], "a value");
  two[0].Reset();
  EXPECT_EQ(two[1], "a value");
  // Used again, a value holds what was read last.
  ASSERT_TRUE(LookUp(database_, family_, rocksdb::ReadOptions(), "key", &one).ok());
  EXPECT_EQ(one, "another");
}

// What is not in the cache is read, and is there for the next one.
TEST_P(PointLookupTest, ReadsWhatIsNotInTheCache) {
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) {
    keys.push_back("key" + std::to_string(1000 + i));
    ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), keys.back(), "of " + keys.back()).ok());
  }
  ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
  ASSERT_NO_FATAL_FAILURE(Close());
  ASSERT_NO_FATAL_FAILURE(Open());
  rocksdb::PinnableSlice value;
  ASSERT_TRUE(LookUp(database_, family_, rocksdb::ReadOptions(), keys[10], &value).ok());
  EXPECT_EQ(value, "of " + keys[10]);
  const auto read = [&](const std::string& key) {
    return FiguresOf([&] {
      ASSERT_TRUE(LookUp(database_, family_, rocksdb::ReadOptions(), key, &value).ok());
      EXPECT_EQ(value, "of " + key);
    });
  };
  EXPECT_EQ(read(keys[150])["rocksdb.block.cache.data.miss"], 1u);
  EXPECT_EQ(read(keys[150])["rocksdb.block.cache.data.miss"], 0u);
  std::vector<rocksdb::Slice> all(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> outcomes(keys.size());
  const rocksdb::Snapshot* const snapshot = database_->GetSnapshot();
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  for (const bool again : {false, true}) {
    Figures figures = FiguresOf([&] {
      LookUpMany(database_, family_, options, keys.size(), all.data(), values.data(),
                 outcomes.data());
    });
    EXPECT_EQ(figures["rocksdb.block.cache.data.miss"] == 0, again);
    EXPECT_EQ(figures["rocksdb.number.multiget.get"], 1u);
    EXPECT_EQ(figures["rocksdb.number.multiget.keys.read"], keys.size());
    EXPECT_EQ(figures["rocksdb.number.multiget.keys.found"], keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(outcomes[i].ok()) << outcomes[i].ToString();
      ASSERT_EQ(values[i], "of " + keys[i]);
    }
  }
  database_->ReleaseSnapshot(snapshot);
}

// Damage is reported as RocksDB does it, and never taken for a key that is not there.
TEST_P(PointLookupTest, DamageIsAnError) {
  std::vector<std::string> keys;
  ASSERT_NO_FATAL_FAILURE(MakeDamagedFile(0, 1500, 300, &keys));
  size_t damaged = 0;
  for (const std::string& key : keys) {
    rocksdb::PinnableSlice expected;
    rocksdb::PinnableSlice found;
    const rocksdb::Status status = LookUp(database_, family_, rocksdb::ReadOptions(), key, &found);
    const rocksdb::Status expected_status =
        database_->Get(rocksdb::ReadOptions(), family_, key, &expected);
    EXPECT_FALSE(status.IsNotFound());
    damaged += status.IsCorruption() ? 1 : 0;
    ASSERT_EQ(Describe(status, found), Describe(expected_status, expected)) << key;
  }
  EXPECT_GT(damaged, 0u);
  EXPECT_LT(damaged, keys.size());
}

// Who collects figures of a thread, or times, sees those of RocksDB.
TEST_P(PointLookupTest, LeavesFiguresOfAThreadToRocksDb) {
  rocksdb::PinnableSlice value;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), "key", "value").ok());
  ASSERT_TRUE(LookUp(database_, family_, rocksdb::ReadOptions(), "key", &value).ok());
  EXPECT_EQ(rocksdb::get_perf_context()->get_from_memtable_count, 1u);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  statistics_->set_stats_level(rocksdb::StatsLevel::kAll);
  ASSERT_TRUE(LookUp(database_, family_, rocksdb::ReadOptions(), "key", &value).ok());
  rocksdb::HistogramData times;
  statistics_->histogramData(rocksdb::DB_GET, &times);
  EXPECT_EQ(times.count, 1u);
}

}  // namespace
}  // namespace cairn::lsm
