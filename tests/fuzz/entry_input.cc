#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/distinct_prefixes.h"
#include "tests/fuzz/inputs.h"
#include "tests/unit/codec/damaged_entry.h"
#include "tests/unit/codec/entry_check.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

// Bytes of an input that describe its table; those of a smaller one are spare.
constexpr size_t kLayoutBytes = 64;

// A table with what RandomTable gives, virtual columns and a collation in which a space has the
// weight of another character.
TestTable TableOf(std::string_view* input) {
  const std::string_view layout = input->substr(0, kLayoutBytes);
  input->remove_prefix(layout.size());
  Random random(layout);
  TestTable table = RandomTable(&random);
  std::vector<bool> in_primary(table.layout().columns.size());
  for (const KeyPartLayout& part : table.primary().parts) in_primary[part.column] = true;
  for (size_t i = 0; i < in_primary.size(); ++i) {
    ColumnLayout& column = table.mutable_layout().columns[i];
    if (!in_primary[i]) column.is_virtual = random.Below(8) == 7;
    if (column.collation == &Latin1Swedish() && random.Below(4) == 3) {
      column.collation = &Latin1Ukrainian();
    }
  }
  return table;
}

// Whether every value comes back: not with that collation, whose trailing characters that weigh as
// much as a space the stock format loses (docs/stock-format.md, 4.8).
bool IsLossless(const TestTable& table) {
  const std::vector<ColumnLayout>& columns = table.layout().columns;
  return std::none_of(columns.begin(), columns.end(), [](const ColumnLayout& column) {
    return column.collation == &Latin1Ukrainian();
  });
}

// That no byte or NULL bit of `record` outside `columns` differs from a fresh one.
void ExpectOthersUntouched(const TestTable& table, const ColumnSet& columns, const Record& record) {
  const Record fresh(table);
  std::vector<uint8_t> may_differ(table.layout().record_bytes);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i]) continue;
    const ColumnLayout& column = table.layout().columns[i];
    std::fill_n(may_differ.begin() + column.offset, column.image_bytes, uint8_t{0xff});
    may_differ[column.null_offset] |= column.null_mask;
  }
  for (size_t i = 0; i < may_differ.size(); ++i) {
    EXPECT_EQ((record.data()[i] ^ fresh.data()[i]) & ~may_differ[i], 0) << "byte " << i;
  }
}

// That each BLOB of `columns` lies within the value; after an error, that there are none.
void ExpectBlobsWithin(const TestTable& table, const ColumnSet& columns, const Record& record,
                       const ExactBytes& value, bool decoded) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnLayout& column = table.layout().columns[i];
    if (!columns[i] || column.type != ColumnType::kBlob) continue;
    uint32_t size = 0;
    std::memcpy(&size, record.data() + column.offset, column.length_bytes);
    const char* data;
    std::memcpy(&data, record.data() + column.offset + column.length_bytes, sizeof data);
    EXPECT_TRUE(size == 0 || (decoded && value.Holds(data, size))) << column.name;
  }
}

// What a failure to decode may be, and what it must say.
void ExpectClearError(const IndexCodec& codec, const Status& status, std::string_view key) {
  EXPECT_TRUE(status.code() == StatusCode::kCorruption ||
              status.code() == StatusCode::kChecksumMismatch)
      << status.ToString();
  EXPECT_NE(status.message().find(ToHex(key)), std::string_view::npos) << status.ToString();
  EXPECT_NE(status.message().find("table test.t"), std::string_view::npos) << status.ToString();
  EXPECT_NE(status.message().find("`" + codec.layout().name + "`"), std::string_view::npos)
      << status.ToString();
}

// Decodes some columns into `record`. Whatever the bytes are, nothing else of it changes.
bool DecodeColumns(const TestTable& table, const IndexCodec& codec, const ColumnSet& columns,
                   IndexCodec::Checksums checksums, const ExactBytes& key, const ExactBytes& value,
                   Record* record) {
  const auto plan = codec.MakePlan(columns, checksums);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  const Status status = codec.Decode(**plan, key.view(), value.view(), record->data());
  if (!status.ok()) ExpectClearError(codec, status, key.view());
  ExpectOthersUntouched(table, columns, *record);
  ExpectBlobsWithin(table, columns, *record, value, status.ok());
  if (status.ok()) record->ToString(columns);  // VARCHARs lie within their columns.
  return status.ok();
}

// A record whose columns are those of `decoded` where `columns` says so, else empty.
void CopyColumns(const TestTable& table, const ColumnSet& columns, const Record& decoded,
                 Record* to) {
  std::fill_n(to->data(), table.layout().record_bytes, uint8_t{0});
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const ColumnLayout& column = table.layout().columns[i];
    if (!columns[i]) continue;
    std::memcpy(to->data() + column.offset, decoded.data() + column.offset, column.image_bytes);
    if (decoded.IsNull(i)) to->data()[column.null_offset] |= column.null_mask;
  }
}

template <typename Number>
bool IsStorable(const uint8_t* image) {
  Number number;
  std::memcpy(&number, image, sizeof number);
  return std::isfinite(number) && !(number == 0 && std::signbit(number));
}

// Whether all numbers are ones that the server stores. Infinities, NaN and the negative zero, which
// only damage brings, have the keys of other numbers.
bool HasStorableNumbers(const TestTable& table, const ColumnSet& columns, const Record& record) {
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const ColumnLayout& column = table.layout().columns[i];
    if (!columns[i] || record.IsNull(i)) continue;
    const uint8_t* const image = record.data() + column.offset;
    if (column.type == ColumnType::kFloat && !IsStorable<float>(image)) return false;
    if (column.type == ColumnType::kDouble && !IsStorable<double>(image)) return false;
  }
  return true;
}

// That a decoded record encodes to an entry that decodes to the same record.
void ExpectRoundTrip(const TestTable& table, const IndexCodec& codec, const Record& decoded,
                     std::string_view key) {
  const ColumnSet covered = table.Covered(codec);
  Record record(table);
  CopyColumns(table, covered, decoded, &record);
  EntryOptions options;
  if (table.primary().kind == IndexKind::kHiddenPrimary) {
    const auto hidden_key = codec.HiddenKey(key);
    ASSERT_TRUE(hidden_key.ok()) << hidden_key.status().ToString();
    options.hidden_key = *hidden_key;
  }
  const Entry entry = Encode(codec, record, options);
  Record again(table);
  const ExactBytes again_key(entry.key);
  const ExactBytes again_value(entry.value);
  ASSERT_TRUE(DecodeColumns(table, codec, covered, IndexCodec::Checksums::kVerify, again_key,
                            again_value, &again))
      << Describe(table) << "\n"
      << record.ToString(covered);
  if (!HasStorableNumbers(table, covered, record) || !IsLossless(table)) return;
  EXPECT_EQ(again.ToString(covered), record.ToString(covered)) << Describe(table);
}

// Sends the entry through every way of reading there is.
void CheckDecoding(const TestTable& table, const IndexCodec& codec, std::string_view key_bytes,
                   std::string_view value_bytes) {
  const ExactBytes key(key_bytes);
  const ExactBytes value(value_bytes);
  const ColumnSet covered = table.Covered(codec);
  Record verified(table);
  const bool is_sound =
      DecodeColumns(table, codec, covered, IndexCodec::Checksums::kVerify, key, value, &verified);
  Record whole(table);
  const bool decodes =
      DecodeColumns(table, codec, covered, IndexCodec::Checksums::kIgnore, key, value, &whole);
  if (is_sound) {
    ASSERT_TRUE(decodes);
    EXPECT_EQ(whole.ToString(covered), verified.ToString(covered));
    ExpectRoundTrip(table, codec, verified, key.view());
  }
  for (size_t i = 0; i <= covered.size(); ++i) {
    if (i < covered.size() && !covered[i]) continue;
    ColumnSet one(covered.size());
    if (i < covered.size()) one[i] = true;
    for (auto checksums : {IndexCodec::Checksums::kIgnore, IndexCodec::Checksums::kVerify}) {
      Record part(table);
      const bool ok = DecodeColumns(table, codec, one, checksums, key, value, &part);
      // One column alone comes out as it does with the others.
      if (!decodes) continue;
      EXPECT_TRUE(ok || checksums == IndexCodec::Checksums::kVerify);
      if (!ok) continue;
      EXPECT_EQ(part.ToString(one), whole.ToString(one)) << Describe(table);
    }
  }
}

// Sends a key through what takes keys alone.
void CheckKey(const TestTable& table, const IndexCodec& codec, std::string_view key_bytes,
              const Record& record) {
  const ExactBytes key(key_bytes);
  std::string primary_key;
  const Status extracted = codec.ExtractPrimaryKey(key.view(), &primary_key);
  std::vector<uint32_t> ends;
  const Status split = codec.SplitKey(key.view(), &ends);
  EXPECT_EQ(extracted.ok(), split.ok()) << Describe(table) << extracted.ToString();
  if (split.ok()) {
    EXPECT_EQ(ends.size(), codec.key_part_count());
    EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
    EXPECT_EQ(ends.back(), key_bytes.size());
    std::vector<uint32_t> primary_ends;
    const Status primary = table.Codec(table.primary())->SplitKey(primary_key, &primary_ends);
    EXPECT_TRUE(primary.ok()) << primary.ToString() << Describe(table);
  } else {
    ExpectClearError(codec, split, key.view());
    ExpectClearError(codec, extracted, key.view());
  }
  if (const auto hidden_key = codec.HiddenKey(key.view());
      !hidden_key.ok() && hidden_key.status().code() != StatusCode::kInvalidArgument) {
    ExpectClearError(codec, hidden_key.status(), key.view());
  }
  const bool any_null =
      std::any_of(codec.layout().parts.begin(), codec.layout().parts.end(),
                  [&](const KeyPartLayout& part) { return record.IsNull(part.column); });
  if (any_null) return;
  if (const auto same = codec.HasUniqueValueOf(record.data(), key.view()); !same.ok()) {
    ExpectClearError(codec, same.status(), key.view());
  }
}

// Counts the key, and one that has all but its last byte.
void CheckDistinctPrefixes(const IndexCodec& codec, std::string_view key_bytes) {
  if (key_bytes.size() <= kIndexNumberBytes) return;
  const ExactBytes key(key_bytes);
  std::vector<uint32_t> ends;
  const bool is_key = codec.SplitKey(key.view(), &ends).ok();
  for (const auto samples : {DistinctPrefixes::Samples::kNone, DistinctPrefixes::Samples::kKept}) {
    DistinctPrefixes values(codec, samples);
    const bool counted = values.Add(key.view());
    EXPECT_TRUE(counted || !is_key);
    if (!counted) continue;
    EXPECT_EQ(values.Counts(), std::vector<int64_t>(codec.key_part_count(), 1));
    if (!values.Add(key.view())) continue;
    EXPECT_EQ(values.Counts(), std::vector<int64_t>(codec.key_part_count(), 1));
    if (!values.Add(key.view().substr(0, key_bytes.size() - 1))) continue;
    const std::vector<int64_t> counts = values.Counts();
    EXPECT_TRUE(std::is_sorted(counts.begin(), counts.end()));
    EXPECT_LE(counts.back(), 2);
  }
}

void CheckStamp(const IndexCodec& codec, std::string_view value) {
  const auto stamp = codec.TtlStamp(value);
  const bool has_stamp = codec.layout().has_ttl_stamp && value.size() >= kTtlStampBytes;
  EXPECT_EQ(stamp.ok(), has_stamp);
}

// A search key of the right length with any bytes in it.
void CheckSearchKey(const TestTable& table, const IndexCodec& codec, std::string_view bytes) {
  size_t size = 0;
  for (const KeyPartLayout& part : codec.layout().parts) {
    const ColumnLayout& column = table.layout().columns[part.column];
    const bool variable = column.type == ColumnType::kVarchar || column.type == ColumnType::kBlob;
    size += (column.nullable() ? 1 : 0) + (variable ? 2 : 0) + part.length_bytes;
    std::string search_key(bytes.substr(0, size));
    search_key.resize(size);
    const ExactBytes exact(search_key);
    std::string prefix;
    const auto count = static_cast<uint32_t>(&part - codec.layout().parts.data() + 1);
    const uint32_t encoded = codec.EncodeSearchKey(
        reinterpret_cast<const uint8_t*>(exact.view().data()), count, &prefix);
    EXPECT_LE(encoded, count);
    EXPECT_LE(prefix.size(), codec.max_key_bytes());
  }
}

const IndexLayout& ChooseIndex(const TestTable& table, Random* random) {
  return table.indexes()[random->Below(table.indexes().size())];
}

// A few changes of what is stored, as damage makes them.
void Alter(Entry* entry, Random* random) {
  for (size_t count = random->Between(1, 4); count != 0; --count) {
    std::string& bytes = random->OneIn(2) ? entry->key : entry->value;
    if (bytes.empty()) continue;
    const size_t at = random->Below(bytes.size());
    switch (random->Below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random->Below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << random->Below(8));
        break;
      case 2:
        bytes.erase(at, random->Between(1, 4));
        break;
      default:
        bytes.insert(at, random->Between(1, 4), static_cast<char>(random->Below(256)));
    }
  }
}

}  // namespace

void CheckEntryBytes(std::string_view input) {
  const TestTable table = TableOf(&input);
  Random random(input.substr(0, 4));
  input.remove_prefix(std::min<size_t>(input.size(), 4));
  const IndexLayout& index = ChooseIndex(table, &random);
  const auto codec = table.Codec(index);
  const bool has_number = !random.OneIn(16);
  const size_t key_size = std::min(random.Below(1024), input.size());
  std::string key;
  if (has_number) AppendBigEndian(index.index_number, &key);
  key += input.substr(0, key_size);
  const std::string_view value = input.substr(key_size);
  Record empty(table);
  std::fill_n(empty.data(), table.layout().record_bytes, uint8_t{0});
  CheckDecoding(table, *codec, key, value);
  CheckKey(table, *codec, key, empty);
  CheckDistinctPrefixes(*codec, key);
  CheckStamp(*codec, value);
  CheckSearchKey(table, *codec, input);
}

void CheckAlteredRow(std::string_view input) {
  const TestTable table = TableOf(&input);
  Random random(input);
  const IndexLayout& index = ChooseIndex(table, &random);
  const auto codec = table.Codec(index);
  const EntryOptions options = {.hidden_key = random.Below(1u << 16),
                                .ttl_stamp = random.Below(1u << 16),
                                .checksums = random.OneIn(2)};
  const Record record(table, RandomRow(table, &random));
  Entry entry = Encode(*codec, record, options);
  if (IsLossless(table)) ExpectEntryDecodes(table, *codec, entry, record, options);
  Alter(&entry, &random);
  CheckDecoding(table, *codec, entry.key, entry.value);
  CheckKey(table, *codec, entry.key, record);
  CheckDistinctPrefixes(*codec, entry.key);
  CheckStamp(*codec, entry.value);
}

}  // namespace cairn::testing
