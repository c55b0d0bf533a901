// Random changes of a layout against a model: whatever version a row was written in, it has its
// values in every later one.
#include "tests/unit/codec/layout_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/layout_history_record.h"
#include "tests/unit/codec/random_table.h"

namespace cairn::testing {
namespace {

using Checksums = IndexCodec::Checksums;

std::unique_ptr<DecodePlan> PlanOf(const LayoutChain& chain, const ColumnSet& columns,
                                   Checksums checksums) {
  auto plan = chain.codec().MakePlan(columns, checksums);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return *std::move(plan);
}

// Reads all rows, in any order, with one plan.
void ExpectRows(const LayoutChain& chain, const std::vector<LayoutChain::StoredRow>& rows,
                const ColumnSet& columns, Checksums checksums) {
  const auto plan = PlanOf(chain, columns, checksums);
  const Record fresh(chain.table());
  for (const LayoutChain::StoredRow& row : rows) {
    Record record(chain.table());
    const Status status =
        chain.codec().Decode(*plan, row.entry.key, row.entry.value, record.data());
    ASSERT_TRUE(status.ok()) << status.ToString();
    const Record expected(chain.table(), chain.Expect(row));
    ASSERT_EQ(record.ToString(columns), expected.ToString(columns))
        << "version " << row.version << ", value " << ToHex(row.entry.value);
    for (uint32_t i = 0; i < columns.size(); ++i) {
      const ColumnLayout& column = chain.table().layout().columns[i];
      if (columns[i]) continue;
      ASSERT_EQ(std::memcmp(record.data() + column.offset, fresh.data() + column.offset,
                            column.image_bytes),
                0)
          << column.name << " was not asked for";
    }
  }
}

void ExpectAllReads(const LayoutChain& chain, const std::vector<LayoutChain::StoredRow>& rows,
                    Random* random) {
  SCOPED_TRACE(chain.Describe());
  const ColumnSet all = chain.Stored();
  ExpectRows(chain, rows, all, Checksums::kVerify);
  ExpectRows(chain, rows, all, Checksums::kIgnore);
  ExpectRows(chain, rows, ColumnSet(all.size()), Checksums::kVerify);
  ColumnSet some(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    some[i] = all[i] && random->OneIn(3);
    if (!all[i]) continue;
    ColumnSet one(all.size());
    one[i] = true;
    ExpectRows(chain, rows, one, Checksums::kIgnore);
  }
  ExpectRows(chain, rows, some, Checksums::kIgnore);
  ExpectRows(chain, rows, some, Checksums::kVerify);
}

TEST(LayoutChains, RowsOfEveryVersionHaveTheirValuesInEveryLaterOne) {
  Random random;
  for (int i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) {
    LayoutChain chain(&random);
    std::vector<LayoutChain::StoredRow> rows;
    for (size_t changes = random.Between(1, 12); !::testing::Test::HasFailure(); --changes) {
      for (int row = 0; row < 3; ++row) rows.push_back(chain.Write());
      std::swap(rows.back(), rows[random.Below(rows.size())]);
      ExpectAllReads(chain, rows, &random);
      if (changes == 0) break;
      chain.Alter();
    }
  }
}

TEST(LayoutChains, HistoriesOfAllKindsDecodeToThemselves) {
  Random random;
  for (int i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) {
    LayoutChain chain(&random);
    for (int change = 0; change < 8; ++change) {
      chain.Alter();
      const auto decoded = DecodeLayoutHistory(EncodeLayoutHistory(*chain.history()));
      ASSERT_TRUE(decoded.ok()) << decoded.status().ToString() << chain.Describe();
      EXPECT_EQ(*decoded, *chain.history());
    }
  }
}

// Bytes in a buffer of exactly their size, so that the address sanitizer sees any read beyond them.
class ExactValue {
 public:
  explicit ExactValue(std::string_view bytes)
      : bytes_(std::make_unique<char[]>(bytes.size() + 1)), size_(bytes.size()) {
    std::memcpy(bytes_.get() + 1, bytes.data(), size_);
  }
  std::string_view view() const { return {bytes_.get() + 1, size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_;
};

// Decodes what may be damaged: to a row whose columns are whole, or an error that says so.
bool DecodesOrSaysWhy(const LayoutChain& chain, const DecodePlan& plan, const ColumnSet& columns,
                      std::string_view key, std::string_view value) {
  const ExactValue exact(value);
  Record record(chain.table());
  const Status status = chain.codec().Decode(plan, key, exact.view(), record.data());
  if (status.ok()) {
    record.ToString(columns);  // VARCHARs lie within their columns, BLOBs can be read.
    return true;
  }
  EXPECT_TRUE(status.code() == StatusCode::kCorruption ||
              status.code() == StatusCode::kChecksumMismatch)
      << status.ToString();
  EXPECT_NE(status.message().find(ToHex(key)), std::string_view::npos);
  return false;
}

TEST(LayoutChains, DamageIsFoundOrGivesARow) {
  Random random;
  for (int i = 0; i < 30 && !::testing::Test::HasFailure(); ++i) {
    LayoutChain chain(&random);
    std::vector<LayoutChain::StoredRow> rows;
    for (int change = 0; change < 4; ++change) {
      rows.push_back(chain.Write());
      chain.Alter();
    }
    rows.push_back(chain.Write());
    SCOPED_TRACE(chain.Describe());
    const ColumnSet all = chain.Stored();
    for (const Checksums checksums : {Checksums::kIgnore, Checksums::kVerify}) {
      const auto plan = PlanOf(chain, all, checksums);
      for (const LayoutChain::StoredRow& row : rows) {
        std::string value = row.entry.value;
        for (size_t at = 0; at < value.size() && at < 400; ++at) {
          const char byte = value[at];
          value[at] = static_cast<char>(byte ^ 1 << random.Below(8));
          DecodesOrSaysWhy(chain, *plan, all, row.entry.key, value);
          value[at] = static_cast<char>(random.Below(256));
          DecodesOrSaysWhy(chain, *plan, all, row.entry.key, value);
          value[at] = byte;
          DecodesOrSaysWhy(chain, *plan, all, row.entry.key, value.substr(0, at));
        }
        if (checksums == Checksums::kIgnore) continue;
        EXPECT_FALSE(DecodesOrSaysWhy(chain, *plan, all, row.entry.key, value + "x"));
      }
    }
  }
}

}  // namespace
}  // namespace cairn::testing
