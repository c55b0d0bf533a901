#include "engine/table/table_statistics.h"

#include <gmock/gmock.h>

#include "engine/table/ordered_iterator.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

constexpr int kRows = 2000;

class TableStatisticsTest : public TableFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  TableStatisticsTest() : TableFixture(GetParam()) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    for (int i = 0; i < kRows; ++i) {
      EXPECT_TRUE(Insert(transaction, {i, std::to_string(i / 100), i, "some text"}).ok());
    }
    EXPECT_TRUE(transaction.Commit(Durability::kSync).ok());
  }

  uint64_t RowsBetween(int first, int end) {
    std::string first_key;
    std::string end_key;
    std::string unpack_info;
    const TableIndex& primary = table().primary();
    primary.codec->EncodeKey(cairn::testing::Record(description_, {first, "", 0, ""}).data(), 0,
                             &first_key, &unpack_info);
    primary.codec->EncodeKey(cairn::testing::Record(description_, {end, "", 0, ""}).data(), 0,
                             &end_key, &unpack_info);
    const auto whole = EstimateIndexSize(database_.get(), primary);
    const auto rows = EstimateRangeRows(database_.get(), primary, *whole, first_key, end_key);
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    return rows.ok() ? *rows : 0;
  }
};

INSTANTIATE_TEST_SUITE_P(Families, TableStatisticsTest, ::testing::Values("default", "rev:cf"));

TEST_P(TableStatisticsTest, RowCountsAreNearTheTruthInMemtablesAndFiles) {
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_TRUE(database_->FlushMemtables().ok());
    }
    for (const TableIndex& index : table().indexes()) {
      const auto size = EstimateIndexSize(database_.get(), index);
      ASSERT_TRUE(size.ok()) << size.status().ToString();
      EXPECT_GT(size->row_count, kRows / 2) << index.layout().name << " flushed: " << flushed;
      EXPECT_LT(size->row_count, kRows * 2) << index.layout().name << " flushed: " << flushed;
    }
  }
}

TEST_P(TableStatisticsTest, SmallRangesAreExact) {
  EXPECT_EQ(RowsBetween(100, 100), 0u);
  EXPECT_EQ(RowsBetween(100, 101), 1u);
  EXPECT_EQ(RowsBetween(100, 150), 50u);
  ASSERT_TRUE(database_->FlushMemtables().ok());
  EXPECT_EQ(RowsBetween(100, 150), 50u);
}

TEST_P(TableStatisticsTest, LargeRangesAreNeverTakenForSmallOnes) {
  EXPECT_GE(RowsBetween(0, kRows), kExactRangeEntries);
  ASSERT_TRUE(database_->FlushMemtables().ok());
  EXPECT_GE(RowsBetween(0, kRows), kExactRangeEntries);
  EXPECT_LE(RowsBetween(0, kRows), static_cast<uint64_t>(kRows) * 2);
}

TEST_P(TableStatisticsTest, RowsPerPrefixTellSelectiveIndexesFromOthers) {
  EXPECT_GT(SampleRowsPerPrefix(database_.get(), table().index(kByA))->at(0), 20);
  EXPECT_EQ(SampleRowsPerPrefix(database_.get(), table().index(kByB))->at(0), 1);
}

TEST(PrefixSuccessor, IsTheShortestStringAboveAllWithThePrefix) {
  std::string successor;
  EXPECT_TRUE(PrefixSuccessor("ab", &successor));
  EXPECT_EQ(successor, "ac");
  EXPECT_TRUE(PrefixSuccessor("a\xff\xff", &successor));
  EXPECT_EQ(successor, "b");
  EXPECT_FALSE(PrefixSuccessor("\xff\xff", &successor));
}

}  // namespace
}  // namespace cairn
