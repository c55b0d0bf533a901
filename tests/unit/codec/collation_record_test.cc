#include "engine/codec/collation_record.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;

// The example of the format page, without its checksum.
const char kCollationExample[] =
    "0001 06 31312e382e36 a1a2a3a4a5a6a7a8 0002"
    "00000000 01 0102030405060708 00000140 00 a1a2a3a4a5a6a7a8";

CollationRecord RecordOfExample() {
  return {"11.8.6",
          0xa1a2a3a4a5a6a7a8,
          {{0, true, 0x0102030405060708}, {0x140, false, 0xa1a2a3a4a5a6a7a8}}};
}

std::string WithCollationChecksum(std::string body) {
  AppendBigEndian(Crc32c(body), &body);
  return body;
}

TEST(CollationRecordTest, HasTheBytesOfTheFormatPage) {
  EXPECT_EQ(ToHex(CollationKey(45)), "000000490000002d");
  EXPECT_EQ(ToHex(EncodeCollationRecord(RecordOfExample())),
            ToHex(Hex(kCollationExample)) + "9aae4465");
}

TEST(CollationRecordTest, ComesBackAsItWas) {
  CollationRecord many{std::string(255, 's'), UINT64_MAX, {}};
  for (uint32_t i = 0; i < 1000; ++i) many.generations.push_back({i * 7, i % 2 == 0, i});
  const CollationRecord one{"", 0, {{0, false, 0}}};
  for (const CollationRecord& record : {RecordOfExample(), many, one}) {
    const auto decoded = DecodeCollationRecord(EncodeCollationRecord(record));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(*decoded, record);
  }
}

TEST(CollationRecordTest, TellsTheGenerationOfEveryIndex) {
  const CollationRecord record = RecordOfExample();
  for (const uint32_t old : {0u, 256u, 0x13fu}) {
    EXPECT_EQ(record.GenerationOf(old), record.generations[0]) << old;
  }
  for (const uint32_t current : {0x140u, 0x141u, UINT32_MAX}) {
    EXPECT_EQ(record.GenerationOf(current), record.generations[1]) << current;
  }
}

TEST(CollationRecordTest, RefusesWhatIsDamaged) {
  const std::string good = EncodeCollationRecord(RecordOfExample());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(DecodeCollationRecord(good.substr(0, size)).status().code(), StatusCode::kCorruption)
        << size;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_FALSE(DecodeCollationRecord(bad).ok()) << i;
  }
  EXPECT_FALSE(DecodeCollationRecord(good + "x").ok());
}

// With right checksums.
TEST(CollationRecordTest, RefusesWhatSaysNothing) {
  const auto refused = [](const char* body) {
    const auto decoded = DecodeCollationRecord(WithCollationChecksum(Hex(body)));
    return !decoded.ok() && decoded.status().code() == StatusCode::kCorruption;
  };
  EXPECT_TRUE(refused("0001 00 0000000000000001 0000")) << "no generation";
  EXPECT_TRUE(refused("0001 00 0000000000000001 0001 00000001 00 0000000000000001"))
      << "indexes of none";
  EXPECT_TRUE(
      refused("0001 00 0000000000000001 0002 00000000 00 0000000000000001"
              "00000000 00 0000000000000002"))
      << "two of one index";
  EXPECT_TRUE(refused("0001 00 0000000000000001 0001 00000000 02 0000000000000001"))
      << "an unknown flag";
  EXPECT_TRUE(refused("0001 00 0000000000000001 0001 00000000 00 0000000000000001 00"))
      << "bytes behind";
  EXPECT_TRUE(refused("0001 09 0000000000000001")) << "a version that is cut off";
}

TEST(CollationRecordTest, TellsANewerVersion) {
  const auto decoded = DecodeCollationRecord(WithCollationChecksum(Hex("0002 00")));
  EXPECT_EQ(decoded.status().code(), StatusCode::kNotSupported);
  EXPECT_NE(decoded.status().message().find("version 2; known: 1"), std::string::npos)
      << decoded.status().message();
}

}  // namespace
}  // namespace cairn
