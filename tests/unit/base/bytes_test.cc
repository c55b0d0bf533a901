#include "engine/base/bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

TEST(BigEndian, PutsTheMostSignificantByteFirst) {
  std::string bytes;
  AppendBigEndian(uint8_t{1}, &bytes);
  AppendBigEndian(uint16_t{0x0203}, &bytes);
  AppendBigEndian(uint32_t{0x04050607}, &bytes);
  AppendBigEndian(uint64_t{0x08090a0b0c0d0e0f}, &bytes);
  EXPECT_EQ(ToHex(bytes), "0102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(LoadBigEndian<uint16_t>(bytes.data() + 1), 0x0203);
  EXPECT_EQ(LoadBigEndian<uint64_t>(bytes.data() + 7), 0x08090a0b0c0d0e0fu);
}

TEST(ToHex, WritesTwoDigitsAByte) {
  EXPECT_EQ(ToHex(std::string("\x00\xff\x1a", 3)), "00ff1a");
  EXPECT_EQ(ToHex(""), "");
}

TEST(ByteReader, ReadsFromTheFront) {
  ByteReader reader("abcdef");
  uint16_t number;
  ASSERT_TRUE(reader.ReadBigEndian(&number));
  EXPECT_EQ(number, 0x6162);
  std::string_view bytes;
  ASSERT_TRUE(reader.ReadBytes(2, &bytes));
  EXPECT_EQ(bytes, "cd");
  ASSERT_TRUE(reader.Skip(1));
  EXPECT_EQ(reader.rest(), "f");
  EXPECT_EQ(reader.remaining(), 1u);
}

TEST(ByteReader, AFailedReadConsumesNothing) {
  ByteReader reader("abc");
  uint32_t number = 7;
  std::string_view bytes = "unchanged";
  EXPECT_FALSE(reader.ReadBigEndian(&number));
  EXPECT_FALSE(reader.ReadBytes(4, &bytes));
  EXPECT_FALSE(reader.Skip(4));
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(bytes, "unchanged");
  EXPECT_EQ(reader.rest(), "abc");
}

}  // namespace
}  // namespace cairn
