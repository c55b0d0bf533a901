#include "engine/codec/distinct_prefixes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

// The keys of random rows in one index, in order, some of them twice, as versions of a row are.
std::vector<std::string> RandomKeys(const TestTable& table, const IndexCodec& codec,
                                    Random* random) {
  std::vector<std::string> keys;
  Row previous;
  for (int i = 0; i < 40; ++i) {
    Row row = RandomRow(table, random);
    // Rows that have their first columns in common.
    const size_t same = previous.empty() ? 0 : random->Below(row.size() + 1);
    std::copy_n(previous.begin(), same, row.begin());
    previous = row;
    EntryOptions options;
    options.hidden_key = static_cast<uint64_t>(i / 2);
    keys.push_back(Encode(codec, Record(table, row), options).key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<int64_t> CountedPartByPart(const IndexCodec& codec,
                                       const std::vector<std::string>& keys) {
  std::vector<std::set<std::string>> values(codec.key_part_count());
  std::vector<uint32_t> ends;
  for (const std::string& key : keys) {
    EXPECT_TRUE(codec.SplitKey(key, &ends).ok());
    for (size_t i = 0; i < values.size(); ++i) values[i].insert(key.substr(0, ends[i]));
  }
  std::vector<int64_t> counts;
  for (const auto& prefix : values) counts.push_back(static_cast<int64_t>(prefix.size()));
  return counts;
}

TEST(DistinctPrefixes, AreThoseOfTheKeysInEitherOrderWhateverTheParts) {
  Random random;
  for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) {
    const TestTable table = RandomTable(&random);
    for (const IndexLayout& index : table.indexes()) {
      const auto codec = table.Codec(index);
      std::vector<std::string> keys = RandomKeys(table, *codec, &random);
      const std::vector<int64_t> expected = CountedPartByPart(*codec, keys);
      for (int order = 0; order < 2; ++order, std::reverse(keys.begin(), keys.end())) {
        DistinctPrefixes counted(*codec, DistinctPrefixes::Samples::kKept);
        for (const std::string& key : keys) ASSERT_TRUE(counted.Add(key));
        EXPECT_EQ(counted.Counts(), expected) << Describe(table) << index.name;
        for (size_t part = 0; part < counted.samples().size(); ++part) {
          EXPECT_EQ(counted.samples()[part].size(), static_cast<size_t>(expected[part]));
        }
      }
    }
  }
}

class TwoColumns : public ::testing::Test {
 protected:
  TwoColumns() {
    table_.Int("id").Varchar("a", 20, Latin1Swedish()).Nullable();
    table_.PrimaryKey(256, {"id"}).Key(257, {"a"});
    codec_ = table_.Codec(257);
  }
  std::string Key(int id, const Cell& a) const {
    return Encode(*codec_, Record(table_, {id, a}), EntryOptions()).key;
  }

  TestTable table_;
  std::unique_ptr<IndexCodec> codec_;
};

TEST_F(TwoColumns, AKeyThatIsPassedOverIsNotCountedButTheNextIsComparedWithIt) {
  DistinctPrefixes counted(*codec_, DistinctPrefixes::Samples::kNone);
  EXPECT_TRUE(counted.Add(Key(1, "a")));
  counted.Pass(Key(2, "b"));
  EXPECT_TRUE(counted.Add(Key(3, "b")));
  EXPECT_EQ(counted.Counts(), (std::vector<int64_t>{1, 2}));
}

TEST_F(TwoColumns, AfterAJumpNothingBegins) {
  DistinctPrefixes counted(*codec_, DistinctPrefixes::Samples::kKept);
  counted.Jump();
  EXPECT_TRUE(counted.Add(Key(1, "a")));
  EXPECT_EQ(counted.Counts(), (std::vector<int64_t>{0, 0}));
  EXPECT_TRUE(counted.Add(Key(2, "b")));
  EXPECT_EQ(counted.Counts(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(counted.samples()[0].size(), 2u) << "both values were seen";
}

TEST_F(TwoColumns, DamagedKeysEndTheCount) {
  DistinctPrefixes counted(*codec_, DistinctPrefixes::Samples::kKept);
  EXPECT_TRUE(counted.Add(Key(1, nullptr)));
  EXPECT_FALSE(counted.Add(Key(1, "a").substr(0, kIndexNumberBytes + 3)));
}

}  // namespace
}  // namespace cairn::testing
