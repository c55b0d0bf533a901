// A small database whose entries, versions and files come at random, in every layout of files that
// RocksDB writes or that reads of ours tell apart; for tests that compare these reads with
// RocksDB's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/lsm/block_prefetch.h"
#include "engine/lsm/comparator.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/block_cache_trace_writer.h"
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

namespace cairn::lsm {

// Operands are put one behind the other.
class AppendOperands final : public rocksdb::AssociativeMergeOperator {
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

// Counts the blocks that RocksDB's own reads look for.
class BlockCounter final : public rocksdb::BlockCacheTraceWriter {
 public:
  explicit BlockCounter(std::atomic<uint64_t>* blocks) : blocks_(blocks) {}
  rocksdb::Status WriteBlockAccess(const rocksdb::BlockCacheTraceRecord&, const rocksdb::Slice&,
                                   const rocksdb::Slice&, const rocksdb::Slice&) override {
    ++*blocks_;
    return rocksdb::Status::OK();
  }
  rocksdb::Status WriteHeader() override { return rocksdb::Status::OK(); }

 private:
  std::atomic<uint64_t>* const blocks_;
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

inline void PrintTo(const Layout& layout, std::ostream* to) { *to << layout.name; }

using Figures = std::map<std::string, uint64_t>;

class RandomDatabase : public ::testing::TestWithParam<Layout> {
 protected:
  RandomDatabase() : env_(rocksdb::NewMemEnv(rocksdb::Env::Default())) {
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
    options.merge_operator = std::make_shared<AppendOperands>();
    options.statistics = rocksdb::CreateDBStatistics();
    options.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
    options.target_file_size_base = 1500;
    options.max_bytes_for_level_base = 3000;
    options.max_bytes_for_level_multiplier = 3;
    options.level0_file_num_compaction_trigger = 5;
    options.max_write_buffer_number = 4;
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
    options.table_factory = WithBlockPrefetch(
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

  // Fills one file with keys, which it returns in order, and flips bits of every so many bytes
  // between `first` and `end`; opens the database again.
  void MakeDamagedFile(size_t first, size_t end, size_t distance, std::vector<std::string>* keys) {
    for (int i = 0; i < 100; ++i) {
      keys->push_back("key" + std::to_string(1000 + i));
      const std::string value = "value" + std::to_string(i);
      ASSERT_TRUE(database_->Put(rocksdb::WriteOptions(), keys->back(), value).ok());
    }
    ASSERT_TRUE(database_->Flush(rocksdb::FlushOptions()).ok());
    std::vector<rocksdb::LiveFileMetaData> files;
    database_->GetLiveFilesMetaData(&files);
    ASSERT_EQ(files.size(), 1u);
    const std::string path = files[0].db_path + files[0].name;
    ASSERT_NO_FATAL_FAILURE(Close());
    std::string bytes;
    ASSERT_TRUE(rocksdb::ReadFileToString(env_.get(), path, &bytes).ok());
    for (size_t i = first; i < end; i += distance) bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
    ASSERT_TRUE(rocksdb::WriteStringToFile(env_.get(), bytes, path).ok());
    ASSERT_NO_FATAL_FAILURE(Open());
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

  // How many blocks RocksDB's own reads look for during `read`.
  template <typename Read>
  uint64_t BlocksAskedByRocksDb(Read&& read) {
    std::atomic<uint64_t> blocks = 0;
    EXPECT_TRUE(database_
                    ->StartBlockCacheTrace(rocksdb::BlockCacheTraceOptions(),
                                           std::make_unique<BlockCounter>(&blocks))
                    .ok());
    read();
    EXPECT_TRUE(database_->EndBlockCacheTrace().ok());
    return blocks;
  }

  rocksdb::ReadOptions AnyView() {
    rocksdb::ReadOptions options;
    if (!snapshots_.empty() && Below(2) == 0) {
      options.snapshot = snapshots_[Below(snapshots_.size())];
    }
    return options;
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
};

inline auto AllLayouts() {
  return ::testing::Values(
      Layout{.name = "Usual"}, Layout{.name = "Reverse", .reverse = true},
      Layout{.name = "NoFilter", .filter = false},
      Layout{.name = "ReverseNoFilter", .reverse = true, .filter = false},
      Layout{.name = "IndexOutsideOfCache", .cached_index = false},
      Layout{.name = "LruCache", .clock_cache = false},
      Layout{.name = "WithPrefixes", .prefix = true},
      Layout{.name = "ReverseWithPrefixes", .reverse = true, .prefix = true},
      Layout{.name = "OldFormat", .format_version = 2},
      Layout{.name = "NewestFormat", .format_version = 7},
      Layout{.name = "ShortRestarts", .restart_interval = 1},
      Layout{.name = "ShortSuccessors",
             .change =
                 [](auto*, auto* table) {
                   table->index_shortening = rocksdb::BlockBasedTableOptions::IndexShorteningMode::
                       kShortenSeparatorsAndSuccessor;
                 }},
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
      Layout{.name = "RowCache", .is_plain = false, .change = [](auto* options, auto*) {
               options->row_cache = rocksdb::NewLRUCache(1 << 20);
             }});
}

}  // namespace cairn::lsm
