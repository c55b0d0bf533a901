#include "engine/store/file_statistics.h"

#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "engine/store/inspection.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

constexpr uint32_t kIndexNumber = 256;

// The codec of a primary key (a INT, b INT).
std::shared_ptr<const IndexCodec> MakeTwoPartCodec() {
  TableLayout table;
  table.name = "db.t";
  table.record_bytes = 9;
  table.null_bytes = 1;
  IndexLayout index;
  index.name = "PRIMARY";
  index.unique = true;
  index.index_number = kIndexNumber;
  for (uint32_t i = 0; i < 2; ++i) {
    ColumnLayout column;
    column.name = i == 0 ? "a" : "b";
    column.offset = 1 + 4 * i;
    column.image_bytes = 4;
    table.columns.push_back(column);
    KeyPartLayout part;
    part.column = i;
    part.length_bytes = 4;
    index.parts.push_back(part);
  }
  auto codec = IndexCodec::Make(table, index, index);
  EXPECT_TRUE(codec.ok()) << codec.status().ToString();
  return std::shared_ptr<const IndexCodec>(std::move(codec).value());
}

std::string Key(uint32_t a, uint32_t b) {
  std::string key;
  AppendBigEndian(kIndexNumber, &key);
  AppendBigEndian(a ^ 0x80000000u, &key);
  AppendBigEndian(b ^ 0x80000000u, &key);
  return key;
}

class FileStatisticsTest : public ::testing::Test {
 protected:
  FileStatisticsTest() {
    DatabaseOptions options = disk_.Options();
    options.file_statistics = control_;
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
    EXPECT_TRUE(database_->FlushMemtables().ok());
    std::vector<IndexStatistics> all;
    auto files = ListDataFiles(*database_);
    EXPECT_TRUE(files.ok());
    for (const DataFile& file : *files) {
      if (file.column_family != database_->default_family().id) continue;
      auto statistics = ReadFileStatistics(*file.properties);
      EXPECT_TRUE(statistics.ok()) << statistics.status().ToString();
      all.insert(all.end(), statistics->begin(), statistics->end());
    }
    return all;
  }

  MemoryDisk disk_;
  std::shared_ptr<FileStatisticsControl> control_ = std::make_shared<FileStatisticsControl>();
  std::unique_ptr<Database> database_;
};

TEST_F(FileStatisticsTest, DistinctPrefixesAreCountedForIndexesThatAreKnown) {
  control_->sampled_percent = 100;
  database_->known_indexes().Add(kIndexNumber, MakeTwoPartCodec());
  for (uint32_t a = 0; a < 3; ++a) {
    for (uint32_t b = 0; b < 5; ++b) Put(Key(a, b));
  }
  const std::vector<IndexStatistics> statistics = Flushed();
  ASSERT_EQ(statistics.size(), 1u);
  EXPECT_EQ(statistics[0].id, (IndexId{0, kIndexNumber}));
  EXPECT_EQ(statistics[0].row_count, 15);
  EXPECT_EQ(statistics[0].distinct_prefix_counts, (std::vector<int64_t>{3, 15}));
  EXPECT_EQ(control_->puts.load() >= 15, true);
}

TEST_F(FileStatisticsTest, AnIndexThatIsNotKnownHasCountsOfEntriesOnly) {
  Put(Key(1, 1));
  const std::vector<IndexStatistics> statistics = Flushed();
  ASSERT_EQ(statistics.size(), 1u);
  EXPECT_EQ(statistics[0].row_count, 1);
  EXPECT_TRUE(statistics[0].distinct_prefix_counts.empty());
}

TEST_F(FileStatisticsTest, SampledCountsAreScaledUp) {
  control_->sampled_percent = 10;
  database_->known_indexes().Add(kIndexNumber, MakeTwoPartCodec());
  for (uint32_t a = 0; a < 5000; ++a) Put(Key(a, 0));
  const std::vector<IndexStatistics> statistics = Flushed();
  ASSERT_EQ(statistics.size(), 1u);
  EXPECT_NEAR(static_cast<double>(statistics[0].distinct_prefix_counts[0]), 5000, 800);
}

TEST_F(FileStatisticsTest, DeletionsAreCountedByKind) {
  const rocksdb::Snapshot* const snapshot = database_->rocksdb()->GetSnapshot();
  for (uint32_t a = 0; a < 4; ++a) Put(Key(a, 0));
  const std::vector<IndexStatistics> before = Flushed();
  ASSERT_TRUE(database_->rocksdb()->Delete(rocksdb::WriteOptions(), family(), Key(0, 0)).ok());
  ASSERT_TRUE(
      database_->rocksdb()->SingleDelete(rocksdb::WriteOptions(), family(), Key(1, 0)).ok());
  int64_t deletes = 0;
  int64_t single_deletes = 0;
  for (const IndexStatistics& file : Flushed()) {
    deletes += file.delete_count;
    single_deletes += file.single_delete_count;
  }
  EXPECT_EQ(deletes, 1);
  EXPECT_EQ(single_deletes, 1);
  database_->rocksdb()->ReleaseSnapshot(snapshot);
}

}  // namespace
}  // namespace cairn
