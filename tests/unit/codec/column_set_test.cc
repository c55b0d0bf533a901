#include "engine/codec/column_set.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace cairn {
namespace {

TEST(ColumnSetTest, IsWhatItWasSetTo) {
  for (size_t size = 0; size <= 130; ++size) {
    SCOPED_TRACE(size);
    std::vector<bool> expected(size);
    ColumnSet set(size);
    for (size_t i = 0; i < size; i += 3) set[i] = expected[i] = true;
    for (size_t i = 0; i < size; i += 6) set[i] = expected[i] = false;
    ASSERT_EQ(set.size(), size);
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(std::as_const(set)[i], expected[i]) << i;
  }
}

TEST(ColumnSetTest, AllOneByOneAreAll) {
  for (size_t size = 0; size <= 130; ++size) {
    SCOPED_TRACE(size);
    ColumnSet one_by_one(size);
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NE(one_by_one, ColumnSet(size, true));
      one_by_one[i] = true;
    }
    EXPECT_EQ(one_by_one, ColumnSet(size, true));
    one_by_one.assign(size, false);
    EXPECT_EQ(one_by_one, ColumnSet(size));
  }
}

TEST(ColumnSetTest, SetsOfOtherSizesDiffer) {
  EXPECT_NE(ColumnSet(63), ColumnSet(64));
  EXPECT_NE(ColumnSet(0), ColumnSet(1));
  ColumnSet smaller(128, true);
  smaller.assign(65, true);
  EXPECT_EQ(smaller, ColumnSet(65, true));
}

}  // namespace
}  // namespace cairn
