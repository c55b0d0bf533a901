#include "engine/lsm/data_block_iterator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/lsm/block_bytes.h"

namespace cairn::lsm {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;
using Step = DataBlockIterator::Step;

// From where it stands to the end.
Entries Rest(DataBlockIterator* walk) {
  Entries rest;
  do {
    rest.emplace_back(walk->key(), walk->value());
  } while (walk->Next() == Step::kEntry);
  return rest;
}

uint64_t FooterOf(const std::string& key) {
  return LoadNumber<uint64_t>(key.data() + key.size() - kVersionBytes);
}

// Keys that begin alike for a part of their length, of a few bytes up to hundreds, some of them
// with several versions.
Entries SomeEntries(std::mt19937* random) {
  const auto below = [&](size_t end) {
    return std::uniform_int_distribution<size_t>(0, end - 1)(*random);
  };
  std::vector<std::string> keys;
  std::string key = "k";
  for (int i = 0; i < 60; ++i) {
    key.resize(1 + below(key.size()));
    key.append(below(8) == 0 ? 1 + below(300) : 1 + below(12), static_cast<char>('a' + below(26)));
    keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  Entries entries;
  for (const std::string& user_key : keys) {
    uint64_t sequence = 1 + below(1 << 20);
    for (size_t versions = below(4) == 0 ? 4 : 1; versions > 0 && sequence > 0; --versions) {
      entries.emplace_back(VersionOf(user_key, sequence, static_cast<uint8_t>(below(2))),
                           std::string(below(2) == 0 ? below(300) : below(5), 'v'));
      sequence -= std::min<uint64_t>(sequence, 1 + below(300));
    }
  }
  return entries;
}

TEST(DataBlockIterator, ShowsEveryEntryFromAnyKeyOn) {
  std::mt19937 random(20261125);
  DataBlockIterator walk;  // Goes from block to block.
  EXPECT_EQ(walk.Next(), Step::kEnd);
  for (const size_t interval : {1, 2, 8, 16}) {
    for (int round = 0; round < 20; ++round) {
      const Entries entries = SomeEntries(&random);
      BlockBuilder builder(interval, /*values_have_sizes=*/true);
      for (const auto& [key, value] : entries) builder.Add(key, value);
      const Exactly block(builder.Finish());

      ASSERT_TRUE(walk.Open(block.view(), nullptr));
      ASSERT_EQ(walk.Next(), Step::kEntry);
      EXPECT_EQ(Rest(&walk), entries);
      EXPECT_EQ(walk.Next(), Step::kEnd);
      EXPECT_EQ(walk.key(), entries.back().first) << "it stands where it stood";

      for (size_t i = 0; i < entries.size(); ++i) {
        const std::string& key = entries[i].first;
        const std::string user_key = key.substr(0, key.size() - kVersionBytes);
        const Entries expected(entries.begin() + static_cast<std::ptrdiff_t>(i), entries.end());
        // At the version itself, and at one that is newer, which is before it.
        for (const uint64_t newer : {0, 1}) {
          const uint64_t footer = FooterOf(key) + newer;
          ASSERT_TRUE(walk.Open(block.view(), nullptr));
          ASSERT_EQ(walk.Seek({user_key, footer >> 8, KeyOrder::kAscending}, footer), Step::kEntry);
          EXPECT_EQ(Rest(&walk), expected);
        }
        const std::string behind = user_key + '\0';
        const auto next = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
          return entry.first.substr(0, entry.first.size() - kVersionBytes) >= behind;
        });
        ASSERT_TRUE(walk.Open(block.view(), nullptr));
        const Step step = walk.Seek({behind, ~0ull >> 8, KeyOrder::kAscending}, ~0ull);
        ASSERT_EQ(step, next == entries.end() ? Step::kEnd : Step::kEntry);
        if (step == Step::kEntry) {
          EXPECT_EQ(Rest(&walk), Entries(next, entries.end()));
        }
      }
    }
  }
}

TEST(DataBlockIterator, GoesInDescendingOrderToo) {
  BlockBuilder builder(/*interval=*/2, /*values_have_sizes=*/true);
  for (const char* const key : {"d", "c", "bb", "b", "a"}) {
    builder.Add(VersionOf(key, 5, 1), key);
  }
  const Exactly block(builder.Finish());
  DataBlockIterator walk;
  for (const auto& [from, found] : std::vector<std::pair<std::string, std::string>>{
           {"e", "d"}, {"d", "d"}, {"cc", "c"}, {"bb", "bb"}, {"ba", "b"}, {"a", "a"}}) {
    ASSERT_TRUE(walk.Open(block.view(), nullptr));
    ASSERT_EQ(walk.Seek({from, 9, KeyOrder::kDescending}, 9 << 8), Step::kEntry);
    EXPECT_EQ(walk.value(), found);
  }
  ASSERT_TRUE(walk.Open(block.view(), nullptr));
  EXPECT_EQ(walk.Seek({"", 9, KeyOrder::kDescending}, 9 << 8), Step::kEnd);
}

TEST(DataBlockIterator, AFileMayHaveOneNumberForAll) {
  BlockBuilder builder(/*interval=*/4, /*values_have_sizes=*/true);
  for (const char* const key : {"a", "ab", "abc", "b"}) builder.Add(VersionOf(key, 0, 1), key);
  const Exactly block(builder.Finish());
  for (const uint64_t sequence : {0, 7}) {
    DataBlockIterator walk;
    ASSERT_TRUE(walk.Open(block.view(), &sequence));
    ASSERT_EQ(walk.Next(), Step::kEntry);
    EXPECT_EQ(Rest(&walk), (Entries{{VersionOf("a", sequence, 1), "a"},
                                    {VersionOf("ab", sequence, 1), "ab"},
                                    {VersionOf("abc", sequence, 1), "abc"},
                                    {VersionOf("b", sequence, 1), "b"}}));
    ASSERT_TRUE(walk.Open(block.view(), &sequence));
    const uint64_t footer = sequence << 8 | 1;
    ASSERT_EQ(walk.Seek({"ab", sequence, KeyOrder::kAscending}, footer), Step::kEntry);
    EXPECT_EQ(walk.value(), "ab");
    if (sequence == 0) continue;
    ASSERT_TRUE(walk.Open(block.view(), &sequence));
    ASSERT_EQ(walk.Seek({"ab", 6, KeyOrder::kAscending}, 6 << 8), Step::kEntry);
    EXPECT_EQ(walk.value(), "abc") << "the only version of ab is newer";
  }
}

TEST(DataBlockIterator, RefusesWhatIsNoBlock) {
  BlockBuilder builder(/*interval=*/4, /*values_have_sizes=*/true);
  builder.Add(VersionOf("a", 1, 1), "value");
  const Exactly block(builder.Finish());
  DataBlockIterator walk;
  ASSERT_TRUE(walk.Open(block.view(), nullptr));
  ASSERT_EQ(walk.Next(), Step::kEntry);
  EXPECT_FALSE(walk.Open("", nullptr));
  EXPECT_FALSE(walk.Open("abc", nullptr));
  EXPECT_FALSE(walk.Open(std::string_view("\0\0\0\0", 4), nullptr)) << "no restarts";
  const Exactly without_begin(builder.Finish("what all keys begin with"));
  EXPECT_FALSE(walk.Open(without_begin.view(), nullptr));
  EXPECT_EQ(walk.value(), "value") << "it stands where it stood";
}

// Whatever bytes there are, nothing beside them is read, and what is shown lies in them.
TEST(DataBlockIterator, DamageIsSurvived) {
  std::mt19937 random(20261126);
  const auto below = [&](size_t end) {
    return std::uniform_int_distribution<size_t>(0, end - 1)(random);
  };
  const Entries entries = SomeEntries(&random);
  BlockBuilder builder(/*interval=*/4, /*values_have_sizes=*/true);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  const std::string whole = builder.Finish();
  int found_damage = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = whole.substr(0, below(8) == 0 ? below(whole.size()) : whole.size());
    for (size_t i = below(4); i > 0 && !damaged.empty(); --i) {
      const size_t from = below(2) == 0 ? 0 : damaged.size() - std::min<size_t>(damaged.size(), 80);
      damaged[from + below(damaged.size() - from)] = static_cast<char>(below(256));
    }
    const Exactly block(damaged);
    const uint64_t sequence = 3;
    DataBlockIterator walk;
    if (!walk.Open(block.view(), below(2) == 0 ? nullptr : &sequence)) continue;
    const std::string& key = entries[below(entries.size())].first;
    const BlockKey wanted(std::string_view(key).substr(0, key.size() - kVersionBytes), 5,
                          below(2) == 0 ? KeyOrder::kAscending : KeyOrder::kDescending);
    Step step = below(2) == 0 ? walk.Seek(wanted, 5 << 8) : walk.Next();
    for (; step == Step::kEntry; step = walk.Next()) {
      EXPECT_GE(walk.key().size(), kVersionBytes);
      EXPECT_GE(walk.value().data(), block.view().data());
      EXPECT_LE(walk.value().data() + walk.value().size(),
                block.view().data() + block.view().size());
    }
    found_damage += step == Step::kDamage ? 1 : 0;
  }
  EXPECT_GT(found_damage, 1000);
}

}  // namespace
}  // namespace cairn::lsm
