#include "engine/lsm/comparator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::lsm {
namespace {

const std::vector<std::string> kAscending = {
    std::string("\0", 1), "a", "a\x01", "ab", "b", "\x7f", "\x80", "\xff"};

TEST(ForwardComparator, SortsAsUnsignedBytes) {
  for (size_t i = 0; i < kAscending.size(); ++i) {
    for (size_t j = 0; j < kAscending.size(); ++j) {
      const int expected = i < j ? -1 : (i > j ? 1 : 0);
      const int forward = ForwardComparator()->Compare(kAscending[i], kAscending[j]);
      const int reverse = ReverseComparator()->Compare(kAscending[i], kAscending[j]);
      EXPECT_EQ(forward < 0 ? -1 : forward > 0, expected);
      EXPECT_EQ(reverse < 0 ? -1 : reverse > 0, -expected);
    }
  }
}

TEST(Comparators, HaveTheNamesThatAreOnDisk) {
  EXPECT_STREQ(ForwardComparator()->Name(), "RocksDB_SE_v3.10");
  EXPECT_STREQ(ReverseComparator()->Name(), "rev:RocksDB_SE_v3.10");
}

TEST(Comparators, SeparatorsLieBetweenTheirKeys) {
  for (const rocksdb::Comparator* comparator : {ForwardComparator(), ReverseComparator()}) {
    std::string low = "abcdefgh";
    std::string high = "abzzzzzz";
    if (comparator->Compare(low, high) > 0) std::swap(low, high);
    std::string separator = low;
    comparator->FindShortestSeparator(&separator, high);
    EXPECT_GE(comparator->Compare(separator, low), 0);
    EXPECT_LT(comparator->Compare(separator, high), 0);
  }
}

TEST(ReverseColumnFamily, IsToldByItsName) {
  EXPECT_TRUE(IsReverseColumnFamily("rev:cf1"));
  EXPECT_FALSE(IsReverseColumnFamily("cf1"));
  EXPECT_FALSE(IsReverseColumnFamily("REV:cf1"));
  EXPECT_FALSE(IsReverseColumnFamily(" rev:cf1"));
}

}  // namespace
}  // namespace cairn::lsm
