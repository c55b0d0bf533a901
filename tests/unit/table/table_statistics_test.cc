#include "engine/table/table_statistics.h"

#include <gmock/gmock.h>

#include <map>

#include "engine/table/ordered_iterator.h"
#include "engine/table/rows_per_value.h"
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

  void Delete(int id) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    const cairn::testing::Record record(description_,
                                        {id, std::to_string(id / 100), id, "some text"});
    ASSERT_TRUE(writer_->Delete(&transaction, record.data(), 0).ok());
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  }

  uint64_t RowsBetween(int first, int end, uint64_t exact_entries = kExactRangeEntries) {
    return RowsBetween(table().primary(), {description_, {first, "", 0, ""}},
                       {description_, {end, "", 0, ""}}, exact_entries);
  }

  uint64_t RowsBetween(const TableIndex& index, const cairn::testing::Record& first,
                       const cairn::testing::Record& end, uint64_t exact_entries) {
    std::string first_key;
    std::string end_key;
    std::string unpack_info;
    index.codec->EncodeKey(first.data(), 0, &first_key, &unpack_info);
    index.codec->EncodeKey(end.data(), 0, &end_key, &unpack_info);
    const auto whole = EstimateIndexSize(database_.get(), index);
    const auto rows = EstimateRangeRows(database_.get(), index, whole->row_count, first_key,
                                        end_key, exact_entries);
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    // What is remembered of the files gives the same, also when they have changed since.
    for (int i = 0; i < 2; ++i) {
      const auto again = EstimateRangeRows(database_.get(), index, whole->row_count, first_key,
                                           end_key, exact_entries, nullptr, &known_[&index]);
      EXPECT_EQ(again.value(), rows.value());
    }
    return rows.ok() ? *rows : 0;
  }

  std::map<const TableIndex*, KnownFileSize> known_;
};

INSTANTIATE_TEST_SUITE_P(Families, TableStatisticsTest, ::testing::Values("default", "rev:cf"));

TEST_P(TableStatisticsTest, RowCountsAreNearTheTruthInMemtablesAndFiles) {
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    }
    for (const TableIndex& index : table().indexes()) {
      const auto size = EstimateIndexSize(database_.get(), index);
      ASSERT_TRUE(size.ok()) << size.status().ToString();
      EXPECT_GT(size->row_count, kRows / 2) << index.layout().name << " flushed: " << flushed;
      EXPECT_LT(size->row_count, kRows * 2) << index.layout().name << " flushed: " << flushed;
    }
  }
}

TEST_P(TableStatisticsTest, WhatIsStoredLeavesRoomForTheTruth) {
  const auto look = [this] {
    std::vector<IndexSize> sizes;
    for (const TableIndex& index : table().indexes()) {
      sizes.push_back(*EstimateIndexSize(database_.get(), index));
    }
    return *LookAtRows(database_.get(), table(), sizes);
  };
  StoredRows rows = look();
  EXPECT_LE(rows.least, static_cast<uint64_t>(kRows)) << "in memtables";
  EXPECT_GE(rows.most, static_cast<uint64_t>(kRows));
  EXPECT_FALSE(rows.counted.has_value());
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  rows = look();
  EXPECT_EQ(rows.estimate, static_cast<uint64_t>(kRows)) << "in files, whose figures add up";
  EXPECT_EQ(rows.least, rows.most);

  for (int i = 0; i < kRows - 12; ++i) Delete(i);
  rows = look();
  EXPECT_EQ(rows.counted, 12u) << "few rows among deletions are counted";
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  rows = look();
  EXPECT_EQ(rows.counted, 12u);
}

TEST_P(TableStatisticsTest, RowCountFollowsCommitsAndRollbacks) {
  RowCount& count = table().definition().counters->row_count;
  StoredRows truth;
  truth.counted = kRows;
  count.Settle(truth);
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kReadCommitted));
  transaction.BeginStatement();
  ASSERT_TRUE(Insert(transaction, {kRows, "a", kRows, ""}).ok());
  transaction.EndStatement();
  EXPECT_EQ(count.value(), kRows + 1u);
  transaction.BeginStatement();
  ASSERT_TRUE(Insert(transaction, {kRows + 1, "a", kRows + 1, ""}).ok());
  ASSERT_TRUE(transaction.RollbackStatement().ok());
  EXPECT_EQ(count.value(), kRows + 1u);
  ASSERT_TRUE(transaction.Rollback().ok());
  EXPECT_EQ(count.value(), static_cast<uint64_t>(kRows));
  Delete(7);
  EXPECT_EQ(count.value(), kRows - 1u);
}

TEST_P(TableStatisticsTest, SmallRangesAreExact) {
  EXPECT_EQ(RowsBetween(100, 100), 0u);
  EXPECT_EQ(RowsBetween(100, 101), 1u);
  EXPECT_EQ(RowsBetween(100, 150), 50u);
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  EXPECT_EQ(RowsBetween(100, 101), 1u);
  EXPECT_EQ(RowsBetween(100, 150), 50u);
}

TEST_P(TableStatisticsTest, RangesAreExactUpToWhatTheCallerAsksFor) {
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  EXPECT_EQ(RowsBetween(100, 433, 334), 333u);
  EXPECT_GE(RowsBetween(100, 433, 10), 10u);
}

TEST_P(TableStatisticsTest, SmallRangesAreExactAmongDeletedEntries) {
  // More than the first look at a range passes, and fewer than the last. Values are texts, of which
  // nobody knows beforehand how many there may be: "11" to "14" are gone, and a part of "10" and of
  // "15".
  for (int i = 1020; i < 1520; ++i) Delete(i);
  const auto rows_by_a = [this](const char* first, const char* end) {
    return RowsBetween(table().index(kByA), {description_, {0, first, 0, ""}},
                       {description_, {0, end, 0, ""}}, /*exact_entries=*/1000);
  };
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    }
    EXPECT_EQ(rows_by_a("10", "11"), 20u) << "flushed: " << flushed;
    EXPECT_EQ(rows_by_a("11", "15"), 0u) << "flushed: " << flushed;
    EXPECT_EQ(rows_by_a("11", "16"), 80u) << "in front, flushed: " << flushed;
    EXPECT_EQ(rows_by_a("10", "16"), 100u) << "behind the first few, flushed: " << flushed;
    EXPECT_EQ(rows_by_a("15", "17"), 180u) << "flushed: " << flushed;
  }
}

TEST_P(TableStatisticsTest, LargeRangesAreNeverTakenForSmallOnes) {
  EXPECT_GE(RowsBetween(0, kRows), kExactRangeEntries);
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  EXPECT_GE(RowsBetween(0, kRows), kExactRangeEntries);
  EXPECT_LE(RowsBetween(0, kRows), static_cast<uint64_t>(kRows) * 2);
}

TEST_P(TableStatisticsTest, RowsPerPrefixTellSelectiveIndexesFromOthers) {
  EXPECT_EQ(RowsPerValue(database_.get(), table().index(kByA), kRows)->at(0), 100);
  EXPECT_EQ(RowsPerValue(database_.get(), table().index(kByB), kRows)->at(0), 1);
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
