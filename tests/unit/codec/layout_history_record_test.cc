#include "engine/codec/layout_history_record.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "engine/codec/dictionary_record.h"
#include "tests/unit/codec/test_table.h"

namespace cairn {
namespace {

using testing::Hex;

// `id INT PRIMARY KEY, n SMALLINT, b VARCHAR(4) latin1 NULL` after ADD c INT NOT NULL DEFAULT 5
// FIRST, then MODIFY n INT NULL, DROP b, ADD t TEXT NULL.
const char kColumns[] =
    "0001 0002 0006"
    "00000001 00 0000 0000 00000000 00 00 00000004 00000000 04 0000 00 0000"
    "00000002 00 0000 0002 00000000 00 00 00000002 00000000 00 0000 00 0000"
    "00000003 00 0000 0002 00000000 0c 01 00000005 00000004 01 0008 00 0000"
    "00000004 01 0001 0000 00000000 00 00 00000004 00000000 00 0000 02 0004 05000000"
    "00000005 01 0002 0000 00000002 00 00 00000004 00000000 01 0000 00 0000"
    "00000006 01 0002 0000 00000000 0d 02 0000000a 00000000 01 0008 01 0000"
    "0004 00000004 00000001 00000005 00000006";

std::string WithChecksum(std::string body) {
  AppendBigEndian(Crc32c(body), &body);
  return body;
}

LayoutHistory Example() {
  const StoredColumn id = {{.image_bytes = 4, .is_in_key = true}};
  const StoredColumn n = {{.image_bytes = 2}};
  const StoredColumn wide_n = {{.image_bytes = 4, .is_nullable = true}};
  const StoredColumn b = {{.type = ColumnType::kVarchar,
                           .length_bytes = 1,
                           .image_bytes = 5,
                           .max_bytes = 4,
                           .is_nullable = true,
                           .collation = 8}};
  const StoredColumn c = {{.image_bytes = 4}};
  const StoredColumn t = {{.type = ColumnType::kBlob,
                           .length_bytes = 2,
                           .image_bytes = 10,
                           .is_nullable = true,
                           .collation = 8}};
  const ColumnOrigin five = {std::nullopt, {AbsentImage::Kind::kBytes, Hex("05000000")}};
  const ColumnOrigin null = {std::nullopt, {AbsentImage::Kind::kNull, ""}};
  const auto first = LayoutHistory::Begin({id, n, b});
  const auto second = first->Next({c, id, n, b}, {five, {0}, {1}, {2}});
  auto third = second->Next({c, id, wide_n, t}, {{0}, {1}, {2}, null});
  EXPECT_TRUE(third.ok()) << third.status().ToString();
  return *std::move(third);
}

TEST(LayoutHistoryRecord, HasTheBytesOfTheFormatPage) {
  EXPECT_EQ(ToHex(IndexKey(DictionaryRecordType::kLayoutHistory, {2, 0x100})),
            "000000450000000200000100");
  EXPECT_EQ(*DecodeIndexKey(DictionaryRecordType::kLayoutHistory, Hex("000000450000000200000100")),
            (IndexId{2, 0x100}));
  EXPECT_EQ(ToHex(EncodeLayoutHistory(Example())), ToHex(Hex(kColumns) + Hex("5e95e622")));
  const auto decoded = DecodeLayoutHistory(EncodeLayoutHistory(Example()));
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, Example());
}

// The numbers of types are persisted.
TEST(LayoutHistoryRecord, TypesHaveTheirNumbers) {
  EXPECT_EQ(static_cast<int>(ColumnType::kSignedInteger), 0);
  EXPECT_EQ(static_cast<int>(ColumnType::kUnsignedInteger), 1);
  EXPECT_EQ(static_cast<int>(ColumnType::kFloat), 2);
  EXPECT_EQ(static_cast<int>(ColumnType::kDouble), 3);
  EXPECT_EQ(static_cast<int>(ColumnType::kFixedImage), 4);
  EXPECT_EQ(static_cast<int>(ColumnType::kDate), 5);
  EXPECT_EQ(static_cast<int>(ColumnType::kOldTimestamp), 6);
  EXPECT_EQ(static_cast<int>(ColumnType::kOldTime), 7);
  EXPECT_EQ(static_cast<int>(ColumnType::kOldTimeFraction), 8);
  EXPECT_EQ(static_cast<int>(ColumnType::kOpaqueFixed), 9);
  EXPECT_EQ(static_cast<int>(ColumnType::kEnum), 10);
  EXPECT_EQ(static_cast<int>(ColumnType::kChar), 11);
  EXPECT_EQ(static_cast<int>(ColumnType::kVarchar), 12);
  EXPECT_EQ(static_cast<int>(ColumnType::kBlob), 13);
}

TEST(LayoutHistoryRecord, AnyOtherByteIsAnErrorWithAReason) {
  const std::string value = EncodeLayoutHistory(Example());
  for (size_t at = 0; at < value.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = value;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      const Status status = DecodeLayoutHistory(damaged).status();
      EXPECT_EQ(status.code(), at < 2 ? StatusCode::kNotSupported : StatusCode::kCorruption) << at;
      EXPECT_FALSE(status.message().empty());
    }
    EXPECT_EQ(DecodeLayoutHistory(value.substr(0, at)).status().code(), StatusCode::kCorruption);
  }
  EXPECT_EQ(DecodeLayoutHistory(value + "x").status().code(), StatusCode::kCorruption);
}

// Even with the right checksum.
TEST(LayoutHistoryRecord, WhatMakesNoSenseIsCorruption) {
  const std::string body = Hex(kColumns);
  ASSERT_TRUE(DecodeLayoutHistory(WithChecksum(body)).ok());
  for (size_t size = 2; size < body.size(); ++size) {
    EXPECT_EQ(DecodeLayoutHistory(WithChecksum(body.substr(0, size))).status().code(),
              StatusCode::kCorruption)
        << size;
  }
  EXPECT_EQ(DecodeLayoutHistory(WithChecksum(body + "x")).status().code(), StatusCode::kCorruption);
  constexpr size_t kFirst = 6;  // The first column starts here.
  const std::pair<size_t, const char*> changes[] = {{kFirst + 3, "number"},
                                                    {kFirst + 4, "place"},
                                                    {kFirst + 13, "type"},
                                                    {kFirst + 23, "flags"},
                                                    {kFirst + 26, "absent"}};
  for (const auto& [at, word] : changes) {
    std::string damaged = body;
    damaged[at] = '\x7f';
    const Status status = DecodeLayoutHistory(WithChecksum(damaged)).status();
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << word;
    EXPECT_NE(status.message().find(word), std::string_view::npos) << status.ToString();
  }
}

}  // namespace
}  // namespace cairn
