#include "engine/lsm/block_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/lsm/block_bytes.h"

namespace cairn::lsm {
namespace {

TEST(CompareKeys, OrdersAsBytes) {
  const std::vector<std::string> keys = {"",         "a",         "aa", "aab",
                                         "abcdefgh", "abcdefghi", "b",  "\xff"};
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < keys.size(); ++j) {
      const int ascending = CompareKeys(keys[i], keys[j], KeyOrder::kAscending);
      const int descending = CompareKeys(keys[i], keys[j], KeyOrder::kDescending);
      EXPECT_EQ(ascending < 0, i < j);
      EXPECT_EQ(ascending == 0, i == j);
      EXPECT_EQ(descending<0, i> j);
      EXPECT_EQ(descending == 0, i == j);
    }
  }
}

TEST(FindVersion, FindsTheNewestThatIsVisible) {
  BlockBuilder block(/*interval=*/2, /*values_have_sizes=*/true);
  block.Add(VersionOf("key", 900, 1), "third");
  block.Add(VersionOf("key", 600, 0), "");
  block.Add(VersionOf("key", 300, 1), "first");
  block.Add(VersionOf("key2", 300, 1), "other");
  const Exactly bytes(block.Finish());
  const auto find = [&](const std::string& key, uint64_t sequence) -> std::string {
    BlockEntry entry;
    switch (FindVersion(bytes.view(), nullptr, {key, sequence, KeyOrder::kAscending}, &entry)) {
      case BlockSearch::kFound:
        return entry.type == 1 ? std::string(entry.value) : "deleted";
      case BlockSearch::kAbsent:
        return "absent";
      case BlockSearch::kUnknown:
        return "unknown";
    }
    return "";
  };
  EXPECT_EQ(find("key", 1000), "third");
  EXPECT_EQ(find("key", 900), "third");
  EXPECT_EQ(find("key", 899), "deleted");
  EXPECT_EQ(find("key", 300), "first");
  EXPECT_EQ(find("key", 299), "absent");
  EXPECT_EQ(find("ke", 1000), "absent");
  EXPECT_EQ(find("key1", 1000), "absent");
  EXPECT_EQ(find("key2", 1000), "other");
  EXPECT_EQ(find("key2", 1), "unknown") << "the next block may have an older one";
  EXPECT_EQ(find("key3", 1000), "unknown");
}

TEST(FindVersion, AFileMayHaveOneNumberForAll) {
  BlockBuilder block(/*interval=*/16, /*values_have_sizes=*/true);
  block.Add(VersionOf("a", 0, 1), "value");
  block.Add(VersionOf("b", 0, 1), "value");
  const Exactly bytes(block.Finish());
  const uint64_t sequence = 7;
  BlockEntry entry;
  EXPECT_EQ(FindVersion(bytes.view(), &sequence, {"a", 7, KeyOrder::kAscending}, &entry),
            BlockSearch::kFound);
  EXPECT_EQ(entry.sequence, 7u);
  EXPECT_EQ(FindVersion(bytes.view(), &sequence, {"a", 6, KeyOrder::kAscending}, &entry),
            BlockSearch::kAbsent);
}

TEST(FindBlock, FindsTheFirstThatReachesTheKey) {
  for (const bool values_have_sizes : {false, true}) {
    BlockBuilder index(/*interval=*/1, values_have_sizes);
    for (const auto& [key, offset] :
         std::map<std::string, uint64_t>{{"b", 0}, {"bb", 500}, {"d", 100000}}) {
      std::string place;
      AppendVarint(offset, &place);
      AppendVarint(400, &place);
      index.Add(key, place);
    }
    const Exactly bytes(index.Finish());
    const IndexLayout layout = {.keys_have_versions = false,
                                .values_have_sizes = values_have_sizes};
    BlockPlace place;
    for (const auto& [key, offset] : std::map<std::string, uint64_t>{
             {"", 0}, {"b", 0}, {"ba", 500}, {"bb", 500}, {"c", 100000}, {"d", 100000}}) {
      ASSERT_EQ(FindBlock(bytes.view(), layout, {key, 1, KeyOrder::kAscending}, &place),
                BlockSearch::kFound);
      EXPECT_EQ(place.offset, offset);
      EXPECT_EQ(place.bytes, 400u);
    }
    EXPECT_EQ(FindBlock(bytes.view(), layout, {"d2", 1, KeyOrder::kAscending}, &place),
              BlockSearch::kAbsent);
  }
}

TEST(FindBlock, EntriesBetweenRestartsAreUnknown) {
  BlockBuilder index(/*interval=*/2, /*values_have_sizes=*/false);
  const std::string place("\0\1", 2);
  for (const char* const key : {"a", "b", "c", "d"}) index.Add(key, place);
  const Exactly bytes(index.Finish());
  BlockPlace found;
  EXPECT_EQ(FindBlock(bytes.view(), {.keys_have_versions = false, .values_have_sizes = false},
                      {"b", 1, KeyOrder::kAscending}, &found),
            BlockSearch::kUnknown);
}

// Without their begin keys would seem to be behind the one that is wanted, which would be absent.
TEST(BlockSearch, KeysWhoseBeginLiesElsewhereAreUnknown) {
  const std::string begin("\0\0\1\5", 4);
  const std::string key = begin + "\x80 row";
  BlockBuilder block(/*interval=*/4, /*values_have_sizes=*/true);
  block.Add(VersionOf("\x80 row", 5, 1), "value");
  BlockBuilder whole_keys(/*interval=*/4, /*values_have_sizes=*/true);
  whole_keys.Add(VersionOf(key, 5, 1), "value");
  const BlockKey wanted(key, 9, KeyOrder::kAscending);
  BlockEntry entry;
  EXPECT_EQ(FindVersion(Exactly(whole_keys.Finish()).view(), nullptr, wanted, &entry),
            BlockSearch::kFound);
  EXPECT_EQ(FindVersion(Exactly(block.Finish(begin)).view(), nullptr, wanted, &entry),
            BlockSearch::kUnknown);

  BlockBuilder index(/*interval=*/1, /*values_have_sizes=*/false);
  index.Add("\x80 row", std::string("\0\1", 2));
  const Exactly bytes(index.Finish(begin));
  const IndexLayout layout = {
      .keys_have_versions = false, .values_have_sizes = false, .has_whole_keys = true};
  BlockPlace place;
  EXPECT_EQ(FindBlock(bytes.view(), layout, wanted, &place), BlockSearch::kUnknown);
  IndexEntry first;
  EXPECT_EQ(ReadIndexEntry(bytes.view(), layout, 0, &first), BlockSearch::kUnknown);
}

// Whatever bytes there are, nothing beside them is read, and what is found lies in them.
TEST(BlockSearch, DamageIsSurvived) {
  std::mt19937 random(20261124);
  const auto below = [&](size_t end) {
    return std::uniform_int_distribution<size_t>(0, end - 1)(random);
  };
  BlockBuilder block(/*interval=*/4, /*values_have_sizes=*/true);
  for (int i = 100; i < 140; ++i) {
    block.Add(VersionOf("shared by all of them " + std::to_string(i), 5, 1),
              std::string(below(200), 'v'));
  }
  const std::string whole = block.Finish();
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = whole.substr(0, below(8) == 0 ? below(whole.size()) : whole.size());
    for (size_t i = below(4); i > 0 && !damaged.empty(); --i) {
      // Most at the end, which says where everything is.
      const size_t from = below(2) == 0 ? 0 : damaged.size() - std::min<size_t>(damaged.size(), 48);
      damaged[from + below(damaged.size() - from)] = static_cast<char>(below(256));
    }
    const Exactly bytes(damaged);
    const std::string key = "shared by all of them " + std::to_string(95 + below(50));
    const BlockKey wanted(key, 5, below(2) == 0 ? KeyOrder::kAscending : KeyOrder::kDescending);
    BlockEntry entry;
    if (FindVersion(bytes.view(), nullptr, wanted, &entry) == BlockSearch::kFound) {
      EXPECT_GE(entry.value.data(), bytes.view().data());
      EXPECT_LE(entry.value.data() + entry.value.size(), bytes.view().data() + bytes.view().size());
    }
    BlockPlace place;
    const IndexLayout layout = {.keys_have_versions = below(2) == 0,
                                .values_have_sizes = below(2) == 0};
    (void)FindBlock(bytes.view(), layout, wanted, &place);
  }
}

}  // namespace
}  // namespace cairn::lsm
