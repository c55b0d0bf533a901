// Whatever a tree is asked, an ordered map of the same entries gives the same answer.
#include "engine/lsm/version_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace cairn::lsm {
namespace {

class HeapMemory final : public VersionTree::Memory {
 public:
  char* Allocate(size_t bytes) noexcept override {
    std::lock_guard lock(mutex_);
    blocks_.emplace_back((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    return reinterpret_cast<char*>(blocks_.back().data());
  }

 private:
  std::mutex mutex_;
  std::deque<std::vector<uint64_t>> blocks_;
};

// Gives each node a block that ends where the node ends: the address sanitizer sees whoever reads
// behind it.
class TightMemory final : public VersionTree::Memory {
 public:
  ~TightMemory() {
    for (char* const block : blocks_) ::operator delete(block, kAlignment);
  }
  char* Allocate(size_t bytes) noexcept override {
    // A node begins at the next address that is a multiple of 64: all but the last eight bytes of
    // what it asks for more than its size lie before it.
    auto* const block = static_cast<char*>(::operator new(kBefore + bytes, kAlignment));
    blocks_.push_back(block);
    return block + kBefore;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr size_t kBefore = sizeof(uint64_t);
  std::vector<char*> blocks_;
};

std::string RecordOf(const std::string& key, uint64_t version, uint8_t type) {
  const size_t size = key.size() + sizeof version;
  std::string record;
  for (size_t left = size; left != 0 || record.empty(); left >>= 7) {
    record.push_back(static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
  }
  record += key;
  const uint64_t footer = version << 8 | type;
  record.append(reinterpret_cast<const char*>(&footer), sizeof footer);
  return record;
}

struct Later {
  KeyOrder order;
  bool operator()(const std::pair<std::string, uint64_t>& a,
                  const std::pair<std::string, uint64_t>& b) const {
    if (a.first != b.first) return (a.first < b.first) == (order == KeyOrder::kAscending);
    return a.second > b.second;
  }
};
using TreeEntries = std::map<std::pair<std::string, uint64_t>, int, Later>;

class VersionTreeTest : public ::testing::TestWithParam<KeyOrder> {
 protected:
  bool Insert(const std::string& key, uint64_t version) {
    const std::string record = RecordOf(key, version, type_++ % 3);
    char* const place = memory_.Allocate(record.size());
    std::memcpy(place, record.data(), record.size());
    return tree_.Insert(place);
  }

  bool InsertInBoth(const std::string& key, uint64_t version) {
    entries_.emplace(std::pair(key, version), 0);
    return Insert(key, version);
  }

  // Whether `place` stands on what the map has at `expected`.
  ::testing::AssertionResult IsAt(const VersionTree::Iterator& place,
                                  TreeEntries::const_iterator expected) const {
    if (expected == entries_.end()) {
      return place.Valid() ? ::testing::AssertionFailure() << "stands where there is nothing"
                           : ::testing::AssertionSuccess();
    }
    if (!place.Valid()) {
      return ::testing::AssertionFailure() << "nothing where the map has an entry";
    }
    const VersionTree::Entry entry = VersionTree::ParseRecord(place.record());
    if (entry.key == expected->first.first && entry.version == expected->first.second) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << "version " << entry.version << " in the place of " << expected->first.second;
  }

  void ExpectSameWalks() const {
    VersionTree::Iterator place(tree_);
    place.SeekToFirst();
    for (auto at = entries_.begin(); at != entries_.end(); ++at, place.Next()) {
      ASSERT_TRUE(IsAt(place, at));
    }
    ASSERT_FALSE(place.Valid());
    place.SeekToLast();
    for (auto at = entries_.rbegin(); at != entries_.rend(); ++at, place.Prev()) {
      ASSERT_TRUE(IsAt(place, std::next(at).base()));
    }
    ASSERT_FALSE(place.Valid());
  }

  std::atomic<uint64_t> type_{0};
  HeapMemory memory_;
  VersionTree tree_{GetParam(), &memory_};
  TreeEntries entries_{Later{GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(Orders, VersionTreeTest,
                         ::testing::Values(KeyOrder::kAscending, KeyOrder::kDescending),
                         [](const auto& info) {
                           return info.param == KeyOrder::kAscending ? "Ascending" : "Descending";
                         });

// Keys that begin alike, that are the beginning of others, that are empty, or longer than what a
// node skips.
std::string RandomKey(std::mt19937* random) {
  const auto below = [&](unsigned bound) { return (*random)() % bound; };
  std::string key;
  switch (below(4)) {
    case 0:
      break;
    case 1:
      key = std::string("\0\0\1\5", 4);
      break;
    case 2:
      key = std::string(below(3) * 30, 'p');
      break;
    default:
      key = std::string(45 + below(3), '\0');
  }
  for (unsigned bytes = below(5); bytes > 0; --bytes) {
    key.push_back(static_cast<char>(below(2) == 0 ? below(256) : below(2)));
  }
  return key;
}

TEST_P(VersionTreeTest, AnswersLikeAnOrderedMap) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int i = 0; i < 4000; ++i) {
      const std::string key = RandomKey(&random);
      const uint64_t version = 1 + random() % 40;
      const bool is_new = !entries_.contains({key, version});
      ASSERT_EQ(InsertInBoth(key, version), is_new);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSameWalks());
    VersionTree::Iterator place(tree_);
    for (int i = 0; i < 4000; ++i) {
      const std::string key = RandomKey(&random);
      const uint64_t version = random() % 42;
      // One iterator for all: it may find its way from where it is.
      place.Seek({key, version});
      auto expected = entries_.lower_bound({key, version});
      ASSERT_TRUE(IsAt(place, expected)) << i;
      for (unsigned steps = random() % 5; steps > 0 && place.Valid(); --steps) {
        if (random() % 2 == 0) {
          place.Next();
          ++expected;
        } else {
          place.Prev();
          expected = expected == entries_.begin() ? entries_.end() : std::prev(expected);
        }
        ASSERT_TRUE(IsAt(place, expected)) << i;
      }
    }
  }
}

TEST_P(VersionTreeTest, AnEmptyTreeHasNothing) {
  VersionTree::Iterator place(tree_);
  place.SeekToFirst();
  EXPECT_FALSE(place.Valid());
  place.SeekToLast();
  EXPECT_FALSE(place.Valid());
  place.Seek({"a", 1});
  EXPECT_FALSE(place.Valid());
  EXPECT_EQ(tree_.EstimateKeys("", "z"), 0U);
}

TEST_P(VersionTreeTest, KeysInOrderAndInReverseOrder) {
  for (const bool reversed : {false, true}) {
    for (int i = 0; i < 20'000; ++i) {
      const int number = reversed ? 100'000 - i : i;
      ASSERT_TRUE(InsertInBoth({'k', static_cast<char>(number >> 16),
                                static_cast<char>(number >> 8), static_cast<char>(number)},
                               1));
    }
  }
  ExpectSameWalks();
}

TEST_P(VersionTreeTest, AnyOfManyVersionsIsFound) {
  constexpr uint64_t kVersions = 5000;
  Insert("a", 1);
  Insert("c", 1);
  for (uint64_t version = 1; version <= kVersions; ++version) {
    // Each hundredth comes late.
    if (version % 100 != 0) Insert("b", 2 * version);
    if (version % 100 == 3 && version > 3) Insert("b", 2 * (version - 3));
  }
  for (uint64_t version = 1; version < 2 * kVersions - 100; ++version) {
    VersionTree::Iterator place(tree_);
    place.Seek({"b", version});
    ASSERT_TRUE(place.Valid());
    const VersionTree::Entry entry = VersionTree::ParseRecord(place.record());
    if (version == 1) {
      ASSERT_NE(entry.key, "b");
      continue;
    }
    ASSERT_EQ(entry.key, "b");
    ASSERT_EQ(entry.version, version - version % 2);
  }
}

TEST_P(VersionTreeTest, EstimatesAreExactForFewAndNearForMany) {
  constexpr uint64_t kKeys = 100'000;
  std::mt19937 random(1);
  std::vector<uint32_t> numbers(kKeys);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), random);
  const auto key_of = [](uint32_t number) {
    return std::string{'k', static_cast<char>(number >> 16), static_cast<char>(number >> 8),
                       static_cast<char>(number)};
  };
  for (const uint32_t number : numbers) {
    Insert(key_of(number), 1);
    if (number % 10 == 0) Insert(key_of(number), 2);
  }
  const auto estimate = [&](uint32_t begin, uint32_t end) {
    return GetParam() == KeyOrder::kAscending ? tree_.EstimateKeys(key_of(begin), key_of(end))
                                              : tree_.EstimateKeys(key_of(end), key_of(begin));
  };
  EXPECT_EQ(estimate(1000, 1000), 0U);
  EXPECT_EQ(estimate(1001, 1011), 10U);
  EXPECT_EQ(estimate(50'005, 50'505), 500U);
  for (const auto& [begin, end] : std::vector<std::pair<uint32_t, uint32_t>>{
           {0, 20'000}, {30'000, 90'000}, {5000, 10'000}, {0, kKeys}}) {
    const double truth = end - begin;
    EXPECT_NEAR(static_cast<double>(estimate(begin, end)), truth, 0.2 * truth) << begin;
  }
}

// A version that comes late, between one that is looked for and the next newer one, is not taken
// for the former.
TEST_P(VersionTreeTest, VersionsThatComeLateAreNotTakenForOlderOnes) {
  constexpr uint64_t kVersions = 300'000;
  std::atomic<uint64_t> known{0};
  std::thread writer([&] {
    for (uint64_t version = 20; version < kVersions; version += 20) {
      Insert("key", version + 10);
      known.store(version, std::memory_order_release);
      for (uint64_t late = version + 9; late > version; --late) Insert("key", late);
    }
    known.store(kVersions, std::memory_order_release);
  });
  uint64_t wrong = 0;
  for (uint64_t version = 0; version < kVersions;) {
    version = known.load(std::memory_order_acquire);
    if (version == 0 || version == kVersions) continue;
    VersionTree::Iterator place(tree_);
    place.Seek({"key", version});
    // Nothing has this version: what is found is older.
    if (place.Valid() && VersionTree::ParseRecord(place.record()).version > version) ++wrong;
  }
  writer.join();
  EXPECT_EQ(wrong, 0U);
}

// Nothing orders these readers behind the writers but what the tree itself does: they lock nothing
// and look at nothing else. So the thread sanitizer sees whether a record that is found, and what
// leads to it, can be read.
TEST_P(VersionTreeTest, WhoeverOnlyReadsFindsWholeRecords) {
  constexpr uint32_t kEach = 6000;
  std::atomic<unsigned> writers_left{2};
  std::atomic<unsigned> faults{0};
  const auto key_of = [](uint32_t number) {
    std::string key(std::string("key") + std::to_string(number % 100 * 1000 + number));
    return key + std::string(number % 7, 'x');
  };
  const auto write = [&](unsigned writer) {
    for (uint32_t i = 0; i < kEach; ++i) {
      // Upwards and downwards: full leaves are split in different places.
      const uint32_t number = writer == 0 ? i : 2 * kEach - i;
      Insert(key_of(number), 1 + i % 5);
    }
    writers_left.fetch_sub(1, std::memory_order_relaxed);
  };
  const auto read = [&](unsigned reader) {
    std::mt19937 random(reader);
    while (writers_left.load(std::memory_order_relaxed) != 0) {
      VersionTree::Iterator place(tree_);
      place.Seek({key_of(random() % (2 * kEach)), 3});
      const bool forward = random() % 2 == 0;
      for (unsigned steps = 0; steps < 100 && place.Valid(); ++steps) {
        const VersionTree::Entry before = VersionTree::ParseRecord(place.record());
        const std::string key(before.key);
        if (!key.starts_with("key") || before.version == 0 || before.version > 5) {
          faults.fetch_add(1, std::memory_order_relaxed);
        }
        forward ? place.Next() : place.Prev();
        if (!place.Valid()) break;
        const VersionTree::Entry behind = VersionTree::ParseRecord(place.record());
        if (Later{GetParam()}({key, before.version}, {std::string(behind.key), behind.version}) !=
            forward) {
          faults.fetch_add(1, std::memory_order_relaxed);
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) threads.emplace_back(write, i);
  for (unsigned i = 0; i < 2; ++i) threads.emplace_back(read, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0U);
}

// Who goes back looks for his key in its leaf again once that has changed. Here the search takes
// long, as the last keys are long and alike; before it has come to the end, another thread has the
// leaf split and fills it with lesser keys, all of which the search passes.
TEST(VersionTreeSplit, WhoeverGoesBackReadsNothingBehindAFullLeaf) {
  constexpr int kMostTimes = 40;  // Whoever waits for a processor is too late.
  constexpr size_t kSlots = 64;
  constexpr size_t kLongKeys = 8;
  const std::string alike(4 << 20, 'm');
  std::vector<std::string> records;
  for (size_t i = 0; i < kSlots; ++i) {
    // The bytes that a search sees without a look at the keys themselves are the same in all.
    std::string key(44, 'k');
    key += i < kSlots - kLongKeys ? "a" : "b" + alike;
    key.push_back(static_cast<char>('0' + i));
    records.push_back(RecordOf(key, 1, 0));
  }
  const std::string last(VersionTree::ParseRecord(records.back().data()).key);
  std::vector<std::string> lesser;
  for (size_t i = 1; i < kSlots; ++i) lesser.push_back(RecordOf(std::string(i, 'a'), 1, 0));

  for (int times = 0, overtaken = 0; times < kMostTimes && overtaken < 3; ++times) {
    TightMemory memory;
    VersionTree tree(KeyOrder::kAscending, &memory);
    for (size_t i = 1; i < kSlots; ++i) ASSERT_TRUE(tree.Insert(records[i].data()));
    VersionTree::Iterator place(tree);
    place.Seek({last, 1});
    ASSERT_TRUE(place.Valid());
    ASSERT_TRUE(tree.Insert(records[0].data()));
    std::atomic<bool> inserts{false};
    std::atomic<bool> goes_back{false};
    std::atomic<bool> has_gone{false};
    std::thread reader([&] {
      while (!inserts) {
      }
      goes_back = true;
      place.Prev();
      has_gone = true;
    });
    inserts = true;
    while (!goes_back) {
    }
    const std::vector<std::string> unread(lesser);  // Takes as long as the search's first steps.
    for (const std::string& record : lesser) EXPECT_TRUE(tree.Insert(record.data()));
    overtaken += has_gone ? 0 : 1;
    reader.join();
    ASSERT_TRUE(place.Valid());
    EXPECT_EQ(place.record(), records[kSlots - 2].data());
  }
}

// Each thread inserts keys of its own and some that all have, and looks back at what it and others
// have inserted.
TEST_P(VersionTreeTest, ThreadsInsertAndReadTogether) {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kEach = 4000;
  std::array<std::atomic<unsigned>, kThreads> inserted{};
  std::atomic<unsigned> faults{0};
  const auto key_of = [](unsigned thread, unsigned number) {
    const uint32_t mixed = number * 2654435761U;
    std::string key(sizeof mixed, '\0');
    std::memcpy(key.data(), &mixed, sizeof mixed);
    key.push_back(static_cast<char>(thread));
    return key;
  };
  const auto work = [&](unsigned thread) {
    std::mt19937 random(thread);
    VersionTree::Iterator walk(tree_);
    for (unsigned i = 0; i < kEach; ++i) {
      if (!Insert(key_of(thread, i), 1)) ++faults;
      if (!Insert("shared by all", 1 + i * kThreads + thread)) ++faults;
      inserted[thread].store(i + 1, std::memory_order_release);
      const unsigned other = random() % kThreads;
      const unsigned known = inserted[other].load(std::memory_order_acquire);
      if (known == 0) continue;
      const unsigned number = random() % known;
      const std::string key = key_of(other, number);
      VersionTree::Iterator place(tree_);
      place.Seek({key, 1});
      if (!place.Valid() || VersionTree::ParseRecord(place.record()).key != key) ++faults;
      const uint64_t version = 1 + number * kThreads + other;
      place.Seek({"shared by all", version});
      if (!place.Valid() || VersionTree::ParseRecord(place.record()).version != version) ++faults;
      // A walk that others overtake goes on in order.
      if (!walk.Valid()) walk.SeekToFirst();
      for (unsigned steps = 0; steps < 3 && walk.Valid(); ++steps) {
        const VersionTree::Entry before = VersionTree::ParseRecord(walk.record());
        const bool forward = random() % 8 != 0;
        if (forward) {
          walk.Next();
        } else {
          walk.Prev();
        }
        if (!walk.Valid()) break;
        const VersionTree::Entry behind = VersionTree::ParseRecord(walk.record());
        const bool in_order = Later{GetParam()}({std::string(before.key), before.version},
                                                {std::string(behind.key), behind.version});
        if (in_order != forward) ++faults;
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0U);
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    for (unsigned i = 0; i < kEach; ++i) {
      entries_.emplace(std::pair(key_of(thread, i), 1), 0);
      entries_.emplace(std::pair("shared by all", 1 + i * kThreads + thread), 0);
    }
  }
  ExpectSameWalks();
}

}  // namespace
}  // namespace cairn::lsm
