#include "engine/txn/lock_list.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

const LockList kLocks{{RangeOfKey(0, "key1"), LockMode::kExclusive},
                      {RangeOfKey(0, {"\0\xff", 2}), LockMode::kShared},
                      {RangeOfKey(7, ""), LockMode::kExclusive}};

TEST(LockList, IsThatOfTheFormat) {  // docs/on-disk-format.md, records of the dictionary.
  EXPECT_EQ(LockListKey(), std::string("\0\0\0\x44", 4));
  EXPECT_EQ(EncodeLockList({{RangeOfKey(2, "ab"), LockMode::kExclusive}}),
            std::string("\0\x01\0\0\0\x02\x01\0\0\0\x02"
                        "ab",
                        13));
  EXPECT_EQ(EncodeLockList({{{2, "ab", "c"}, LockMode::kShared}}),
            std::string("\0\x02\0\0\0\x02\0\0\0\0\x02"
                        "ab\0\0\0\x01"
                        "c",
                        18));
}

TEST(LockList, ComesBack) {
  const auto decoded = DecodeLockList(EncodeLockList(kLocks));
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, kLocks);
}

TEST(LockList, RangesComeBack) {
  LockList locks = kLocks;
  locks.emplace(KeySpan{1, "a", "b"}, LockMode::kShared);
  const auto decoded = DecodeLockList(EncodeLockList(locks));
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, locks);
}

TEST(LockList, ARangeThatEndsBeforeItBeginsIsCorruption) {
  std::string value = EncodeLockList({{{1, "a", "b"}, LockMode::kShared}});
  value.back() = 'a';
  EXPECT_EQ(DecodeLockList(value).status().code(), StatusCode::kCorruption);
}

TEST(LockList, EveryTruncationInsideALockIsCorruption) {
  for (const KeySpan& range : {RangeOfKey(0, "key1"), KeySpan{0, "key1", "key2"}}) {
    const std::string whole = EncodeLockList({{range, LockMode::kShared}});
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
      if (bytes == 2) continue;  // No locks at all.
      EXPECT_EQ(DecodeLockList(whole.substr(0, bytes)).status().code(), StatusCode::kCorruption)
          << bytes;
    }
  }
}

TEST(LockList, AnUnknownVersionOrModeIsCorruption) {
  std::string value = EncodeLockList({{RangeOfKey(0, "key1"), LockMode::kShared}});
  value[1] = 3;
  EXPECT_EQ(DecodeLockList(value).status().code(), StatusCode::kCorruption);
  value[1] = 1;
  value[6] = 2;
  EXPECT_EQ(DecodeLockList(value).status().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace cairn
