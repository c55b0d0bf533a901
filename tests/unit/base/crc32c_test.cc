#include "engine/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, KnownBytesHaveTheirPublishedValue) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32c, PartsGiveTheValueOfTheWhole) {
  const std::string whole = "a text that is longer than a few strides of the table";
  for (size_t split = 0; split <= whole.size(); ++split) {
    EXPECT_EQ(Crc32c(whole.substr(split), Crc32c(whole.substr(0, split))), Crc32c(whole));
  }
}

}  // namespace
}  // namespace cairn
