// Whatever an iterator for forward scans is asked, RocksDB's own gives the same answer.
#include "engine/lsm/forward_iterator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/codec/dictionary_record.h"
#include "engine/sst/auto_increment_merge.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "tests/unit/store/memory_database.h"

namespace cairn::lsm {
namespace {

constexpr int kFewKeys = 60;

std::string NumberKey(int number) { return {'\0', '\0', '\1', '\0', static_cast<char>(number)}; }

// A family with versions of few keys in memtables and in files of several levels, and snapshots in
// between.
class ForwardIteratorTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);  // As sessions do.
    DatabaseOptions options = disk_.Options();
    options.column_family.max_sequential_skip_in_iterations = 3;
    // A level has several files.
    options.column_family.target_file_size_base = 200;
    options.column_family.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()->block_size =
        100;
    options.db.statistics = rocksdb::CreateDBStatistics();
    statistics_ = options.db.statistics;
    auto opened = Database::Open(std::move(options), &disk_.log());
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    database_ = std::move(opened).value();
    family_ = *database_->families().FindOrCreate(GetParam());
  }

  void TearDown() override {
    for (const rocksdb::Snapshot* snapshot : snapshots_) {
      database_->rocksdb()->ReleaseSnapshot(snapshot);
    }
  }

  void ChangeSomething() {
    const std::string key = NumberKey(Below(kFewKeys));
    rocksdb::DB* const db = database_->rocksdb();
    rocksdb::Status done;
    switch (Below(24)) {
      case 0:
        done = db->Flush(rocksdb::FlushOptions(), family_->handle);
        break;
      case 1:
        if (Below(4) == 0) {
          ASSERT_TRUE(database_->maintenance().Compact(*family_).ok());
        }
        break;
      case 2:
        if (snapshots_.size() < 8) snapshots_.push_back(db->GetSnapshot());
        break;
      case 3:
      case 4:
      case 5:
        done = db->Delete(rocksdb::WriteOptions(), family_->handle, key);
        break;
      case 6:
        // Many versions of one key, which are passed by seeking.
        for (int i = 0; i < 12; ++i) {
          done = db->Put(rocksdb::WriteOptions(), family_->handle, key, "v" + std::to_string(i));
        }
        break;
      default:
        done =
            db->Put(rocksdb::WriteOptions(), family_->handle, key,
                    std::string(static_cast<size_t>(Below(30)), 'x') + std::to_string(Below(99)));
    }
    ASSERT_TRUE(done.ok()) << done.ToString();
  }

  int Below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }

  std::optional<std::string> Describe(const rocksdb::Iterator& iterator) {
    if (!iterator.status().ok()) return iterator.status().ToString();
    if (!iterator.Valid()) return std::nullopt;
    std::string text = iterator.key().ToString(/*hex=*/true) + "=" + iterator.value().ToString();
    for (const rocksdb::WideColumn& column : iterator.columns()) {
      text += " " + column.name().ToString() + ":" + column.value().ToString();
    }
    return text;
  }

  // Takes both the same way at random.
  void Walk(const rocksdb::ReadOptions& options, bool only_forward) {
    const auto forward = NewForwardIterator(database_->rocksdb(), family_->handle, options);
    const std::unique_ptr<rocksdb::Iterator> general(
        database_->rocksdb()->NewIterator(options, family_->handle));
    std::string steps;
    for (int step = 0; step < 40; ++step) {
      const int choice = Below(only_forward ? 8 : 11);
      if (!general->Valid() || choice == 0) {
        const std::string target = NumberKey(Below(kFewKeys + 2) - 1);
        if (!only_forward && Below(4) == 0) {
          steps += " SeekForPrev " + rocksdb::Slice(target).ToString(true);
          forward->SeekForPrev(target);
          general->SeekForPrev(target);
        } else {
          steps += " Seek " + rocksdb::Slice(target).ToString(true);
          forward->Seek(target);
          general->Seek(target);
        }
      } else if (choice == 1 && step % 5 == 0) {
        steps += " SeekToFirst";
        forward->SeekToFirst();
        general->SeekToFirst();
      } else if (choice < 8) {
        steps += " Next";
        forward->Next();
        general->Next();
      } else if (choice == 8) {
        const std::string target = NumberKey(Below(kFewKeys));
        steps += " SeekForPrev " + rocksdb::Slice(target).ToString(true);
        forward->SeekForPrev(target);
        general->SeekForPrev(target);
      } else {
        steps += " Prev";
        forward->Prev();
        general->Prev();
      }
      ASSERT_EQ(Describe(*forward), Describe(*general)) << steps;
    }
  }

  // In the level that has most of them.
  size_t FilesBelowLevelZero() {
    rocksdb::ColumnFamilyMetaData files;
    database_->rocksdb()->GetColumnFamilyMetaData(family_->handle, &files);
    size_t most = 0;
    for (const rocksdb::LevelMetaData& level : files.levels) {
      if (level.level > 0) most = std::max(most, level.files.size());
    }
    return most;
  }

  MemoryDisk disk_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<Database> database_;
  const ColumnFamily* family_ = nullptr;
  std::vector<const rocksdb::Snapshot*> snapshots_;
  std::mt19937 random_{20261122};
};

INSTANTIATE_TEST_SUITE_P(Families, ForwardIteratorTest, ::testing::Values("default", "rev:cf"));

TEST_P(ForwardIteratorTest, ShowsWhatRocksDbsOwnShows) {
  size_t most_files = 0;
  for (int round = 0; round < 400; ++round) {
    for (int change = 0; change < 10; ++change) ChangeSomething();
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    if (!snapshots_.empty() && Below(2) == 0) {
      options.snapshot =
          snapshots_[static_cast<size_t>(Below(static_cast<int>(snapshots_.size())))];
    }
    std::string first = NumberKey(Below(kFewKeys));
    std::string last = NumberKey(Below(kFewKeys));
    if ((first > last) != family_->reverse) std::swap(first, last);
    const rocksdb::Slice lower(first);
    const rocksdb::Slice upper(last);
    if (Below(2) == 0) options.iterate_lower_bound = &lower;
    if (Below(2) == 0) options.iterate_upper_bound = &upper;
    options.ignore_range_deletions = Below(4) != 0;  // There are none.
    most_files = std::max(most_files, FilesBelowLevelZero());
    ASSERT_NO_FATAL_FAILURE(Walk(options, /*only_forward=*/Below(2) == 0)) << "round " << round;
  }
  EXPECT_GE(most_files, 3u);
}

TEST_P(ForwardIteratorTest, GivesUpAfterAsManyDeletedEntries) {
  rocksdb::DB* const db = database_->rocksdb();
  for (int i = 0; i < kFewKeys; ++i) {
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), family_->handle, NumberKey(i), "v").ok());
    const bool at_end = i == 0 || i == kFewKeys - 1;
    if (at_end) continue;
    ASSERT_TRUE(db->Delete(rocksdb::WriteOptions(), family_->handle, NumberKey(i)).ok());
  }
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  for (const uint64_t most : {10, 200}) {
    options.max_skippable_internal_keys = most;
    const auto iterator = NewForwardIterator(db, family_->handle, options);
    iterator->Seek(NumberKey(family_->reverse ? kFewKeys - 1 : 0));
    ASSERT_TRUE(iterator->Valid());
    iterator->Next();
    EXPECT_EQ(iterator->Valid(), most == 200);
    EXPECT_EQ(iterator->status().IsIncomplete(), most == 10) << iterator->status().ToString();
  }
}

// A flush and a compaction meanwhile take nothing away from it, without a snapshot too.
TEST_P(ForwardIteratorTest, KeepsTheStateThatItWasMadeAt) {
  rocksdb::DB* const db = database_->rocksdb();
  for (int i = 0; i < kFewKeys; ++i) {
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), family_->handle, NumberKey(i), "old").ok());
  }
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const auto forward = NewForwardIterator(db, family_->handle, options);
  const auto turned = NewForwardIterator(db, family_->handle, options);
  for (int i = 0; i < kFewKeys; ++i) {
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), family_->handle, NumberKey(i), "new").ok());
  }
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  ASSERT_TRUE(database_->maintenance().Compact(*family_).ok());
  int entries = 0;
  for (forward->Seek(NumberKey(family_->reverse ? kFewKeys : 0)); forward->Valid();
       forward->Next()) {
    EXPECT_EQ(forward->value(), "old");
    ++entries;
  }
  EXPECT_EQ(entries, kFewKeys);
  turned->SeekForPrev(NumberKey(5));
  EXPECT_EQ(turned->value(), "old");
}

// Entries of other kinds than rows have: operands of a merge.
TEST_P(ForwardIteratorTest, ShowsMergedEntries) {
  rocksdb::DB* const db = database_->rocksdb();
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  for (const uint64_t value : {5, 9, 7}) {
    const std::string key = IndexKey(DictionaryRecordType::kAutoIncrement, IndexId{0, 256});
    ASSERT_TRUE(db->Merge(rocksdb::WriteOptions(), system, key, EncodeAutoIncrement(value)).ok());
  }
  const auto iterator = NewForwardIterator(db, system, rocksdb::ReadOptions());
  const std::unique_ptr<rocksdb::Iterator> general(db->NewIterator(rocksdb::ReadOptions(), system));
  general->Seek("");
  for (iterator->Seek(""); iterator->Valid(); iterator->Next(), general->Next()) {
    ASSERT_TRUE(general->Valid());
    EXPECT_EQ(iterator->key(), general->key());
    EXPECT_EQ(iterator->value(), general->value());
  }
  EXPECT_FALSE(general->Valid());
}

// A batch's own operands are merged with the value that the iterator under it shows.
TEST_P(ForwardIteratorTest, MergesOperandsOfABatchWithItsValue) {
  rocksdb::DB* const db = database_->rocksdb();
  rocksdb::ColumnFamilyHandle* const system = database_->system_family().handle;
  const std::string key = IndexKey(DictionaryRecordType::kAutoIncrement, IndexId{0, 256});
  ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), system, key, EncodeAutoIncrement(9)).ok());
  rocksdb::WriteBatchWithIndex batch(rocksdb::BytewiseComparator(), 0, /*overwrite_key=*/true);
  ASSERT_TRUE(batch.Merge(system, key, EncodeAutoIncrement(7)).ok());
  const rocksdb::ReadOptions options;
  const std::unique_ptr<rocksdb::Iterator> merged(batch.NewIteratorWithBase(
      system, NewForwardIterator(db, system, options).release(), &options));
  merged->Seek(key);
  ASSERT_TRUE(merged->Valid()) << merged->status().ToString();
  EXPECT_EQ(merged->value(), EncodeAutoIncrement(9));
}

TEST_P(ForwardIteratorTest, CountsWhatRocksDbsOwnCounts) {
  rocksdb::DB* const db = database_->rocksdb();
  for (int i = 0; i < kFewKeys; ++i) {
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), family_->handle, NumberKey(i), "value").ok());
  }
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const auto counts_of = [&](std::unique_ptr<rocksdb::Iterator> iterator) {
    std::map<uint32_t, uint64_t> counts;
    EXPECT_TRUE(statistics_->Reset().ok());
    iterator->Seek(NumberKey(family_->reverse ? 50 : 10));
    for (int i = 0; i < 5; ++i) iterator->Next();
    iterator.reset();
    for (const uint32_t ticker :
         {rocksdb::NUMBER_DB_SEEK, rocksdb::NUMBER_DB_SEEK_FOUND, rocksdb::NUMBER_DB_NEXT,
          rocksdb::NUMBER_DB_NEXT_FOUND, rocksdb::ITER_BYTES_READ, rocksdb::NO_ITERATOR_DELETED}) {
      counts[ticker] = statistics_->getTickerCount(ticker);
    }
    return counts;
  };
  EXPECT_EQ(
      counts_of(NewForwardIterator(db, family_->handle, options)),
      counts_of(std::unique_ptr<rocksdb::Iterator>(db->NewIterator(options, family_->handle))));
}

// Another program may have written keys that are shorter than the number of an index.
TEST_P(ForwardIteratorTest, ShowsKeysThatAreShorterThanAnIndexNumber) {
  rocksdb::DB* const db = database_->rocksdb();
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
  const std::vector<std::string> keys = {""s,           "\0"s,   "\0\0"s, "\0\0\1"s, NumberKey(1),
                                         NumberKey(20), "\0\1"s, "\1"s,   "zz"s};
  for (const bool in_files : {false, true}) {
    for (const std::string& key : keys) {
      // Of two versions each, and one key that is gone.
      ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), family_->handle, key, "old").ok());
      ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), family_->handle, key, "new").ok());
    }
    ASSERT_TRUE(db->Delete(rocksdb::WriteOptions(), family_->handle, "\0\0"s).ok());
    if (in_files) {
      ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
      ASSERT_TRUE(database_->maintenance().Compact(*family_).ok());
    }
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    for (const std::string& from : keys) {
      for (const std::string& end : keys) {
        const rocksdb::Slice lower(from);
        const rocksdb::Slice upper(end);
        options.iterate_lower_bound = &lower;
        options.iterate_upper_bound = &upper;
        const auto forward = NewForwardIterator(db, family_->handle, options);
        const std::unique_ptr<rocksdb::Iterator> general(db->NewIterator(options, family_->handle));
        forward->Seek(from);
        for (general->Seek(from); general->Valid(); general->Next(), forward->Next()) {
          ASSERT_EQ(Describe(*forward), Describe(*general));
        }
        ASSERT_EQ(Describe(*forward), std::nullopt);
      }
    }
    options.iterate_lower_bound = options.iterate_upper_bound = nullptr;
    const auto forward = NewForwardIterator(db, family_->handle, options);
    size_t entries = 0;
    for (forward->SeekToFirst(); forward->Valid(); forward->Next()) {
      EXPECT_EQ(forward->value(), "new");
      ++entries;
    }
    EXPECT_TRUE(forward->status().ok());
    EXPECT_EQ(entries, keys.size() - 1);
    ASSERT_NO_FATAL_FAILURE(Walk(options, /*only_forward=*/false));
  }
}

// Who chooses files by their properties gets the entries of those alone.
TEST_P(ForwardIteratorTest, LeavesTheChoiceOfFilesToRocksDb) {
  rocksdb::DB* const db = database_->rocksdb();
  for (int i = 0; i < kFewKeys; ++i) {
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), family_->handle, NumberKey(i), "value").ok());
  }
  ASSERT_TRUE(db->Flush(rocksdb::FlushOptions(), family_->handle).ok());
  std::string lower = NumberKey(0);
  std::string upper = NumberKey(kFewKeys);
  if (family_->reverse) std::swap(lower, upper);
  const rocksdb::Slice lower_bound(lower);
  const rocksdb::Slice upper_bound(upper);
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &lower_bound;
  options.iterate_upper_bound = &upper_bound;
  options.ignore_range_deletions = true;
  const auto has_entries = [&] {
    const auto iterator = NewForwardIterator(db, family_->handle, options);
    iterator->Seek(lower);
    EXPECT_TRUE(iterator->status().ok());
    return iterator->Valid();
  };
  EXPECT_TRUE(has_entries());
  options.table_filter = [](const rocksdb::TableProperties&) { return false; };
  EXPECT_FALSE(has_entries());
}

// Who collects figures of a thread sees those of RocksDB.
TEST_P(ForwardIteratorTest, LeavesFiguresOfAThreadToRocksDb) {
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  NewForwardIterator(database_->rocksdb(), family_->handle, rocksdb::ReadOptions())->Seek("");
  EXPECT_EQ(rocksdb::get_perf_context()->iter_seek_count, 1u);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
}

}  // namespace
}  // namespace cairn::lsm
