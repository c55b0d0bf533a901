// Statistics of indexes: counted into table files, summed over them, kept in the dictionary.
#include "engine/sst/file_statistics.h"

#include <gmock/gmock.h>

#include "engine/table/rows_per_value.h"
#include "engine/table/table_statistics.h"
#include "rocksdb/table_properties.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileStatisticsTest : public TableFixture {
 protected:
  IndexId Id(uint32_t position) const { return table().index(position).definition.id; }

  void InsertRows(int first, int count, int values_of_a) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    for (int id = first; id < first + count; ++id) {
      ASSERT_TRUE(Insert(transaction, {id, "v" + std::to_string(id % values_of_a), id, "x"}).ok());
    }
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  }
  void Refresh() {
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    ASSERT_TRUE(database_->maintenance().RefreshStatistics().ok());
  }
  IndexStatistics Sum(uint32_t position) {
    const auto sum = database_->file_statistics().Find(Id(position));
    EXPECT_TRUE(sum.has_value());
    return sum.value_or(IndexStatistics());
  }
  void Reopen() {
    writer_.reset();
    table_.reset();
    dictionary_.reset();
    database_.reset();
    database_ = disk_.Open();
    dictionary_ = std::move(*Dictionary::Load(database_.get()));
  }
};

TEST_F(FileStatisticsTest, TellRowsAndDistinctPrefixesOfEachIndex) {
  Table::RegisterKeyLayouts(table_, database_.get());
  InsertRows(1, 60, 6);
  Refresh();
  EXPECT_EQ(Sum(kById).row_count, 60);
  EXPECT_THAT(Sum(kById).distinct_prefix_counts, ElementsAre(60));
  EXPECT_THAT(Sum(kByA).distinct_prefix_counts, ElementsAre(6, 60));
  EXPECT_THAT(Sum(kByB).distinct_prefix_counts, ElementsAre(60, 60));
  EXPECT_EQ(Sum(kByB).data_bytes, 60 * (4 + 1 + 4 + 4));
}

TEST_F(FileStatisticsTest, LackDistinctPrefixesOfTablesThatNobodyOpened) {
  InsertRows(1, 10, 2);
  Refresh();
  EXPECT_EQ(Sum(kByA).row_count, 10);
  EXPECT_THAT(Sum(kByA).distinct_prefix_counts, IsEmpty());
}

TEST_F(FileStatisticsTest, AreExactForLargeIndexes) {
  Table::RegisterKeyLayouts(table_, database_.get());
  InsertRows(1, 20'000, 1003);
  Refresh();
  EXPECT_THAT(Sum(kByA).distinct_prefix_counts, ElementsAre(1003, 20'000));
}

TEST_F(FileStatisticsTest, SampleLargeIndexesWhereThatIsAskedFor) {
  Table::RegisterKeyLayouts(table_, database_.get());
  database_->collector().sampling_percent = 10;
  InsertRows(1, 20'000, 1000);
  Refresh();
  EXPECT_EQ(Sum(kByA).row_count, 20'000);
  const auto distinct = Sum(kByA).distinct_prefix_counts;
  ASSERT_EQ(distinct.size(), 2u);
  EXPECT_GT(distinct[0], 600);
  EXPECT_LT(distinct[0], 1600);
  EXPECT_EQ(distinct[1], 20'000);
}

TEST_F(FileStatisticsTest, CountValuesThatSeveralFilesHaveOnce) {
  Table::RegisterKeyLayouts(table_, database_.get());
  for (int part = 0; part < 4; ++part) {
    InsertRows(1 + 2000 * part, 2000, 100);
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  }
  Refresh();
  EXPECT_THAT(Sum(kByA).distinct_prefix_counts, ElementsAre(100, 8000));
}

TEST_F(FileStatisticsTest, EstimateManyValuesThatSeveralFilesHave) {
  Table::RegisterKeyLayouts(table_, database_.get());
  for (int part = 0; part < 4; ++part) {
    InsertRows(1 + 2000 * part, 2000, 3000);
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  }
  Refresh();
  const auto counts = Sum(kByA).distinct_prefix_counts;
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_NEAR(static_cast<double>(counts[0]), 3000, 450);
  EXPECT_EQ(counts[1], 8000);
}

TEST_F(FileStatisticsTest, CountValuesThatBeginInOneFileOfALevelAndEndInTheNextOnce) {
  Table::RegisterKeyLayouts(table_, database_.get());
  InsertRows(1, 20'000, 701);
  ASSERT_TRUE(
      database_->rocksdb()
          ->SetOptions(database_->default_family().handle,
                       {{"target_file_size_base", "16384"}, {"compression", "kNoCompression"}})
          .ok());
  Refresh();
  ASSERT_TRUE(database_->maintenance().Compact(database_->default_family()).ok());
  Refresh();
  rocksdb::TablePropertiesCollection files;
  ASSERT_TRUE(database_->rocksdb()
                  ->GetPropertiesOfAllTables(database_->default_family().handle, &files)
                  .ok());
  ASSERT_GT(files.size(), 10u);
  EXPECT_THAT(Sum(kByA).distinct_prefix_counts, ElementsAre(701, 20'000));
}

TEST_F(FileStatisticsTest, FollowFlushesAndCompactions) {
  Table::RegisterKeyLayouts(table_, database_.get());
  InsertRows(1, 10, 2);
  Refresh();
  InsertRows(11, 10, 2);
  EXPECT_EQ(Sum(kById).row_count, 10) << "memtables are not counted";
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  EXPECT_FALSE(database_->file_statistics().Find(Id(kById)).has_value()) << "stale";
  Refresh();
  EXPECT_EQ(Sum(kById).row_count, 20);
  {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    for (int id = 1; id <= 5; ++id) {
      const cairn::testing::Record record(description_,
                                          {id, "v" + std::to_string(id % 2), id, "x"});
      ASSERT_TRUE(writer_->Delete(&transaction, record.data(), 0).ok());
    }
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  }
  Refresh();
  EXPECT_EQ(Sum(kById).delete_count, 5);
  EXPECT_EQ(Sum(kByA).single_delete_count, 5);
  EXPECT_EQ(EstimateIndexSize(database_.get(), table().index(kByA))->row_count, 15u);
  ASSERT_TRUE(database_->maintenance().Compact(database_->default_family()).ok());
  Refresh();
  EXPECT_EQ(Sum(kById).row_count, 15);
  EXPECT_EQ(Sum(kById).delete_count, 0);
  EXPECT_THAT(Sum(kByA).distinct_prefix_counts, ElementsAre(2, 15));
}

TEST_F(FileStatisticsTest, TellHowManyRowsShareAValueInTheMiddleOfALargeIndex) {
  Table::RegisterKeyLayouts(table_, database_.get());
  InsertRows(1, 5000, 2);
  EXPECT_THAT(*RowsPerValue(database_.get(), table().index(kByA), 5000), ElementsAre(2500));
  Refresh();
  EXPECT_THAT(*RowsPerValue(database_.get(), table().index(kByA), 5000), ElementsAre(2500));
  EXPECT_THAT(*RowsPerValue(database_.get(), table().index(kByB), 5000), Each(1));
}

TEST_F(FileStatisticsTest, AreKeptInTheDictionaryAndGoWithTheIndex) {
  Table::RegisterKeyLayouts(table_, database_.get());
  InsertRows(1, 10, 2);
  Refresh();
  const IndexId id = Id(kByA);
  const IndexStatistics before = Sum(kByA);
  ASSERT_TRUE(dictionary_->SaveStatistics().ok());
  Reopen();
  EXPECT_EQ(database_->file_statistics().Find(id), before);
  ASSERT_TRUE(dictionary_->DropTable("db.t").ok());
  ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
  ASSERT_TRUE(database_->maintenance().Compact(database_->default_family()).ok());
  Refresh();
  ASSERT_TRUE(dictionary_->SaveStatistics().ok());
  Reopen();
  EXPECT_EQ(database_->file_statistics().Find(id), std::nullopt);
}

TEST_F(FileStatisticsTest, RecordsThatCannotBeReadAreIgnored) {
  const std::string keys[] = {IndexKey(DictionaryRecordType::kIndexStatistics, Id(kById)),
                              IndexKey(DictionaryRecordType::kIndexStatistics, Id(kByA)),
                              DictionaryPrefix(DictionaryRecordType::kIndexStatistics) + "?"};
  const std::string values[] = {std::string("\x00\x09", 2),  // Of a version that nobody knows.
                                EncodeIndexStatistics({}), "?"};
  for (size_t i = 0; i < std::size(keys); ++i) {
    ASSERT_TRUE(
        database_->rocksdb()
            ->Put(rocksdb::WriteOptions(), database_->system_family().handle, keys[i], values[i])
            .ok());
  }
  Reopen();
  EXPECT_NE(dictionary_->Find("db.t"), nullptr);
  EXPECT_THAT(disk_.log().messages(), Contains(HasSubstr("is ignored")).Times(3));
}

// Leaves a property in every file that is no statistics.
class DamagedStatistics final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context) override {
    return new Collector();
  }
  const char* Name() const override { return "DamagedStatistics"; }

 private:
  class Collector final : public rocksdb::TablePropertiesCollector {
   public:
    rocksdb::Status AddUserKey(const rocksdb::Slice&, const rocksdb::Slice&, rocksdb::EntryType,
                               rocksdb::SequenceNumber, uint64_t) override {
      return rocksdb::Status::OK();
    }
    rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
      properties->emplace(std::string(kIndexStatisticsProperty), std::string("\x00\x02?", 3));
      return rocksdb::Status::OK();
    }
    rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
    const char* Name() const override { return "DamagedStatistics"; }
  };
};

TEST_F(FileStatisticsTest, PropertiesThatCannotBeReadAreIgnored) {
  const IndexId id = Id(kById);
  Reopen();
  dictionary_.reset();
  database_.reset();
  DatabaseOptions options = disk_.Options();
  options.collect_statistics = false;
  options.column_family.table_properties_collector_factories = {
      std::make_shared<DamagedStatistics>()};
  database_ = std::move(*Database::Open(options, &disk_.log()));
  ASSERT_TRUE(database_->rocksdb()
                  ->Put(rocksdb::WriteOptions(), database_->default_family().handle, "key", "")
                  .ok());
  Refresh();
  EXPECT_EQ(database_->file_statistics().Find(id), std::nullopt);
  EXPECT_THAT(disk_.log().messages(), Contains(HasSubstr("are ignored")));
}

TEST_F(FileStatisticsTest, AreNotCollectedWhenSwitchedOff) {
  Reopen();
  dictionary_.reset();
  database_.reset();
  DatabaseOptions options = disk_.Options();
  options.collect_statistics = false;
  database_ = std::move(*Database::Open(options, &disk_.log()));
  ASSERT_TRUE(database_->rocksdb()
                  ->Put(rocksdb::WriteOptions(), database_->default_family().handle,
                        std::string("\0\0\1\0key", 7), "")
                  .ok());
  Refresh();
  rocksdb::TablePropertiesCollection files;
  ASSERT_TRUE(database_->rocksdb()
                  ->GetPropertiesOfAllTables(database_->default_family().handle, &files)
                  .ok());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_THAT(files.begin()->second->user_collected_properties,
              ::testing::Not(Contains(::testing::Key(std::string(kIndexStatisticsProperty)))));
}

}  // namespace
}  // namespace cairn
