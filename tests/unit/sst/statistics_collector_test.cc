#include "engine/sst/statistics_collector.h"

#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "engine/monitor/inspection.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

constexpr uint32_t kIndexNumber = 256;

std::string Key(uint32_t number) {
  std::string key;
  AppendBigEndian(kIndexNumber, &key);
  AppendBigEndian(number, &key);
  return key;
}

class StatisticsCollectorTest : public ::testing::Test {
 protected:
  StatisticsCollectorTest() {
    DatabaseOptions options = disk_.Options();
    options.collector = control_;
    auto opened = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    database_ = std::move(opened).value();
  }

  rocksdb::ColumnFamilyHandle* family() const { return database_->default_family().handle; }

  void Put(const std::string& key) {
    ASSERT_TRUE(database_->rocksdb()->Put(rocksdb::WriteOptions(), family(), key, "row").ok());
  }

  // The statistics of all files of the default family, one after the other.
  std::vector<IndexStatistics> Flushed() {
    EXPECT_TRUE(database_->maintenance().FlushMemtables().ok());
    std::vector<IndexStatistics> all;
    auto files = ListDataFiles(*database_);
    EXPECT_TRUE(files.ok());
    for (const DataFile& file : *files) {
      if (file.column_family != database_->default_family().id) continue;
      auto statistics = ReadFileStatistics(*file.properties);
      EXPECT_TRUE(statistics.ok() && statistics->has_value()) << statistics.status().ToString();
      all.insert(all.end(), (*statistics)->begin(), (*statistics)->end());
    }
    return all;
  }

  // A collector that has seen `puts` entries and then as many deletions, in a file of 100 bytes.
  std::unique_ptr<rocksdb::TablePropertiesCollector> CollectorAfter(uint32_t puts,
                                                                    rocksdb::EntryType deletion) {
    const auto factory = MakeStatisticsCollectorFactory(control_, std::make_shared<KeyLayouts>());
    std::unique_ptr<rocksdb::TablePropertiesCollector> collector(
        factory->CreateTablePropertiesCollector({}));
    for (uint32_t i = 0; i < 2 * puts; ++i) {
      const rocksdb::EntryType type = i < puts ? rocksdb::kEntryPut : deletion;
      EXPECT_TRUE(collector->AddUserKey(Key(i), "row", type, i, 100).ok());
    }
    return collector;
  }

  MemoryDisk disk_;
  std::shared_ptr<CollectorControl> control_ = std::make_shared<CollectorControl>();
  std::unique_ptr<Database> database_;
};

TEST_F(StatisticsCollectorTest, AnIndexThatIsNotKnownHasCountsOfEntriesOnly) {
  Put(Key(1));
  const std::vector<IndexStatistics> statistics = Flushed();
  ASSERT_EQ(statistics.size(), 1u);
  EXPECT_EQ(statistics[0].id, (IndexId{0, kIndexNumber}));
  EXPECT_EQ(statistics[0].row_count, 1);
  EXPECT_TRUE(statistics[0].distinct_prefix_counts.empty());
}

TEST_F(StatisticsCollectorTest, EntriesAreCountedByKind) {
  const rocksdb::Snapshot* const snapshot = database_->rocksdb()->GetSnapshot();
  const uint64_t puts_before = control_->puts;
  for (uint32_t i = 0; i < 4; ++i) Put(Key(i));
  Flushed();
  EXPECT_GE(control_->puts, puts_before + 4);
  ASSERT_TRUE(database_->rocksdb()->Delete(rocksdb::WriteOptions(), family(), Key(0)).ok());
  ASSERT_TRUE(database_->rocksdb()->SingleDelete(rocksdb::WriteOptions(), family(), Key(1)).ok());
  int64_t deletes = 0;
  int64_t single_deletes = 0;
  for (const IndexStatistics& file : Flushed()) {
    deletes += file.delete_count;
    single_deletes += file.single_delete_count;
  }
  EXPECT_EQ(deletes, 1);
  EXPECT_EQ(single_deletes, 1);
  EXPECT_EQ(control_->deletes, 1u);
  EXPECT_EQ(control_->single_deletes, 1u);
  database_->rocksdb()->ReleaseSnapshot(snapshot);
}

TEST_F(StatisticsCollectorTest, FilesOfManyDeletionsAreCompactedAgain) {
  EXPECT_FALSE(CollectorAfter(20, rocksdb::kEntryDelete)->NeedCompact()) << "off by default";
  control_->delete_heavy_window = 10;
  EXPECT_FALSE(CollectorAfter(20, rocksdb::kEntryDelete)->NeedCompact()) << "no limit";
  control_->delete_heavy_count = 9;
  EXPECT_TRUE(CollectorAfter(20, rocksdb::kEntryDelete)->NeedCompact());
  EXPECT_FALSE(CollectorAfter(9, rocksdb::kEntryDelete)->NeedCompact()) << "not more than 9";
  control_->delete_heavy_count = 10;
  EXPECT_FALSE(CollectorAfter(20, rocksdb::kEntryDelete)->NeedCompact()) << "10 in any 10 entries";
}

TEST_F(StatisticsCollectorTest, SingleDeletionsAndSmallFilesCountWhenAskedTo) {
  control_->delete_heavy_window = 10;
  control_->delete_heavy_count = 5;
  EXPECT_FALSE(CollectorAfter(20, rocksdb::kEntrySingleDelete)->NeedCompact());
  control_->single_deletes_count = true;
  EXPECT_TRUE(CollectorAfter(20, rocksdb::kEntrySingleDelete)->NeedCompact());
  control_->delete_heavy_file_bytes = 100;
  EXPECT_FALSE(CollectorAfter(20, rocksdb::kEntrySingleDelete)->NeedCompact());
  control_->delete_heavy_file_bytes = 99;
  EXPECT_TRUE(CollectorAfter(20, rocksdb::kEntrySingleDelete)->NeedCompact());
}

}  // namespace
}  // namespace cairn
