#include "tests/unit/codec/entry_check.h"

#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "engine/codec/format_version.h"

namespace cairn::testing {
namespace {

void ExpectDecodes(const IndexCodec& codec, const TestTable& table, const Entry& entry,
                   const Record& expected, const ColumnSet& columns,
                   IndexCodec::Checksums checksums) {
  Result<std::unique_ptr<DecodePlan>> plan = codec.MakePlan(columns, checksums);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  Record decoded(table);
  const Status status = codec.Decode(**plan, entry.key, entry.value, decoded.data());
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(decoded.ToString(columns), expected.ToString(columns));
  // Other columns keep their images.
  Record untouched(table);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i]) continue;
    const ColumnLayout& column = table.layout().columns[i];
    EXPECT_EQ(std::string(decoded.data() + column.offset,
                          decoded.data() + column.offset + column.image_bytes),
              std::string(untouched.data() + column.offset,
                          untouched.data() + column.offset + column.image_bytes))
        << column.name;
    EXPECT_EQ(decoded.IsNull(static_cast<uint32_t>(i)), untouched.IsNull(static_cast<uint32_t>(i)));
  }
}

void ExpectColumnsDecode(const TestTable& table, const IndexCodec& codec, const Entry& entry,
                         const Record& record) {
  const ColumnSet covered = table.Covered(codec);
  for (IndexCodec::Checksums checksums :
       {IndexCodec::Checksums::kIgnore, IndexCodec::Checksums::kVerify}) {
    ExpectDecodes(codec, table, entry, record, covered, checksums);
    ExpectDecodes(codec, table, entry, record, ColumnSet(covered.size()), checksums);
  }
  for (size_t i = 0; i < covered.size(); ++i) {
    ColumnSet one(covered.size());
    one[i] = true;
    if (covered[i]) {
      ExpectDecodes(codec, table, entry, record, one, IndexCodec::Checksums::kIgnore);
      ColumnSet others = covered;
      others[i] = false;
      ExpectDecodes(codec, table, entry, record, others, IndexCodec::Checksums::kIgnore);
    } else if (!codec.Covers(static_cast<uint32_t>(i))) {
      EXPECT_EQ(codec.MakePlan(one, IndexCodec::Checksums::kIgnore).status().code(),
                StatusCode::kInvalidArgument);
    }
  }
}

void ExpectKeyHoldsPrimaryKey(const TestTable& table, const IndexCodec& codec, const Entry& entry,
                              const Record& record, const EntryOptions& options) {
  const Entry primary = Encode(*table.Codec(table.primary()), record, options);
  std::string extracted = "left over";
  const Status status = codec.ExtractPrimaryKey(entry.key, &extracted);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(ToHex(extracted), ToHex(primary.key));
  if (table.primary().kind == IndexKind::kHiddenPrimary) {
    Result<uint64_t> hidden_key = codec.HiddenKey(entry.key);
    ASSERT_TRUE(hidden_key.ok()) << hidden_key.status().ToString();
    EXPECT_EQ(*hidden_key, options.hidden_key);
  } else {
    EXPECT_EQ(codec.HiddenKey(entry.key).status().code(), StatusCode::kInvalidArgument);
  }
}

// Whether the search key of this part determines its stored bytes.
bool IsExactPart(const TestTable& table, const IndexCodec& codec, const Record& record,
                 uint32_t part) {
  const KeyPartLayout& layout = codec.layout().parts[part];
  const ColumnLayout& column = table.layout().columns[layout.column];
  if (record.IsNull(layout.column)) return true;
  if (codec.layout().format_version == kCairnFormatVersion) return true;
  if (column.type == ColumnType::kBlob) return false;
  return column.type != ColumnType::kChar || !layout.is_prefix ||
         column.collation->traits().weight_multiplier == 1;
}

void ExpectSearchKeysLead(const TestTable& table, const IndexCodec& codec, const Entry& entry,
                          const Record& record) {
  std::vector<uint32_t> ends;
  ASSERT_TRUE(codec.SplitKey(entry.key, &ends).ok());
  ASSERT_EQ(ends.size(), codec.key_part_count());
  EXPECT_EQ(ends.back(), entry.key.size());
  bool exact = true;
  for (uint32_t count = 0; count <= codec.layout().parts.size(); ++count) {
    std::string prefix = "left over";
    const uint32_t encoded = codec.EncodeSearchKey(
        reinterpret_cast<const uint8_t*>(SearchKey(table, codec, record, count).data()), count,
        &prefix);
    if (count != 0) exact = exact && IsExactPart(table, codec, record, count - 1);
    EXPECT_TRUE(entry.key.starts_with(prefix)) << ToHex(prefix) << " / " << ToHex(entry.key);
    if (!exact) {
      EXPECT_LE(encoded, count);
      continue;
    }
    EXPECT_EQ(encoded, count);
    EXPECT_EQ(prefix.size(), count == 0 ? kIndexNumberBytes : ends[count - 1]);
  }
}

void ExpectUniquePrefixLeads(const IndexCodec& codec, const Entry& entry, const Record& record) {
  bool any_null = false;
  for (const KeyPartLayout& part : codec.layout().parts) any_null |= record.IsNull(part.column);
  std::string prefix = "left over";
  ASSERT_EQ(codec.EncodeUniquePrefix(record.data(), &prefix), !any_null);
  if (any_null) return;
  EXPECT_TRUE(entry.key.starts_with(prefix)) << ToHex(prefix) << " / " << ToHex(entry.key);
  Result<bool> same = codec.HasUniqueValueOf(record.data(), entry.key);
  ASSERT_TRUE(same.ok()) << same.status().ToString();
  EXPECT_TRUE(*same);
}

}  // namespace

Entry Encode(const IndexCodec& codec, const Record& record, const EntryOptions& options) {
  Entry entry{.key = "left over", .value = "left over"};
  std::string unpack_info = "left over";
  codec.EncodeKey(record.data(), options.hidden_key, &entry.key, &unpack_info);
  if (codec.layout().kind == IndexKind::kSecondary) {
    codec.EncodeSecondaryValue(unpack_info, options.ttl_stamp, &entry.value);
  } else {
    codec.EncodeRow(record.data(), unpack_info, options.ttl_stamp, &entry.value);
  }
  if (options.checksums) IndexCodec::AppendChecksums(entry.key, &entry.value);
  EXPECT_LE(entry.key.size(), codec.max_key_bytes());
  return entry;
}

void ExpectEntryDecodes(const TestTable& table, const IndexCodec& codec, const Entry& entry,
                        const Record& record, const EntryOptions& options) {
  ExpectColumnsDecode(table, codec, entry, record);
  ExpectKeyHoldsPrimaryKey(table, codec, entry, record, options);
  ExpectSearchKeysLead(table, codec, entry, record);
  ExpectUniquePrefixLeads(codec, entry, record);
  if (codec.layout().has_ttl_stamp) {
    Result<uint64_t> stamp = codec.TtlStamp(entry.value);
    ASSERT_TRUE(stamp.ok());
    EXPECT_EQ(*stamp, options.ttl_stamp);
  } else {
    EXPECT_EQ(codec.TtlStamp(entry.value).status().code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace cairn::testing
