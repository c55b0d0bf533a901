#include "engine/txn/lock_list.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

const LockList kLocks{{{0, "key1"}, LockMode::kExclusive},
                      {{0, std::string("\0\xff", 2)}, LockMode::kShared},
                      {{7, ""}, LockMode::kExclusive}};

TEST(LockList, IsThatOfTheFormat) {  // docs/on-disk-format.md, records of the dictionary.
  EXPECT_EQ(LockListKey(), std::string("\0\0\0\x44", 4));
  EXPECT_EQ(EncodeLockList({{{2, "ab"}, LockMode::kExclusive}}),
            std::string("\0\x01\0\0\0\x02\x01\0\0\0\x02"
                        "ab",
                        13));
}

TEST(LockList, ComesBack) {
  const auto decoded = DecodeLockList(EncodeLockList(kLocks));
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, kLocks);
}

TEST(LockList, EveryTruncationInsideALockIsCorruption) {
  const std::string whole = EncodeLockList({{{0, "key1"}, LockMode::kShared}});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    if (bytes == 2) continue;  // No locks at all.
    EXPECT_EQ(DecodeLockList(whole.substr(0, bytes)).status().code(), StatusCode::kCorruption)
        << bytes;
  }
}

TEST(LockList, AnUnknownVersionOrModeIsCorruption) {
  std::string value = EncodeLockList({{{0, "key1"}, LockMode::kShared}});
  value[1] = 2;
  EXPECT_EQ(DecodeLockList(value).status().code(), StatusCode::kCorruption);
  value[1] = 1;
  value[6] = 2;
  EXPECT_EQ(DecodeLockList(value).status().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace cairn
