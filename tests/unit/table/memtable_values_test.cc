#include "engine/table/memtable_values.h"

#include <gmock/gmock.h>

#include "engine/table/rows_per_value.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

class MemtableValuesTest : public TableFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr int kRows = 20'000;

  MemtableValuesTest() : TableFixture(GetParam()) {
    Table::RegisterKeyLayouts(table_, database_.get());
  }

  // The value of `a` of a row says `value_of(id)`.
  template <typename Function>
  void InsertRows(int first, int count, Function value_of) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    for (int id = first; id < first + count; ++id) {
      ASSERT_TRUE(Insert(transaction, {id, "v" + std::to_string(value_of(id)), id, "x"}).ok());
    }
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  }
  MemtableValues Values(uint64_t walked = kWalkedEntries, uint64_t stepped = kSteppedValues) {
    return *CountMemtableValues(database_.get(), table().index(kByA), walked, stepped);
  }
};

INSTANTIATE_TEST_SUITE_P(Families, MemtableValuesTest, ::testing::Values("default", "rev:cf"));

TEST_P(MemtableValuesTest, AreExactWhereAllEntriesAreWalked) {
  InsertRows(1, kRows, [](int id) { return id % 1009; });
  EXPECT_EQ(Values().rows, static_cast<uint64_t>(kRows));
  EXPECT_TRUE(Values().prefixes[0].exact);
  EXPECT_EQ(Values().prefixes[0].count, 1009);
  EXPECT_EQ(Values().prefixes[0].sample.size(), kSampledValues);
}

TEST_P(MemtableValuesTest, AreExactWhereTheyAreFew) {
  InsertRows(1, kRows, [](int id) { return id % 100; });
  const MemtableValues values = Values(2000);
  EXPECT_TRUE(values.prefixes[0].exact);
  EXPECT_EQ(values.prefixes[0].count, 100);
}

TEST_P(MemtableValuesTest, AreNearTheTruthWhereTheyAreMany) {
  InsertRows(1, kRows, [](int id) { return id * 7919 % 4001; });
  const MemtableValues values = Values(2000);
  EXPECT_FALSE(values.prefixes[0].exact);
  EXPECT_NEAR(static_cast<double>(values.prefixes[0].count), 4001, 1000);
}

// Nine in ten rows have one value, the others one each.
TEST_P(MemtableValuesTest, AreNearTheTruthWhereOneValueHasMostRows) {
  InsertRows(1, kRows, [](int id) { return id % 10 == 0 ? id : 7; });
  const MemtableValues values = Values(2000);
  EXPECT_GT(values.prefixes[0].count, 1300);
  EXPECT_LT(values.prefixes[0].count, 3000);
}

TEST_P(MemtableValuesTest, DoNotCountWhatIsWrittenInFiles) {
  InsertRows(1, 5000, [](int id) { return id; });
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  InsertRows(5001, 50, [](int id) { return id % 5; });
  EXPECT_EQ(Values().rows, 50u);
  EXPECT_EQ(Values().prefixes[0].count, 5);
}

TEST_P(MemtableValuesTest, AreJoinedWithThoseInFiles) {
  InsertRows(1, 5000, [](int id) { return id % 50; });
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  ASSERT_TRUE(database_->maintenance().RefreshStatistics().ok());
  InsertRows(5001, 5000, [](int id) { return id % 100; });
  EXPECT_THAT(*RowsPerValue(database_.get(), table().index(kByA), 10'000),
              ::testing::ElementsAre(100));
}

}  // namespace
}  // namespace cairn
