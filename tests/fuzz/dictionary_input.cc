#include <gtest/gtest.h>

#include <string>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "engine/codec/collation_record.h"
#include "engine/codec/definition_copy_record.h"
#include "engine/codec/dictionary_record.h"
#include "engine/codec/foreign_key_record.h"
#include "engine/codec/index_feature.h"
#include "engine/codec/index_statistics.h"
#include "engine/codec/value_sample.h"
#include "tests/fuzz/inputs.h"

namespace cairn::testing {
namespace {

// What decodes must decode to itself again; what does not must say why.
template <typename Decode, typename Encode>
void CheckRoundTrip(std::string_view bytes, Decode decode, Encode encode) {
  const auto decoded = decode(bytes);
  if (!decoded.ok()) {
    const StatusCode code = decoded.status().code();
    EXPECT_TRUE(code == StatusCode::kCorruption || code == StatusCode::kNotSupported)
        << decoded.status().ToString();
    EXPECT_FALSE(decoded.status().message().empty());
    return;
  }
  const std::string encoded = encode(*decoded);
  const auto again = decode(std::string_view(encoded));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(*again == *decoded);
}

void CheckKeys(std::string_view bytes) {
  CheckRoundTrip(bytes, DecodeTableKey, TableKey);
  CheckRoundTrip(bytes, DecodeColumnFamilyKey, ColumnFamilyKey);
  CheckRoundTrip(bytes, DecodeForeignKeyKey, ForeignKeyKey);
  CheckRoundTrip(bytes, DecodeDefinitionMarkKey, DefinitionMarkKey);
  for (DictionaryRecordType type :
       {DictionaryRecordType::kIndex, DictionaryRecordType::kIndexDropOngoing,
        DictionaryRecordType::kIndexStatistics, DictionaryRecordType::kIndexCreateOngoing,
        DictionaryRecordType::kAutoIncrement, DictionaryRecordType::kLayoutHistory}) {
    CheckRoundTrip(
        bytes, [&](std::string_view key) { return DecodeIndexKey(type, key); },
        [&](IndexId id) { return IndexKey(type, id); });
  }
  (void)IsMergeableKey(bytes);
}

void CheckValues(std::string_view bytes) {
  CheckRoundTrip(bytes, DecodeTable, EncodeTable);
  CheckRoundTrip(bytes, DecodeIndexInfo, EncodeIndexInfo);
  CheckRoundTrip(bytes, DecodeColumnFamily, EncodeColumnFamily);
  CheckRoundTrip(bytes, DecodeMaxIndexNumber, EncodeMaxIndexNumber);
  CheckRoundTrip(bytes, DecodeAutoIncrement, EncodeAutoIncrement);
  CheckRoundTrip(bytes, DecodeTableVersion, EncodeTableVersion);
  CheckRoundTrip(bytes, DecodeDirectoryFormat, EncodeDirectoryFormat);
  CheckRoundTrip(bytes, DecodeIndexStatistics, EncodeIndexStatistics);
  CheckRoundTrip(bytes, DecodeValueSamples, EncodeValueSamples);
  const Status mark = DecodeOngoingMark(bytes);
  EXPECT_TRUE(mark.ok() || !mark.message().empty());
  if (const auto info = DecodeIndexInfo(bytes); info.ok()) (void)NameFeatures(info->features);
}

std::string WithChecksum(std::string_view bytes) {
  std::string with_checksum(bytes);
  AppendBigEndian(Crc32c(bytes), &with_checksum);
  return with_checksum;
}

// Also with the checksum that the bytes would need. Each record has one encoding.
void CheckDefinitionCopy(std::string_view bytes) {
  const std::string with_checksum = WithChecksum(bytes);
  for (const std::string_view value : {bytes, std::string_view(with_checksum)}) {
    CheckRoundTrip(value, DecodeDefinitionMark, EncodeDefinitionMark);
    CheckRoundTrip(value, DecodeDefinitionCopy, EncodeDefinitionCopy);
    const auto mark = DecodeDefinitionMark(value);
    if (mark.ok()) {
      EXPECT_EQ(EncodeDefinitionMark(*mark), value);
    }
    const auto copy = DecodeDefinitionCopy(value);
    if (copy.ok()) {
      EXPECT_EQ(EncodeDefinitionCopy(*copy), value);
    }
  }
}

// Likewise.
void CheckCollation(std::string_view bytes) {
  const std::string with_checksum = WithChecksum(bytes);
  for (const std::string_view value : {bytes, std::string_view(with_checksum)}) {
    CheckRoundTrip(value, DecodeCollationRecord, EncodeCollationRecord);
    const auto record = DecodeCollationRecord(value);
    if (!record.ok()) continue;
    EXPECT_EQ(EncodeCollationRecord(*record), value);
    EXPECT_EQ(record->GenerationOf(0), record->generations.front());
    EXPECT_EQ(record->GenerationOf(UINT32_MAX), record->generations.back());
  }
}

// Likewise.
void CheckForeignKey(std::string_view bytes) {
  const std::string with_checksum = WithChecksum(bytes);
  for (const std::string_view value : {bytes, std::string_view(with_checksum)}) {
    CheckRoundTrip(value, DecodeForeignKey, EncodeForeignKey);
    const auto record = DecodeForeignKey(value);
    const auto tables = TablesOfDamagedForeignKey(value);
    if (!record.ok()) continue;
    EXPECT_EQ(EncodeForeignKey(*record), value);
    ASSERT_TRUE(tables.ok());
    EXPECT_EQ(tables->child, record->child);
  }
}

// Counters of any size add up without undefined behaviour.
void CheckStatisticsArithmetic(std::string_view bytes) {
  auto decoded = DecodeIndexStatistics(bytes);
  if (!decoded.ok() || decoded->empty()) return;
  IndexStatistics sum;
  for (const IndexStatistics& statistics : *decoded) {
    sum.Add(statistics);
    sum.Subtract(decoded->back());
  }
}

// Samples of any hashes are put together without undefined behaviour, and tell of no more than was
// counted.
void CheckSampleArithmetic(std::string_view bytes) {
  const auto decoded = DecodeValueSamples(bytes);
  if (!decoded.ok()) return;
  for (const auto& [index_number, samples] : *decoded) {
    SharedValues shared;
    int64_t counted = 0;
    for (const ValueSample& sample : samples) {
      const auto count = static_cast<int64_t>(sample.size());
      shared.Add(count, sample);
      counted += count;
    }
    const int64_t estimate = shared.Estimate();
    EXPECT_GE(estimate, 0);
    EXPECT_LE(estimate, counted);
  }
}

void CheckMerge(std::string_view left, std::string_view right) {
  const Result<std::string> merged = MergeAutoIncrement(left, right);
  const auto a = DecodeAutoIncrement(left);
  const auto b = DecodeAutoIncrement(right);
  ASSERT_EQ(merged.ok(), a.ok() && b.ok());
  if (!merged.ok()) return;
  const auto larger = DecodeAutoIncrement(*merged);
  ASSERT_TRUE(larger.ok());
  EXPECT_EQ(*larger, std::max(*a, *b));
}

}  // namespace

void CheckDictionaryBytes(std::string_view input) {
  CheckKeys(input);
  CheckValues(input);
  CheckForeignKey(input);
  CheckDefinitionCopy(input);
  CheckCollation(input);
  CheckStatisticsArithmetic(input);
  CheckSampleArithmetic(input);
  const size_t half = input.size() / 2;
  CheckMerge(input.substr(0, half), input.substr(half));
}

}  // namespace cairn::testing
