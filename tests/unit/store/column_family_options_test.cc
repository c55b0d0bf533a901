#include "engine/store/column_family_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/lsm/comparator.h"
#include "rocksdb/merge_operator.h"

namespace cairn {
namespace {

Result<ColumnFamilyOptionSource> Parse(std::string_view defaults, std::string_view overrides) {
  return ColumnFamilyOptionSource::Parse(rocksdb::ColumnFamilyOptions(), defaults, overrides,
                                         /*filter_factory=*/nullptr);
}

TEST(ColumnFamilyOptions, DefaultsReachEveryFamilyAndOverridesOne) {
  const auto source = Parse("write_buffer_size=8m;target_file_size_base=4m",
                            "cf1={write_buffer_size=16m}; rev:cf2={write_buffer_size=32m;}");
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->For("other").write_buffer_size, 8u << 20);
  EXPECT_EQ(source->For("cf1").write_buffer_size, 16u << 20);
  EXPECT_EQ(source->For("cf1").target_file_size_base, 4u << 20);
  EXPECT_EQ(source->For("rev:cf2").write_buffer_size, 32u << 20);
}

TEST(ColumnFamilyOptions, BracesMayNest) {
  const auto source =
      Parse("", "cf1={block_based_table_factory={block_size=8192};write_buffer_size=1m}");
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->For("cf1").write_buffer_size, 1u << 20);
}

TEST(ColumnFamilyOptions, NumbersThatMayBeNegativeAre) {
  const auto source = Parse("compression_opts=-14:1:0;max_write_buffer_size_to_maintain=-1;", "");
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->For("default").max_write_buffer_size_to_maintain, -1);
  EXPECT_EQ(source->For("default").compression_opts.window_bits, -14);
}

TEST(ColumnFamilyOptions, MemtablesAreMappedUnlessTheyAreSmallOrTheirPiecesAreGiven) {
  const auto source = Parse(
      "",
      "small={write_buffer_size=7m};huge={memtable_huge_page_size=2m};own={arena_block_size=4m}");
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->For("default").memtable_huge_page_size, (1u << 20) + 4096);
  EXPECT_EQ(source->For("small").memtable_huge_page_size, 0u);
  EXPECT_EQ(source->For("huge").memtable_huge_page_size, 2u << 20);
  EXPECT_EQ(source->For("own").memtable_huge_page_size, 0u);
}

TEST(ColumnFamilyOptions, ComparatorAndMergeFollowTheName) {
  const auto source = Parse("", "");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->For("default").comparator, lsm::ForwardComparator());
  EXPECT_EQ(source->For("rev:x").comparator, lsm::ReverseComparator());
  EXPECT_EQ(source->For("default").merge_operator, nullptr);
  ASSERT_NE(source->For("__system__").merge_operator, nullptr);
  EXPECT_STREQ(source->For("__system__").merge_operator->Name(), "Rdb_system_merge_op");
}

struct BadText {
  const char* defaults;
  const char* overrides;
  const char* named;  // What the message must name.
};

class BadColumnFamilyOptions : public ::testing::TestWithParam<BadText> {};

TEST_P(BadColumnFamilyOptions, AreRefusedByName) {
  const auto source = Parse(GetParam().defaults, GetParam().overrides);
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(source.status().ToString(), ::testing::HasSubstr(GetParam().named));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadColumnFamilyOptions,
    ::testing::Values(
        BadText{"no_such_option=1", "", "no_such_option"},
        BadText{"write_buffer_size=abc", "", "write_buffer_size"},
        BadText{"", "cf1={no_such_option=1}", "cf1"},
        BadText{"", "cf1={write_buffer_size=1m", "closing brace"}, BadText{"", "cf1", "cf1"},
        BadText{"", "cf1=write_buffer_size=1m", "cf1"}, BadText{"", "={a=1}", "expected"},
        BadText{"write_bufer_size=1m", "", "the nearest is write_buffer_size"},
        BadText{"block_based_table_factory={blok_size=4096}", "", "the nearest is block_size"},
        BadText{"block_based_table_factory={block_size=-1}", "",
                "block_size=-1: must not be negative"},
        BadText{"write_buffer_size=-1", "", "write_buffer_size=-1: must not be negative"},
        BadText{"", "cf1={target_file_size_base=-4m}", "must not be negative"},
        BadText{"min_tombstones_for_range_conversion=4", "", "must be 0"},
        BadText{"write_buffer_size=1m;;target_file_size_base=1m", "", "Unexpected char"},
        BadText{"block_based_table_factory={block_size=4096", "", "curly braces"},
        BadText{"", "cf1={write_buffer_size=1m};;cf2={write_buffer_size=1m}", ";cf2"},
        BadText{"", "cf1={write_buffer_size=1m}cf2={write_buffer_size=1m}", "expected ;"},
        BadText{"", ";cf1={write_buffer_size=1m}", ";cf1"},
        BadText{"", "cf1={write_buffer_size=1m}}", "expected ;"},
        BadText{"write_buffer_size=99999999999999999999", "", "write_buffer_size"},
        BadText{"", "cf1={write_buffer_size=1m};cf1={write_buffer_size=2m}", "twice"}));

}  // namespace
}  // namespace cairn
