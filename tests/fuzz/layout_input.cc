#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/crc32c.h"
#include "engine/codec/layout_history_record.h"
#include "tests/fuzz/inputs.h"
#include "tests/unit/codec/damaged_entry.h"
#include "tests/unit/codec/layout_chain.h"

namespace cairn::testing {
namespace {

using Checksums = IndexCodec::Checksums;

// What decodes must decode to itself again; what does not must say why.
void CheckHistory(std::string_view value) {
  const auto history = DecodeLayoutHistory(value);
  if (!history.ok()) {
    EXPECT_FALSE(history.status().message().empty());
    return;
  }
  const std::string encoded = EncodeLayoutHistory(*history);
  EXPECT_EQ(ToHex(encoded), ToHex(value));
  for (uint32_t i = 0; i < history->logical().size(); ++i) {
    for (uint32_t version = 0; version <= std::min<uint32_t>(history->version(), 8); ++version) {
      const uint32_t number = history->Find(i, static_cast<uint16_t>(version));
      EXPECT_TRUE(number >= 1 && number <= history->columns().size());
    }
  }
}

// Reads a row that may be damaged; in `*decoded` its columns as text.
bool Reads(const LayoutChain& chain, const ColumnSet& columns, Checksums checksums,
           std::string_view key, std::string_view value, std::string* decoded) {
  const ExactBytes exact(value);
  const auto plan = chain.codec().MakePlan(columns, checksums);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  Record record(chain.table());
  const Status status = chain.codec().Decode(**plan, key, exact.view(), record.data());
  if (!status.ok()) {
    EXPECT_TRUE(status.code() == StatusCode::kCorruption ||
                status.code() == StatusCode::kChecksumMismatch)
        << status.ToString();
    return false;
  }
  *decoded = record.ToString(columns);
  return true;
}

void ExpectRow(const LayoutChain& chain, const LayoutChain::StoredRow& row) {
  const ColumnSet all = chain.Stored();
  const Record expected(chain.table(), chain.Expect(row));
  std::string decoded;
  for (const Checksums checksums : {Checksums::kIgnore, Checksums::kVerify}) {
    ASSERT_TRUE(Reads(chain, all, checksums, row.entry.key, row.entry.value, &decoded))
        << chain.Describe();
    EXPECT_EQ(decoded, expected.ToString(all)) << chain.Describe();
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    ColumnSet one(all.size());
    one[i] = true;
    ASSERT_TRUE(Reads(chain, one, Checksums::kIgnore, row.entry.key, row.entry.value, &decoded));
    EXPECT_EQ(decoded, expected.ToString(one)) << chain.Describe();
  }
}

// What verified reading takes, reading without does, to the same.
void CheckDamaged(const LayoutChain& chain, std::string_view key, std::string_view value) {
  const ColumnSet all = chain.Stored();
  std::string verified;
  std::string whole;
  const bool is_sound = Reads(chain, all, Checksums::kVerify, key, value, &verified);
  const bool decodes = Reads(chain, all, Checksums::kIgnore, key, value, &whole);
  if (is_sound) {
    EXPECT_TRUE(decodes);
    EXPECT_EQ(whole, verified);
  }
}

void Damage(std::string* value, Random* random) {
  for (size_t count = random->Between(1, 4); count != 0 && !value->empty(); --count) {
    const size_t at = random->Below(value->size());
    switch (random->Below(4)) {
      case 0:
        (*value)[at] = static_cast<char>(random->Below(256));
        break;
      case 1:
        value->erase(at, random->Between(1, 4));
        break;
      case 2:
        value->resize(at);
        break;
      default:
        value->insert(at, random->Between(1, 4), static_cast<char>(random->Below(256)));
    }
  }
}

}  // namespace

void CheckLayouts(std::string_view input) {
  CheckHistory(input);
  std::string with_checksum(input);
  AppendBigEndian(Crc32c(input), &with_checksum);
  CheckHistory(with_checksum);

  Random random(input);
  LayoutChain chain(&random);
  std::vector<LayoutChain::StoredRow> rows;
  for (size_t changes = random.Below(6); changes != 0; --changes) {
    rows.push_back(chain.Write());
    chain.Alter();
  }
  rows.push_back(chain.Write());
  for (const LayoutChain::StoredRow& row : rows) {
    ExpectRow(chain, row);
    std::string value = row.entry.value;
    Damage(&value, &random);
    CheckDamaged(chain, row.entry.key, value);
  }
  CheckDamaged(chain, rows.back().entry.key, input);
}

}  // namespace cairn::testing
