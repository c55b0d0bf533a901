#include "engine/codec/index_statistics.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/bytes.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;

TEST(StatisticsVectors, D8PrimaryKeyOfElevenParts) {
  IndexStatistics statistics;
  statistics.id = {0, 0x107};
  statistics.data_bytes = 0x74;
  statistics.row_count = 2;
  statistics.disk_bytes = 0x74;
  statistics.distinct_prefix_counts.assign(11, 0);
  const std::string bytes = EncodeIndexStatistics({statistics});
  EXPECT_EQ(ToHex(bytes),
            "000200000000000001070000000000000074000000000000000200000000000000740000000"
            "00000000b" +
                std::string(2 * 8 * 15, '0'));
  EXPECT_EQ(*DecodeIndexStatistics(bytes), std::vector<IndexStatistics>{statistics});
}

TEST(StatisticsVectors, D8SecondaryIndexOfTwoParts) {
  IndexStatistics statistics;
  statistics.id = {0, 0x11e};
  statistics.data_bytes = 0x16;
  statistics.row_count = 2;
  statistics.disk_bytes = 0x1a;
  statistics.distinct_prefix_counts = {10, 10};
  const std::string bytes = EncodeIndexStatistics({statistics});
  EXPECT_EQ(
      ToHex(bytes),
      "0002000000000000011e00000000000000160000000000000002000000000000001a000000000000000200000"
      "00000000000000000000000000000000000000000000000000000000000000000000000000a00000000000000"
      "0a");
  EXPECT_EQ(*DecodeIndexStatistics(bytes), std::vector<IndexStatistics>{statistics});
}

IndexStatistics Sample() {
  return {.id = {1, 2},
          .data_bytes = 3,
          .row_count = 4,
          .disk_bytes = -5,
          .delete_count = 6,
          .single_delete_count = 7,
          .merge_count = 8,
          .other_count = 9,
          .distinct_prefix_counts = {10, 11}};
}

TEST(Statistics, Version1HasNoOperationCounts) {
  const std::string bytes =
      Hex("0001 00000001 00000002 0000000000000003 0000000000000004 fffffffffffffffb"
          "0000000000000002 000000000000000a 000000000000000b");
  IndexStatistics expected = Sample();
  expected.delete_count = expected.single_delete_count = 0;
  expected.merge_count = expected.other_count = 0;
  EXPECT_EQ(*DecodeIndexStatistics(bytes), std::vector<IndexStatistics>{expected});
}

TEST(Statistics, AnSstPropertyHoldsManyIndexes) {
  IndexStatistics other = Sample();
  other.id = {1, 3};
  other.distinct_prefix_counts.clear();
  const std::vector<IndexStatistics> all = {Sample(), other, Sample()};
  EXPECT_EQ(*DecodeIndexStatistics(EncodeIndexStatistics(all)), all);
}

TEST(Statistics, OtherVersionsAreNotSupported) {
  EXPECT_EQ(DecodeIndexStatistics(Hex("0000")).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeIndexStatistics(Hex("0003")).status().code(), StatusCode::kNotSupported);
}

TEST(Statistics, TruncationAtAnyLengthIsCorruption) {
  const std::string bytes = EncodeIndexStatistics({Sample()});
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == 2) continue;  // No entry at all is well-formed.
    EXPECT_EQ(DecodeIndexStatistics(bytes.substr(0, size)).status().code(), StatusCode::kCorruption)
        << size;
  }
  EXPECT_EQ(DecodeIndexStatistics(bytes + "x").status().code(), StatusCode::kCorruption);
}

TEST(Statistics, AnAbsurdDistinctCountIsCorruptionAndAllocatesNothing) {
  std::string bytes = EncodeIndexStatistics({Sample()});
  bytes.replace(2 + 32, 8, std::string(8, '\xff'));
  EXPECT_EQ(DecodeIndexStatistics(bytes).status().code(), StatusCode::kCorruption);
}

TEST(Statistics, AddAndSubtractCancelOut) {
  IndexStatistics sum = Sample();
  sum.Add(Sample());
  EXPECT_EQ(sum.row_count, 8);
  EXPECT_EQ(sum.single_delete_count, 14);
  EXPECT_EQ(sum.distinct_prefix_counts, (std::vector<int64_t>{20, 22}));
  sum.Subtract(Sample());
  EXPECT_EQ(sum, Sample());
}

TEST(Statistics, AddKeepsTheLongerListOfDistinctCounts) {
  IndexStatistics longer = Sample();
  longer.distinct_prefix_counts = {1, 2, 3};
  IndexStatistics sum = Sample();
  sum.Add(longer);
  EXPECT_EQ(sum.distinct_prefix_counts, (std::vector<int64_t>{11, 13, 3}));
  longer.Add(Sample());
  EXPECT_EQ(longer.distinct_prefix_counts, (std::vector<int64_t>{11, 13, 3}));
}

TEST(Statistics, CountersFromDamagedRecordsWrapInsteadOfOverflowing) {
  IndexStatistics sum = Sample();
  sum.row_count = INT64_MAX;
  sum.Add(Sample());
  EXPECT_LT(sum.row_count, 0);
}

}  // namespace
}  // namespace cairn
