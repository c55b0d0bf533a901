// Whatever is looked up, the answer and the figures are those of RocksDB's own look-up.
#include "engine/store/point_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/store/block_look_ahead.h"
#include "engine/store/comparator.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/trace_reader_writer.h"

namespace cairn {
namespace {

// Operands are put one behind the other.
class Append final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "append"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& operand,
             std::string* result, rocksdb::Logger*) const override {
    *result = (existing != nullptr ? existing->ToString() : "") + operand.ToString();
    return true;
  }
};

// Counts what RocksDB's own look-ups note of themselves.
class CallCounter final : public rocksdb::TraceWriter {
 public:
  explicit CallCounter(std::atomic<uint64_t>* calls) : calls_(calls) {}
  rocksdb::Status Write(const rocksdb::Slice&) override {
    ++*calls_;
    return rocksdb::Status::OK();
  }
  rocksdb::Status Close() override { return rocksdb::Status::OK(); }
  uint64_t GetFileSize() override { return 0; }

 private:
  std::atomic<uint64_t>* const calls_;
};

struct Layout {
  const char* name;
  bool reverse = false;
  bool cached_index = true;
  bool clock_cache = true;
  bool filter = true;
  bool prefix = false;
  // Of the files.
  int format_version = 6;
  int restart_interval = 16;
  // Whether most keys are looked up without RocksDB's own look-up.
  bool is_plain = true;
  void (*change)(rocksdb::Options*, rocksdb::BlockBasedTableOptions*) = nullptr;
};

void PrintTo(const Layout& layout, std::ostream* to) { *to << layout.name; }

using Figures = std::map<std::string, uint64_t>;

class PointLookupTest : public ::testing::TestWithParam<Layout> {
 protected:
  PointLookupTest() : env_(rocksdb::NewMemEnv(rocksdb::Env::Default())) {
    const char* const given = std::getenv("CAIRN_TEST_SEED");
    seed_ = given != nullptr ? std::strtoul(given, nullptr, 10) : 20261124;
    random_.seed(seed_);
  }

  void SetUp() override {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    Open();
  }

  void TearDown() override { Close(); }

  void Open() {
    const Layout& layout = GetParam();
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.comparator = layout.reverse ? ReverseComparator() : ForwardComparator();
    options.merge_operator = std::make_shared<Append>();
    options.statistics = rocksdb::CreateDBStatistics();
    options.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
    options.target_file_size_base = 1500;
    options.max_bytes_for_level_base = 3000;
    options.max_bytes_for_level_multiplier = 3;
    options.level0_file_num_compaction_trigger = 5;
    options.enforce_single_del_contracts = false;  // Keys are deleted in both ways.
    if (layout.prefix) options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
    rocksdb::BlockBasedTableOptions table;
    table.block_size = 200;
    table.format_version = static_cast<uint32_t>(layout.format_version);
    table.block_restart_interval = layout.restart_interval;
    table.cache_index_and_filter_blocks = layout.cached_index;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    if (layout.filter) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    constexpr size_t kCacheBytes = 64 << 20;
    table.block_cache = layout.clock_cache
                            ? rocksdb::HyperClockCacheOptions(kCacheBytes, 0).MakeSharedCache()
                            : rocksdb::NewLRUCache(kCacheBytes);
    if (layout.change != nullptr) layout.change(&options, &table);
    options.table_factory = LookAheadInBlocks(
        std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(table)));
    options_ = options;
    statistics_ = options.statistics;
    const rocksdb::Status status = rocksdb::DB::Open(options, "/memory", &opened_);
    ASSERT_TRUE(status.ok()) << status.ToString();
    database_ = opened_.get();
    family_ = database_->DefaultColumnFamily();
    calls_ = 0;
    ASSERT_TRUE(database_
                    ->StartTrace(rocksdb::TraceOptions{.filter = rocksdb::kTraceFilterIteratorSeek |
                                                                 rocksdb::kTraceFilterWrite},
                                 std::make_unique<CallCounter>(&calls_))
                    .ok());
  }

  void Close() {
    for (const rocksdb::Snapshot* const snapshot : snapshots_) {
      database_->ReleaseSnapshot(snapshot);
    }
    snapshots_.clear();
    if (opened_ != nullptr) {
      EXPECT_TRUE(database_->EndTrace().ok());
    }
    opened_.reset();
  }

  size_t Below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

  // Some are the beginning of others, and have bytes that versions are made of.
  std::string AnyKey() {
    static constexpr char kBytes[] = {'\0', '\1', '\2', '\xff'};
    std::string key("\0\0\1", 3);
    const size_t length = Below(5);
    for (size_t i = 0; i < length; ++i) key.push_back(kBytes[Below(4)]);
    if (Below(4) == 0) key += "a long end of it that is shared " + std::to_string(Below(8));
    return key;
  }

  std::string AnyValue() { return std::string(Below(Below(20) == 0 ? 300 : 30), 'v') + AnyKey(); }

  void ChangeSomething(bool everything) {
    const std::string key = AnyKey();
    rocksdb::Status done;
    switch (Below(60)) {
      case 0:
        done = database_->Flush(rocksdb::FlushOptions());
        break;
      case 1:
        if (Below(5) == 0) {
          done = database_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr);
        }
        break;
      case 2:
        if (snapshots_.size() < 6) snapshots_.push_back(database_->GetSnapshot());
        break;
      case 3:
        if (!snapshots_.empty()) {
          database_->ReleaseSnapshot(snapshots_.front());
          snapshots_.erase(snapshots_.begin());
        }
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        done = database_->Delete(rocksdb::WriteOptions(), key);
        break;
      case 8:
      case 9:
        done = database_->SingleDelete(rocksdb::WriteOptions(), key);
        break;
      case 10:
        if (everything) done = database_->Merge(rocksdb::WriteOptions(), key, "m");
        break;
      case 11:
        if (everything && options_.row_cache == nullptr && Below(10) == 0) {
          std::string end = AnyKey();
          std::string begin = key;
          if (options_.comparator->Compare(begin, end) > 0) std::swap(begin, end);
          done = database_->DeleteRange(rocksdb::WriteOptions(), begin, end);
        }
        break;
      case 12:
        if (Below(4) == 0) Ingest();
        break;
      case 13:
        // More versions than a block has room for.
        for (int i = 0; i < 25; ++i) {
          done = database_->Put(rocksdb::WriteOptions(), key, AnyValue());
          if (i % 10 == 0 && snapshots_.size() < 9) snapshots_.push_back(database_->GetSnapshot());
        }
        break;
      default:
        done = database_->Put(rocksdb::WriteOptions(), key, AnyValue());
    }
    ASSERT_TRUE(done.ok()) << done.ToString();
  }

  // A file of another program, whose entries all have one number.
  void Ingest() {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    ASSERT_TRUE(writer.Open("/ingested").ok());
    std::vector<std::string> keys;
    for (int i = 0; i < 30; ++i) keys.push_back(AnyKey());
    std::sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) {
      return options_.comparator->Compare(a, b) < 0;
    });
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const std::string& key : keys) ASSERT_TRUE(writer.Put(key, AnyValue()).ok());
    ASSERT_TRUE(writer.Finish().ok());
    const rocksdb::Status done = database_->IngestExternalFile({"/ingested"}, {});
    ASSERT_TRUE(done.ok()) << done.ToString();
  }

  Figures FiguresNow() const {
    Figures figures;
    for (const auto& [ticker, name] : rocksdb::TickersNameMap) {
      figures[name] = statistics_->getTickerCount(ticker);
    }
    return figures;
  }

  template <typename Read>
  Figures FiguresOf(Read&& read) const {
    const Figures before = FiguresNow();
    read();
    Figures changed;
    for (const auto& [name, count] : FiguresNow()) {
      if (count != before.at(name)) changed[name] = count - before.at(name);
    }
    return changed;
  }

  rocksdb::ReadOptions AnyView() {
    rocksdb::ReadOptions options;
    if (!snapshots_.empty() && Below(2) == 0) {
      options.snapshot = snapshots_[Below(snapshots_.size())];
    }
    return options;
  }

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

  std::unique_ptr<rocksdb::Env> env_;
  rocksdb::Options options_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> opened_;
  rocksdb::DB* database_ = nullptr;
  rocksdb::ColumnFamilyHandle* family_ = nullptr;
  std::vector<const rocksdb::Snapshot*> snapshots_;
  unsigned long seed_ = 0;
  std::mt19937 random_;
  std::atomic<uint64_t> calls_ = 0;
  uint64_t looked_up_ = 0;
  uint64_t left_to_rocksdb_ = 0;
};

INSTANTIATE_TEST_SUITE_P(
    Layouts, PointLookupTest,
    ::testing::Values(
        Layout{.name = "Usual"}, Layout{.name = "Reverse", .reverse = true},
        Layout{.name = "NoFilter", .filter = false},
        Layout{.name = "ReverseNoFilter", .reverse = true, .filter = false},
        Layout{.name = "IndexOutsideOfCache", .cached_index = false},
        Layout{.name = "LruCache", .clock_cache = false},
        Layout{.name = "WithPrefixes", .prefix = true},
        Layout{.name = "ReverseWithPrefixes", .reverse = true, .prefix = true},
        Layout{.name = "OldFormat", .format_version = 2},
        Layout{.name = "ShortRestarts", .restart_interval = 1},
        Layout{.name = "FiltersForMisses",
               .change = [](auto* options, auto*) { options->optimize_filters_for_hits = true; }},
        Layout{.name = "FilesInACache",
               .change = [](auto* options, auto*) { options->max_open_files = 500; }},
        Layout{.name = "HashIndex",
               .is_plain = false,
               .change =
                   [](auto*, auto* table) {
                     table->data_block_index_type =
                         rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
                   }},
        Layout{.name = "TwoLevels",
               .is_plain = false,
               .change =
                   [](auto*, auto* table) {
                     table->index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
                     table->partition_filters = true;
                   }},
        Layout{.name = "LongIndexIntervals",
               .is_plain = false,
               .change = [](auto*, auto* table) { table->index_block_restart_interval = 4; }},
        Layout{.name = "PrefixFilters",
               .prefix = true,
               .is_plain = false,
               .change = [](auto*, auto* table) { table->whole_key_filtering = false; }},
        Layout{.name = "ChecksumsInBlocks",
               .is_plain = false,
               .change = [](auto* options, auto*) { options->block_protection_bytes_per_key = 8; }},
        Layout{.name = "BlobFiles",
               .is_plain = false,
               .change =
                   [](auto* options, auto*) {
                     options->enable_blob_files = true;
                     options->min_blob_size = 25;
                   }},
        Layout{.name = "RowCache",
               .is_plain = false,
               .change = [](auto* options,
                            auto*) { options->row_cache = rocksdb::NewLRUCache(1 << 20); }}),
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
  for (int i = 0; i < 100; ++i) {
    keys.push_back("key" + std::to_string(1000 + i));
    ASSERT_TRUE(
        database_->Put(rocksdb::WriteOptions(), keys.back(), "value" + std::to_string(i)).ok());
  }
  ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
  std::vector<rocksdb::LiveFileMetaData> files;
  database_->GetLiveFilesMetaData(&files);
  ASSERT_EQ(files.size(), 1u);
  const std::string path = files[0].db_path + files[0].name;
  ASSERT_NO_FATAL_FAILURE(Close());
  std::string bytes;
  ASSERT_TRUE(rocksdb::ReadFileToString(env_.get(), path, &bytes).ok());
  for (size_t i = 0; i < 1500; i += 300) bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
  ASSERT_TRUE(rocksdb::WriteStringToFile(env_.get(), bytes, path).ok());
  ASSERT_NO_FATAL_FAILURE(Open());
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
}  // namespace cairn
