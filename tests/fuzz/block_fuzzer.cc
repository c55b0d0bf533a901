// The fuzz target of what engine/lsm/ reads from the bytes of blocks (block_search.h,
// data_block_iterator.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/lsm/block_search.h"
#include "engine/lsm/data_block_iterator.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/rocksdb_blocks.h"
#include "tests/unit/codec/random.h"
#include "tests/unit/lsm/block_bytes.h"

namespace cairn::testing {
namespace {

using lsm::BlockEntry;
using lsm::BlockKey;
using lsm::BlockPlace;
using lsm::BlockSearch;
using lsm::DataBlockIterator;
using lsm::IndexEntry;
using lsm::IndexLayout;
using lsm::KeyOrder;
using lsm::kVersionBytes;
using Step = DataBlockIterator::Step;

constexpr uint64_t kMostSequence = (uint64_t{1} << 56) - 1;
// Deletions, values, merges, deletions of one entry, and the type that searches have, which is the
// largest.
constexpr uint8_t kTypes[] = {0, 1, 2, 7, 0x18};
constexpr size_t kTypesInFiles = 4;

KeyOrder SomeOrder(Random* random) {
  return random->Below(2) == 0 ? KeyOrder::kAscending : KeyOrder::kDescending;
}

// Begins as the one before, for a part of its length.
std::string SomeKey(const std::string& before, Random* random) {
  std::string key = before.substr(0, random->Below(before.size() + 1));
  const size_t added = random->Below(8) == 7 ? random->Below(200) : random->Below(12);
  if (random->Below(2) == 0) return key.append(added, static_cast<char>(random->Below(256)));
  for (size_t i = 0; i < added; ++i) key.push_back(static_cast<char>(random->Below(256)));
  return key;
}

uint64_t SomeSequence(Random* random) {
  return random->Below(4) == 3 ? random->Bits() & kMostSequence : random->Below(6);
}

struct Version {
  std::string user_key;
  uint64_t sequence = 0;
};

// Versions of a key: the newest first.
struct InFamilyOrder {
  KeyOrder order;
  bool operator()(const Version& a, const Version& b) const {
    const int keys = lsm::CompareKeys(a.user_key, b.user_key, order);
    return keys != 0 ? keys < 0 : a.sequence > b.sequence;
  }
};

// Keys with footers and values, as a block has them. With `one_version`, of each key one, with the
// number 0.
BlockEntries SomeEntries(KeyOrder order, bool one_version, Random* random) {
  std::map<Version, std::pair<uint8_t, std::string>, InFamilyOrder> versions(InFamilyOrder{order});
  std::string key;
  for (size_t i = random->Below(40); i > 0; --i) {
    if (random->Below(4) != 3) key = SomeKey(key, random);
    const size_t type = random->Below(one_version ? kTypesInFiles - 1 : kTypesInFiles);
    const size_t bytes = random->Below(8) == 7 ? random->Below(300) : random->Below(8);
    versions.try_emplace({key, one_version ? 0 : SomeSequence(random)}, kTypes[type],
                         std::string(bytes, static_cast<char>(i)));
  }
  BlockEntries entries;
  for (const auto& [version, content] : versions) {
    entries.emplace_back(lsm::VersionOf(version.user_key, version.sequence, content.first),
                         content.second);
  }
  return entries;
}

std::string_view UserKey(std::string_view key) { return key.substr(0, key.size() - kVersionBytes); }

uint64_t Footer(std::string_view key) {
  return lsm::LoadNumber<uint64_t>(key.data() + key.size() - kVersionBytes);
}

// A version to look for, with its footer: mostly one beside those that are there.
std::string SomeTarget(const BlockEntries& entries, Random* random) {
  std::string key;
  uint64_t sequence = SomeSequence(random);
  if (!entries.empty() && random->Below(8) != 7) {
    const std::string& there = entries[random->Below(entries.size())].first;
    key = UserKey(there);
    sequence = (Footer(there) >> 8) + random->Below(3) - 1;
  }
  if (random->Below(2) == 1) key = SomeKey(key, random);
  return lsm::VersionOf(key, sequence & kMostSequence, kTypes[random->Below(std::size(kTypes))]);
}

BlockKey Wanted(std::string_view target, KeyOrder order) {
  return {UserKey(target), Footer(target) >> 8, order};
}

bool HasHashIndex(std::string_view block) {
  return (static_cast<unsigned char>(block.back()) & 0x80) != 0;
}

// The walk gives the entries from that number on.
void ExpectRest(const BlockEntries& entries, size_t from, Step step, DataBlockIterator* walk) {
  for (size_t i = from; i < entries.size(); ++i, step = walk->Next()) {
    ASSERT_EQ(step, Step::kEntry);
    EXPECT_EQ(walk->key(), entries[i].first);
    EXPECT_EQ(walk->value(), entries[i].second);
  }
  EXPECT_EQ(step, Step::kEnd);
}

// Whether the footer of an entry begins with bytes of the key before it, which is another one: the
// search does not put it together.
bool IsCutIntoFooter(const BlockEntries& entries, size_t i) {
  if (i == 0) return false;
  const std::string& before = entries[i - 1].first;
  const std::string& key = entries[i].first;
  const auto [end, unused] = std::mismatch(key.begin(), key.end(), before.begin(), before.end());
  return UserKey(before) != UserKey(key) && end - key.begin() > std::ssize(UserKey(key));
}

void ExpectFound(std::string_view block, const ReadDataBlock& read, size_t expected,
                 const uint64_t* file_sequence, const BlockEntries& stored, const BlockKey& key) {
  BlockEntry entry;
  const BlockSearch found = FindVersion(block, file_sequence, key, &entry);
  if (expected == read.entries().size()) {
    EXPECT_EQ(found, BlockSearch::kUnknown);
    return;
  }
  if (found == BlockSearch::kUnknown) {
    size_t first = expected;  // Of the key's versions, of which all may be too new.
    while (first > 0 && UserKey(stored[first - 1].first) == key.user_key) --first;
    EXPECT_EQ(UserKey(stored[first].first), key.user_key);
    EXPECT_TRUE(IsCutIntoFooter(stored, first));
    return;
  }
  const auto& [there, value] = read.entries()[expected];
  if (UserKey(there) != key.user_key) {
    EXPECT_EQ(found, BlockSearch::kAbsent);
    return;
  }
  ASSERT_EQ(found, BlockSearch::kFound);
  EXPECT_EQ(entry.sequence, Footer(there) >> 8);
  EXPECT_EQ(entry.type, Footer(there) & 0xff);
  EXPECT_EQ(entry.value, value);
}

// A data block of RocksDB's gives what RocksDB finds in it.
void CheckDataBlock(Random* random) {
  const KeyOrder order = SomeOrder(random);
  const uint64_t of_file = random->Below(4) == 3 ? SomeSequence(random) : 0;
  const uint64_t* const file_sequence = random->Below(4) == 3 ? &of_file : nullptr;
  const DataBlockLayout layout = {.restart_interval = static_cast<int>(random->Between(1, 17)),
                                  .shares_prefixes = random->Below(8) != 7,
                                  .has_hash_index = random->Below(16) == 15,
                                  .separates_values = random->Below(16) == 15};
  const BlockEntries stored = SomeEntries(order, file_sequence != nullptr, random);
  const lsm::Exactly block(BuildDataBlock(stored, layout));
  DataBlockIterator walk;
  if (layout.separates_values || HasHashIndex(block.view())) {
    EXPECT_FALSE(walk.Open(block.view(), file_sequence));
    BlockEntry entry;
    EXPECT_EQ(FindVersion(block.view(), file_sequence, BlockKey("", 0, order), &entry),
              BlockSearch::kUnknown);
    return;
  }
  ReadDataBlock read(block.view(), order, file_sequence);
  ASSERT_EQ(read.entries().size(), stored.size());
  ASSERT_TRUE(walk.Open(block.view(), file_sequence));
  ExpectRest(read.entries(), 0, walk.Next(), &walk);
  for (size_t i = random->Below(8); i > 0; --i) {
    const std::string target = SomeTarget(read.entries(), random);
    const BlockKey key = Wanted(target, order);
    ASSERT_TRUE(walk.Open(block.view(), file_sequence));
    // Without an entry there is not even a restart.
    const Step step = walk.Seek(key, Footer(target));
    if (stored.empty()) {
      EXPECT_EQ(step, Step::kDamage);
    } else {
      ExpectRest(read.entries(), read.Seek(target), step, &walk);
    }
    const std::string newest = lsm::VersionOf(std::string(key.user_key), key.sequence, 0x18);
    ExpectFound(block.view(), read, read.Seek(newest), file_sequence, stored, key);
  }
}

std::string SomeIndex(KeyOrder order, const IndexBlockLayout& layout, Random* random,
                      std::vector<IndexPlace>* places) {
  uint64_t offset = 0;
  for (auto& [key, unused] : SomeEntries(order, !layout.keys_have_versions, random)) {
    if (!layout.keys_have_versions) key.resize(key.size() - kVersionBytes);
    const uint64_t bytes = random->Below(4) == 3 ? random->Bits() >> 24 : random->Below(5000);
    places->push_back({std::move(key), offset, bytes});
    offset += bytes + kBetweenBlocks;
  }
  return BuildIndexBlock(*places, layout);
}

// An index of RocksDB's has the places that RocksDB finds in it.
void CheckIndexBlock(Random* random) {
  const KeyOrder order = SomeOrder(random);
  const IndexBlockLayout layout = {
      .restart_interval = random->Below(4) == 3 ? static_cast<int>(random->Between(1, 4)) : 1,
      .keys_have_versions = random->Below(2) == 1,
      .values_have_sizes = random->Below(2) == 1,
      .marks_uniform_keys = random->Below(4) == 3};
  std::vector<IndexPlace> places;
  const lsm::Exactly block(SomeIndex(order, layout, random, &places));
  const bool whole = layout.restart_interval == 1;
  const IndexLayout known = {.keys_have_versions = layout.keys_have_versions,
                             .values_have_sizes = layout.values_have_sizes,
                             .has_whole_keys = whole && random->Below(2) == 1};
  BlockEntries entries;
  for (const IndexPlace& place : places) {
    entries.emplace_back(layout.keys_have_versions ? place.key : lsm::VersionOf(place.key, 0, 1),
                         "");
  }
  for (size_t i = random->Below(8); i > 0 && !places.empty(); --i) {
    const std::string target = SomeTarget(entries, random);
    const BlockKey key = Wanted(target, order);
    const std::string newest = lsm::VersionOf(std::string(key.user_key), key.sequence, 0x18);
    const auto expected = SeekInIndex(block.view(), order, layout, newest);
    BlockPlace place;
    const BlockSearch found = FindBlock(block.view(), known, key, &place);
    if (found == BlockSearch::kUnknown) {
      EXPECT_FALSE(whole);
    } else if (expected == nullptr) {
      EXPECT_EQ(found, BlockSearch::kAbsent);
    } else {
      ASSERT_EQ(found, BlockSearch::kFound);
      EXPECT_EQ(place.offset, expected->offset);
      EXPECT_EQ(place.bytes, expected->bytes);
    }
  }
  IndexEntry entry;
  if (!known.has_whole_keys) {
    EXPECT_EQ(ReadIndexEntry(block.view(), known, 0, &entry), BlockSearch::kUnknown);
    return;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const auto number = static_cast<uint32_t>(i);
    ASSERT_EQ(ReadIndexEntry(block.view(), known, number, &entry), BlockSearch::kFound);
    EXPECT_EQ(entry.user_key, UserKey(entries[i].first));
    EXPECT_EQ(entry.place.offset, places[i].offset);
    EXPECT_EQ(entry.place.bytes, places[i].bytes);
    EXPECT_EQ(entry.place.number, number);
  }
  const auto end = static_cast<uint32_t>(places.size());
  EXPECT_EQ(ReadIndexEntry(block.view(), known, end, &entry),
            places.empty() ? BlockSearch::kUnknown : BlockSearch::kAbsent);
}

// Whatever bytes a block has, nothing beside them is read, and what is found lies in them.
void CheckBytes(std::string_view bytes, const BlockEntries& entries, Random* random) {
  const lsm::Exactly exact{std::string(bytes)};
  const std::string_view block = exact.view();
  const auto expect_within = [block](std::string_view part) {
    EXPECT_GE(part.data(), block.data());
    EXPECT_LE(part.data() + part.size(), block.data() + block.size());
  };
  const KeyOrder order = SomeOrder(random);
  const uint64_t of_file = SomeSequence(random);
  const uint64_t* const file_sequence = random->Below(4) == 3 ? &of_file : nullptr;
  const IndexLayout layout = {.keys_have_versions = random->Below(2) == 1,
                              .values_have_sizes = random->Below(2) == 1,
                              .has_whole_keys = random->Below(2) == 1};
  DataBlockIterator walk;
  for (size_t i = random->Between(1, 8); i > 0; --i) {
    const std::string target = SomeTarget(entries, random);
    const BlockKey key = Wanted(target, order);
    if (walk.Open(block, file_sequence)) {
      Step step = random->Below(4) == 3 ? walk.Next() : walk.Seek(key, Footer(target));
      for (; step == Step::kEntry; step = walk.Next()) {
        EXPECT_GE(std::string(walk.key()).size(), kVersionBytes);
        expect_within(walk.value());
      }
    }
    BlockEntry entry;
    if (FindVersion(block, file_sequence, key, &entry) == BlockSearch::kFound) {
      expect_within(entry.value);
    }
    BlockPlace place;
    (void)FindBlock(block, layout, key, &place);
    IndexEntry index_entry;
    const auto number = static_cast<uint32_t>(random->Below(4) == 3 ? random->Bits() : i);
    if (ReadIndexEntry(block, layout, number, &index_entry) == BlockSearch::kFound) {
      expect_within(index_entry.user_key);
    }
  }
}

// A block of RocksDB's with a few bytes altered, or its end cut off.
void CheckDamagedBlock(Random* random) {
  const KeyOrder order = SomeOrder(random);
  std::string block;
  BlockEntries entries;
  if (random->Below(2) == 0) {
    entries = SomeEntries(order, /*one_version=*/false, random);
    block = BuildDataBlock(entries, {.restart_interval = static_cast<int>(random->Between(1, 17))});
  } else {
    std::vector<IndexPlace> places;
    block = SomeIndex(order, {.values_have_sizes = random->Below(2) == 1}, random, &places);
    for (IndexPlace& place : places) entries.emplace_back(std::move(place.key), "");
  }
  if (random->Below(4) == 3) block.resize(random->Below(block.size() + 1));
  for (size_t i = random->Below(6); i > 0 && !block.empty(); --i) {
    // Most at the end, which says where everything is.
    const size_t end = std::min<size_t>(block.size(), 64);
    const size_t at =
        random->Below(2) == 0 ? block.size() - 1 - random->Below(end) : random->Below(block.size());
    block[at] = static_cast<char>(random->Below(256));
  }
  CheckBytes(block, entries, random);
}

// A few bytes for what is looked for, then the block.
void CheckAnyBytes(std::string_view input) {
  constexpr size_t kForSearches = 32;
  Random random(input.substr(0, kForSearches));
  if (input.size() > kForSearches) CheckBytes(input.substr(kForSearches), {}, &random);
}

}  // namespace

void CheckInput(uint8_t kind, std::string_view input) {
  Random random(input);
  switch (kind % 4) {
    case 0:
      CheckDataBlock(&random);
      break;
    case 1:
      CheckIndexBlock(&random);
      break;
    case 2:
      CheckDamagedBlock(&random);
      break;
    default:
      CheckAnyBytes(input);
  }
}

}  // namespace cairn::testing
