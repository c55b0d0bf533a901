#include "engine/catalog/row_count.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

StoredRows Counted(uint64_t rows) {
  StoredRows stored;
  stored.counted = rows;
  return stored;
}

TEST(RowCount, BeginsWithWhatTheStorageSaysAndFollowsTheTransactions) {
  RowCount count;
  EXPECT_FALSE(count.value().has_value());
  EXPECT_EQ(count.Settle(StoredRows{.estimate = 100, .least = 20, .most = 150}), 100u);
  count.Add(10);
  EXPECT_EQ(count.value(), 110u) << "pending";
  count.Keep(0, 10);
  EXPECT_EQ(count.value(), 110u);
  count.Keep(7, 0);
  EXPECT_EQ(count.value(), 117u) << "told at the end alone";
  count.Add(-7);
  count.Keep(0, 7);
  count.Add(-30);
  count.Add(5);
  count.Undo(-25, 35);
  EXPECT_EQ(count.value(), 110u);
}

TEST(RowCount, KeepsWhatAVagueStorageAllows) {
  RowCount count;
  count.Settle(Counted(100));
  EXPECT_EQ(count.Settle(StoredRows{.estimate = 190, .least = 10, .most = 250}), 100u);
  EXPECT_EQ(count.Settle(StoredRows{.estimate = 300, .least = 101, .most = 400}), 300u);
  EXPECT_EQ(count.Settle(StoredRows{.estimate = 40, .least = 10, .most = 50}), 40u);
}

TEST(RowCount, RowsThatAreNotCommittedYetAreNotMissingInTheStorage) {
  RowCount count;
  count.Settle(Counted(5));
  count.Add(1000);
  EXPECT_EQ(count.Settle(Counted(5)), 1005u);
  count.Undo(1000, 1000);
  EXPECT_EQ(count.Settle(Counted(5)), 5u);
  count.Add(1000);
  count.Keep(0, 1000);
  EXPECT_EQ(count.Settle(Counted(5)), 5u) << "a count is believed, once all is committed";
}

TEST(RowCount, ForgetsOnRequest) {
  RowCount count;
  count.Settle(Counted(5));
  count.Forget();
  EXPECT_FALSE(count.value().has_value());
  EXPECT_EQ(count.Settle(StoredRows{.estimate = 7, .least = 0, .most = 10}), 7u);
}

TEST(RowCount, IsNeverNegative) {
  RowCount count;
  count.Settle(Counted(1));
  count.Add(-3);
  EXPECT_EQ(count.value(), 0u);
}

}  // namespace
}  // namespace cairn
