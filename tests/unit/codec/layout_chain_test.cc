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
#include "tests/unit/codec/damaged_entry.h"

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
    for (const Checksums checksums : {Checksums::kIgnore, Checksums::kVerify}) {
      const auto plan = PlanOf(chain, chain.Stored(), checksums);
      for (const LayoutChain::StoredRow& row : rows) {
        const auto read = [&](const std::string& value) {
          return DecodeAnyBytes(chain.table(), chain.codec(), *plan, row.entry.key, value);
        };
        ForEachAlteredByte(row.entry.value, &random, read);
        ForEachTruncation(row.entry.value, read);
        if (checksums == Checksums::kIgnore) continue;
        EXPECT_NE(read(row.entry.value + "x"), StatusCode::kOk);
      }
    }
  }
}

}  // namespace
}  // namespace cairn::testing
