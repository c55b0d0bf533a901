#include "engine/codec/definition_copy_record.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;

// The examples of the format page, without their checksums.
const char kMarkExample[] = "0001 04 01020304 67ca375a8ab120fe";
const char kCopyExample[] = "0001 04 01020304 00000003 fe010a 00000002 0102";

DefinitionMark MarkExample() { return {"\x01\x02\x03\x04", 0x67ca375a8ab120fe}; }

DefinitionCopy CopyExample() { return {"\x01\x02\x03\x04", "\xfe\x01\x0a", "\x01\x02"}; }

std::string WithDefinitionChecksum(std::string body) {
  AppendBigEndian(Crc32c(body), &body);
  return body;
}

TEST(DefinitionCopyRecordTest, HasTheBytesOfTheFormatPage) {
  EXPECT_EQ(ToHex(DefinitionMarkKey("db.t")), "0000004764622e74");
  EXPECT_EQ(ToHex(DefinitionCopyKey("db.t")), "0000004864622e74");
  EXPECT_EQ(*DecodeDefinitionMarkKey(Hex("0000004764622e74")), "db.t");
  EXPECT_EQ(ToHex(EncodeDefinitionMark(MarkExample())), ToHex(Hex(kMarkExample)) + "ee54cf4f");
  EXPECT_EQ(ToHex(EncodeDefinitionCopy(CopyExample())), ToHex(Hex(kCopyExample)) + "2a447c78");
}

TEST(DefinitionCopyRecordTest, ComesBackAsItWas) {
  const DefinitionMark without_version{"", UINT64_MAX};
  const DefinitionCopy large{std::string(255, 'v'), std::string(700'000, '\0'), ""};
  for (const DefinitionMark& mark : {MarkExample(), without_version}) {
    const auto decoded = DecodeDefinitionMark(EncodeDefinitionMark(mark));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(*decoded, mark);
  }
  for (const DefinitionCopy& copy : {CopyExample(), large}) {
    const auto decoded = DecodeDefinitionCopy(EncodeDefinitionCopy(copy));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(*decoded, copy);
  }
}

TEST(DefinitionCopyRecordTest, AnotherVersionIsNotSupported) {
  const std::string newer = WithDefinitionChecksum(Hex("0002 00"));
  EXPECT_EQ(DecodeDefinitionMark(newer).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeDefinitionCopy(newer).status().code(), StatusCode::kNotSupported);
}

TEST(DefinitionCopyRecordTest, EveryAlteredByteAndEveryLostByteIsFound) {
  const std::string mark = EncodeDefinitionMark(MarkExample());
  const std::string copy = EncodeDefinitionCopy(CopyExample());
  for (size_t i = 0; i < mark.size(); ++i) {
    std::string altered = mark;
    altered[i] ^= 0x10;
    EXPECT_FALSE(DecodeDefinitionMark(altered).ok()) << i;
    EXPECT_FALSE(DecodeDefinitionMark(mark.substr(0, i)).ok()) << i;
  }
  for (size_t i = 0; i < copy.size(); ++i) {
    std::string altered = copy;
    altered[i] ^= 0x10;
    EXPECT_FALSE(DecodeDefinitionCopy(altered).ok()) << i;
    EXPECT_FALSE(DecodeDefinitionCopy(copy.substr(0, i)).ok()) << i;
  }
}

TEST(DefinitionCopyRecordTest, WrongLengthsUnderARightChecksumAreCorruption) {
  for (const char* const body :
       {"0001 05 01020304", "0001 00 11223344556677", "0001 00 112233445566778899"}) {
    EXPECT_EQ(DecodeDefinitionMark(WithDefinitionChecksum(Hex(body))).status().code(),
              StatusCode::kCorruption)
        << body;
  }
  for (const char* const body :
       {"0001 00 00000000 00000000", "0001 00 ffffffff 41", "0001 00 00000001 41",
        "0001 00 00000001 41 00000001", "0001 00 00000001 41 00000000 00"}) {
    EXPECT_EQ(DecodeDefinitionCopy(WithDefinitionChecksum(Hex(body))).status().code(),
              StatusCode::kCorruption)
        << body;
  }
}

TEST(DefinitionCopyRecordTest, KeysOfOtherRecordsAreCorruption) {
  for (const char* const key : {"", "00000047", "0000004864622e74", "000047"}) {
    EXPECT_EQ(DecodeDefinitionMarkKey(Hex(key)).status().code(), StatusCode::kCorruption) << key;
  }
}

}  // namespace
}  // namespace cairn
