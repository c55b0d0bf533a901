#include "engine/sort/key_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>

namespace cairn {
namespace {

// Owns what the entries point at.
class Entries {
 public:
  void Add(std::string_view key, std::string_view value) {
    std::string& bytes = bytes_.emplace_back(SortEntry::Bytes(key, value), '\0');
    entries_.push_back(SortEntry::Store(key, value, bytes.data()));
  }
  std::vector<std::string> Sorted(lsm::KeyOrder order) {
    SortByKey(&entries_, order);
    std::vector<std::string> keys;
    for (const SortEntry& entry : entries_) {
      EXPECT_EQ(entry.value(), "v" + std::string(entry.key()));
      keys.emplace_back(entry.key());
    }
    return keys;
  }

 private:
  std::deque<std::string> bytes_;
  std::vector<SortEntry> entries_;
};

// Long and short keys, keys that begin with each other, equal ones, few and many different bytes.
TEST(KeySort, SortsWhateverTheKeysHaveInCommon) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::string begin(random() % 12, 'b');
    const uint32_t bytes = random() % 2 == 0 ? 2 : 256;
    const uint32_t most_bytes = random() % 100 + 1;
    Entries entries;
    std::vector<std::string> expected(random() % 1000);
    for (std::string& key : expected) {
      key = begin;
      for (uint32_t left = random() % most_bytes; left > 0; --left) {
        key += static_cast<char>(random() % bytes);
      }
      entries.Add(key, "v" + key);
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(entries.Sorted(lsm::KeyOrder::kAscending), expected);
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(entries.Sorted(lsm::KeyOrder::kDescending), expected);
  }
}

TEST(KeySort, ManyEqualKeysEnd) {
  Entries entries;
  for (int i = 0; i < 1000; ++i) entries.Add("equal", "vequal");
  EXPECT_EQ(entries.Sorted(lsm::KeyOrder::kAscending), std::vector<std::string>(1000, "equal"));
}

}  // namespace
}  // namespace cairn
