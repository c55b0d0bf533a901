// Layouts that make no sense are refused when the codec is compiled, with the index named.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"
#include "tests/unit/codec/test_collations.h"
#include "tests/unit/codec/test_table.h"

namespace cairn::testing {
namespace {

struct Layouts {
  TableLayout table;
  IndexLayout primary;
  IndexLayout index;
};

// A table with a column of each shape, its primary key on `id` and an index on `a`.
Layouts GoodLayouts() {
  TestTable table;
  table.Int("id").Varchar("a", 10, Latin1Bin()).Nullable().Blob("t", 2, Utf8mb4General());
  table.Char("c", 5, Latin1Swedish()).Int("n").Nullable();
  table.PrimaryKey(0x101, {"id"}).Key(0x102, {"a"});
  return {table.layout(), table.indexes()[0], table.indexes()[1]};
}

// The status of making a codec after `change`.
Status MakeAfter(const std::function<void(Layouts*)>& change) {
  Layouts layouts = GoodLayouts();
  change(&layouts);
  return IndexCodec::Make(layouts.table, layouts.primary, layouts.index).status();
}

void ExpectRefused(StatusCode code, const std::function<void(Layouts*)>& change) {
  const Status status = MakeAfter(change);
  EXPECT_EQ(status.code(), code) << status.ToString();
  EXPECT_NE(status.message().find("table test.t, index `k258` (258)"), std::string_view::npos)
      << status.ToString();
}

TEST(Layouts, UnchangedOnesAreAccepted) {
  EXPECT_TRUE(MakeAfter([](Layouts*) {}).ok());
}

TEST(Layouts, FormatVersions10To13AreSupported) {
  for (uint16_t version = 10; version <= 13; ++version) {
    EXPECT_TRUE(MakeAfter([&](Layouts* l) { l->index.format_version = version; }).ok());
  }
  for (uint16_t version : {0, 9, 14, 65535}) {
    ExpectRefused(StatusCode::kNotSupported,
                  [&](Layouts* l) { l->index.format_version = version; });
  }
}

TEST(Layouts, AColumnThatIsNotThereIsRefused) {
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) { l->index.parts[0].column = 5; });
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) { l->primary.parts[0].column = 99; });
}

TEST(Layouts, ABlobWithoutPrefixIsRefused) {
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) {
    l->index.parts[0] = {.column = 2, .length_bytes = 16, .is_prefix = false};
  });
}

TEST(Layouts, AVirtualColumnInThePrimaryKeyIsRefused) {
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->table.columns[0].is_virtual = true; });
}

// docs/on-disk-format.md, Generated columns.
TEST(VirtualColumns, AreNeitherInTheRowNorAmongItsNullBitsButInIndexEntries) {
  TestTable table;
  table.Int("id").Int("v").Nullable().Int("a").Nullable();
  table.mutable_layout().columns[1].is_virtual = true;
  table.PrimaryKey(0x101, {"id"}).Key(0x102, {"v"});
  const Record record(table, {1, 7, nullptr});
  std::string key, info, value;
  const auto primary = table.Codec(0x101);
  primary->EncodeKey(record.data(), 0, &key, &info);
  primary->EncodeRow(record.data(), info, 0, &value);
  EXPECT_EQ(ToHex(value), "01") << "the NULL bit of `a` is the first";
  const auto secondary = table.Codec(0x102);
  secondary->EncodeKey(record.data(), 0, &key, &info);
  EXPECT_EQ(ToHex(key),
            "000001020180000007"
            "80000001");
  EXPECT_TRUE(secondary->Covers(1));

  // Reading the row leaves the column's image alone.
  Record read(table, {0, 55, 66});
  const auto plan = primary->MakePlan(ColumnSet(3, true), IndexCodec::Checksums::kIgnore);
  ASSERT_TRUE(plan.ok());
  primary->EncodeKey(record.data(), 0, &key, &info);
  ASSERT_TRUE(primary->Decode(**plan, key, value, read.data()).ok());
  EXPECT_EQ(ToHex(read.Data(0)), "01000000");
  EXPECT_EQ(ToHex(read.Data(1)), "37000000");
  EXPECT_TRUE(read.IsNull(2));
}

TEST(Layouts, AnEmptyPrefixIsRefused) {
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) {
    l->index.parts[0] = {.column = 2, .length_bytes = 3, .is_prefix = true};
  });
}

TEST(Layouts, AnIndexedLengthThatIsNotTheColumnsIsRefused) {
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->index.parts[0].length_bytes = 9; });
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) {
    l->index.parts[0] = {.column = 1, .length_bytes = 11, .is_prefix = true};
  });
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) {
    l->index.parts[0] = {.column = 4, .length_bytes = 2, .is_prefix = true};
  });
}

TEST(Layouts, ColumnsOutsideTheRecordAreRefused) {
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) { l->table.record_bytes -= 1; });
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->table.columns[0].offset = UINT32_MAX; });
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->table.columns[1].null_offset = l->table.record_bytes; });
}

TEST(Layouts, ImpossibleSizesAreRefused) {
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->table.columns[1].length_bytes = 3; });
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->table.columns[1].max_bytes = 11; });
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->table.columns[2].length_bytes = 5; });
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->table.columns[3].max_bytes = 4; });
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) {
    l->index.parts[0] = {.column = 4, .length_bytes = 5};
    l->table.columns[4].image_bytes = 5;
    l->table.record_bytes += 1;
  });
}

TEST(Layouts, CharacterColumnsNeedACollation) {
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->table.columns[1].collation = nullptr; });
}

TEST(Layouts, APrimaryKeyMayNotBeNull) {
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->primary.parts[0] = {.column = 4, .length_bytes = 4}; });
}

TEST(Layouts, KindsMustFitTogether) {
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->primary.kind = IndexKind::kSecondary; });
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->primary.kind = IndexKind::kHiddenPrimary; });
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) { l->primary.parts.clear(); });
  ExpectRefused(StatusCode::kInvalidArgument, [](Layouts* l) { l->index.parts.clear(); });
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->index.kind = IndexKind::kPrimary; });
}

TEST(Layouts, TooManyPartsAreRefused) {
  ExpectRefused(StatusCode::kInvalidArgument,
                [](Layouts* l) { l->index.parts.assign(66, l->index.parts[0]); });
}

}  // namespace
}  // namespace cairn::testing
