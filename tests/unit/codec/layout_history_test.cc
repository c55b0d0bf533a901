#include "engine/codec/layout_history.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Place = PhysicalColumn::Place;
using Kind = AbsentImage::Kind;

constexpr uint16_t kBinary = 63;
constexpr uint16_t kLatin1 = 8;

StoredColumn Integer(uint32_t bytes, ColumnType type = ColumnType::kSignedInteger) {
  return {{.type = type, .image_bytes = bytes}};
}
StoredColumn Varchar(uint32_t bytes) {
  const uint8_t length_bytes = bytes > 255 ? 2 : 1;
  return {{.type = ColumnType::kVarchar,
           .length_bytes = length_bytes,
           .image_bytes = bytes + length_bytes,
           .max_bytes = bytes,
           .collation = kLatin1}};
}
StoredColumn Char(uint32_t bytes, uint16_t collation = kLatin1, uint32_t space_bytes = 1) {
  return {
      {.type = ColumnType::kChar, .image_bytes = bytes, .max_bytes = bytes, .collation = collation},
      space_bytes};
}
StoredColumn Blob(uint8_t length_bytes) {
  return {{.type = ColumnType::kBlob,
           .length_bytes = length_bytes,
           .image_bytes = length_bytes + 8u,
           .collation = kBinary}};
}
StoredColumn Nullable(StoredColumn column) {
  column.shape.is_nullable = true;
  return column;
}
StoredColumn InKey(StoredColumn column) {
  column.shape.is_in_key = true;
  return column;
}

LayoutHistory Begin(const std::vector<StoredColumn>& row) {
  auto history = LayoutHistory::Begin(row);
  EXPECT_TRUE(history.ok()) << history.status().ToString();
  return *std::move(history);
}

LayoutHistory Next(const LayoutHistory& history, const std::vector<StoredColumn>& row,
                   const std::vector<ColumnOrigin>& origins) {
  auto next = history.Next(row, origins);
  EXPECT_TRUE(next.ok()) << next.status().ToString();
  return next.ok() ? *std::move(next) : history;
}

ColumnOrigin Added(std::string image) {
  return {.from = std::nullopt, .absent = {Kind::kBytes, std::move(image)}};
}
ColumnOrigin AddedAsNull() { return {.from = std::nullopt, .absent = {Kind::kNull, ""}}; }

TEST(LayoutHistory, BeginsWithVersionZeroAndNumbersFromOne) {
  const LayoutHistory history = Begin({InKey(Integer(4)), Nullable(Varchar(10))});
  EXPECT_EQ(history.version(), 0);
  EXPECT_EQ(history.logical(), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(history.column(2).place, Place::kBase);
  EXPECT_EQ(history.column(2).shape, Nullable(Varchar(10)).shape);
  EXPECT_EQ(history.Find(1, 0), 2u);
}

TEST(LayoutHistory, AddsAndDropsInOneVersion) {
  const LayoutHistory first = Begin({InKey(Integer(4)), Integer(2)});
  const LayoutHistory second = Next(first, {Nullable(Integer(8)), InKey(Integer(4)), Integer(1)},
                                    {AddedAsNull(), {0}, Added("\x07")});
  EXPECT_EQ(second.version(), 1);
  EXPECT_EQ(second.logical(), (std::vector<uint32_t>{3, 1, 4}));
  EXPECT_EQ(second.column(2).dropped_in, 1);
  EXPECT_EQ(second.column(3).added_in, 1);
  EXPECT_EQ(second.column(3).place, Place::kExtension);
  EXPECT_EQ(second.column(4).absent, (AbsentImage{Kind::kBytes, "\x07"}));
  EXPECT_EQ(second.Find(2, 1), 4u);
  EXPECT_EQ(second.Find(2, 0), 4u) << "the column itself has its absent image";
  EXPECT_FALSE(second.column(4).LivesIn(0));
}

TEST(LayoutHistory, OrderAndLongerVarcharsKeepTheVersion) {
  const LayoutHistory first = Begin({InKey(Integer(4)), Varchar(10), Integer(2)});
  const LayoutHistory second =
      Next(first, {Integer(2), Varchar(255), InKey(Integer(4))}, {{2}, {1}, {0}});
  EXPECT_EQ(second.version(), 0);
  EXPECT_EQ(second.logical(), (std::vector<uint32_t>{3, 2, 1}));
  EXPECT_EQ(second.column(2).shape.max_bytes, 255u);
}

TEST(LayoutHistory, AChangedTypeHasAPredecessor) {
  LayoutHistory history = Begin({Integer(1, ColumnType::kUnsignedInteger)});
  history = Next(history, {Integer(2, ColumnType::kUnsignedInteger)}, {{0}});
  history = Next(history, {Nullable(Integer(8))}, {{0}});
  EXPECT_EQ(history.version(), 2);
  EXPECT_EQ(history.logical(), (std::vector<uint32_t>{3}));
  EXPECT_EQ(history.column(3).predecessor, 2u);
  EXPECT_EQ(history.column(2).predecessor, 1u);
  EXPECT_EQ(history.Find(0, 0), 1u);
  EXPECT_EQ(history.Find(0, 1), 2u);
  EXPECT_EQ(history.Find(0, 2), 3u);
}

TEST(LayoutHistory, EveryTotalConversionIsTaken) {
  const std::pair<StoredColumn, StoredColumn> changes[] = {
      {Integer(4), Integer(8)},
      {Integer(3, ColumnType::kUnsignedInteger), Integer(4, ColumnType::kUnsignedInteger)},
      {Integer(4, ColumnType::kUnsignedInteger), Integer(8)},
      {Integer(1, ColumnType::kEnum), Integer(2, ColumnType::kEnum)},
      {Varchar(255), Varchar(256)},
      {Varchar(10), Nullable(Varchar(20))},
      {Char(4), Char(5)},
      {Char(4, kBinary), Char(8, kBinary)},
      {Char(4, 35, 2), Nullable(Char(4, 35, 2))},
      {Blob(2), Blob(4)},
      {Integer(3, ColumnType::kDate), Nullable(Integer(3, ColumnType::kDate))},
      {Nullable(Integer(4)), Integer(4)},
      {Nullable(Varchar(10)), Varchar(300)},
  };
  for (const auto& [from, to] : changes) {
    const auto next = Begin({from}).Next({to}, {{0}});
    ASSERT_TRUE(next.ok()) << next.status().ToString();
    EXPECT_EQ(next->version(), 1);
  }
}

TEST(LayoutHistory, WhatOldRowsCannotFollowIsNotSupported) {
  const std::pair<StoredColumn, StoredColumn> changes[] = {
      {Integer(8), Integer(4)},
      {Integer(4), Integer(4, ColumnType::kUnsignedInteger)},
      {Integer(4), Integer(8, ColumnType::kUnsignedInteger)},
      {Integer(4, ColumnType::kUnsignedInteger), Integer(4)},
      {Integer(2, ColumnType::kEnum), Integer(1, ColumnType::kEnum)},
      {Integer(2, ColumnType::kEnum), Integer(4)},
      {Varchar(10), Varchar(9)},
      {Varchar(300), Varchar(200)},
      {Char(5), Char(4)},
      {Char(4), Char(8, kBinary)},
      {Char(4, 35, 2), Char(8, 35, 2)},
      {Char(4), Varchar(8)},
      {Blob(2), Blob(1)},
      {Integer(3, ColumnType::kDate), Integer(4)},
      {InKey(Integer(4)), InKey(Integer(8))},
      {InKey(Varchar(4)), InKey(Varchar(8))},
      {InKey(Integer(4)), Integer(4)},
  };
  for (const auto& [from, to] : changes) {
    EXPECT_EQ(Begin({from}).Next({to}, {{0}}).status().code(), StatusCode::kNotSupported)
        << static_cast<int>(from.shape.type) << ", " << from.shape.image_bytes << " to "
        << to.shape.image_bytes;
  }
  const LayoutHistory keyed = Begin({InKey(Integer(4)), Integer(4)});
  EXPECT_EQ(keyed.Next({Integer(4)}, {{1}}).status().code(), StatusCode::kNotSupported);
}

TEST(LayoutHistory, OriginsMustMakeSense) {
  const LayoutHistory history = Begin({Integer(4), Integer(4)});
  const std::vector<StoredColumn> two = {Integer(4), Integer(4)};
  EXPECT_EQ(history.Next(two, {{0}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(history.Next(two, {{0}, {0}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(history.Next(two, {{0}, {2}}).status().code(), StatusCode::kInvalidArgument);
}

TEST(LayoutHistory, AnAbsentImageIsAValueOfItsColumn) {
  const LayoutHistory history = Begin({Integer(4)});
  const auto add = [&](const StoredColumn& column, const ColumnOrigin& origin) {
    return history.Next({Integer(4), column}, {{0}, origin}).status().code();
  };
  EXPECT_EQ(add(Integer(4), Added("1234")), StatusCode::kOk);
  EXPECT_EQ(add(Varchar(4), Added("\x04"
                                  "1234")),
            StatusCode::kOk);
  EXPECT_EQ(add(Nullable(Integer(4)), AddedAsNull()), StatusCode::kOk);
  EXPECT_EQ(add(Integer(4), AddedAsNull()), StatusCode::kInvalidArgument);
  EXPECT_EQ(add(Integer(4), Added("123")), StatusCode::kInvalidArgument);
  EXPECT_EQ(add(Integer(4), {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(add(Varchar(4), Added("")), StatusCode::kInvalidArgument);
  EXPECT_EQ(add(Varchar(4), Added("\x03"
                                  "1234")),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(add(Varchar(4), Added("\x05"
                                  "12345")),
            StatusCode::kInvalidArgument);
  const std::string length("\xff\x0f", 2);
  EXPECT_EQ(add(Blob(2), Added(length + std::string(4095, 'x'))), StatusCode::kInvalidArgument)
      << "4,097 bytes";
  EXPECT_EQ(add(Blob(2), Added(std::string("\xfe\x0f", 2) + std::string(4094, 'x'))),
            StatusCode::kOk);
}

TEST(LayoutHistory, TheLastVersionTakesNoChangeOfRows) {
  const auto last =
      LayoutHistory::Make(LayoutHistory::kLastVersion,
                          {{.shape = Integer(4).shape}, {.shape = Varchar(4).shape}}, {1, 2});
  ASSERT_TRUE(last.ok());
  const auto changed = last->Next({Integer(4)}, {{0}});
  EXPECT_EQ(changed.status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(changed.status().message(), "The row layout has too many versions");
  const LayoutHistory same = Next(*last, {Varchar(8), Integer(4)}, {{1}, {0}});
  EXPECT_EQ(same.version(), LayoutHistory::kLastVersion);
  const auto before = LayoutHistory::Make(65534, {{.shape = Integer(4).shape}}, {1});
  EXPECT_EQ(Next(*before, {Integer(8)}, {{0}}).version(), LayoutHistory::kLastVersion);
}

TEST(LayoutHistory, HasAtMostTwoThousandColumns) {
  const std::vector<StoredColumn> most(LayoutHistory::kMostColumns, Integer(1));
  const LayoutHistory history = Begin(most);
  std::vector<StoredColumn> wider = most;
  wider[0] = Integer(2);
  std::vector<ColumnOrigin> origins;
  for (uint32_t i = 0; i < most.size(); ++i) origins.push_back({i});
  EXPECT_EQ(history.Next(wider, origins).status().code(), StatusCode::kNotSupported);
  const std::vector<StoredColumn> more(LayoutHistory::kMostColumns + 1, Integer(1));
  EXPECT_EQ(LayoutHistory::Begin(more).status().code(), StatusCode::kNotSupported);
}

TEST(LayoutHistory, FitsOnlyTheTableThatItIsOf) {
  const LayoutHistory history = Begin({InKey(Integer(4)), Varchar(10)});
  EXPECT_TRUE(history.CheckFits({InKey(Integer(4)), Varchar(10)}).ok());
  EXPECT_EQ(history.CheckFits({InKey(Integer(4))}).code(), StatusCode::kMetadataMismatch);
  for (const StoredColumn& other : {Varchar(11), Nullable(Varchar(10)), InKey(Varchar(10))}) {
    EXPECT_EQ(history.CheckFits({InKey(Integer(4)), other}).code(), StatusCode::kMetadataMismatch);
  }
}

// A history with each kind of column, one thing of which is then changed.
TEST(LayoutHistory, WhatMakesNoSenseIsInvalid) {
  using Columns = std::vector<PhysicalColumn>;
  struct Parts {
    uint16_t version = 3;
    Columns columns = {
        {.shape = InKey(Integer(4)).shape},
        {.dropped_in = 2, .shape = Integer(2).shape},
        {.place = Place::kExtension,
         .added_in = 1,
         .dropped_in = 3,
         .shape = Varchar(3).shape,
         .absent = {Kind::kBytes, std::string(1, '\0')}},
        {.place = Place::kExtension, .added_in = 2, .predecessor = 2, .shape = Integer(4).shape},
        {.place = Place::kExtension,
         .added_in = 3,
         .shape = Nullable(Blob(2)).shape,
         .absent = {Kind::kNull, ""}},
    };
    std::vector<uint32_t> logical = {5, 1, 4};
  };
  const auto make = [](const std::function<void(Parts*)>& change) {
    Parts parts;
    change(&parts);
    return LayoutHistory::Make(parts.version, parts.columns, parts.logical).status();
  };
  EXPECT_TRUE(make([](Parts*) {}).ok());
  const std::function<void(Parts*)> changes[] = {
      [](Parts* p) { p->version = 2; },
      [](Parts* p) {
        p->logical = {5, 1};
      },
      [](Parts* p) {
        p->logical = {5, 1, 4, 4};
      },
      [](Parts* p) {
        p->logical = {5, 1, 6};
      },
      [](Parts* p) {
        p->logical = {5, 1, 4, 0};
      },
      [](Parts* p) {
        p->logical = {5, 1, 4, 2};
      },
      [](Parts* p) { p->columns[0].shape.is_nullable = true; },
      [](Parts* p) { p->columns[0].added_in = 1; },
      [](Parts* p) { p->columns[0].predecessor = 1; },
      [](Parts* p) { p->columns[0].absent.kind = Kind::kNull; },
      [](Parts* p) { p->columns[1].dropped_in = 1; },
      [](Parts* p) { p->columns[1].dropped_in = 4; },
      [](Parts* p) { p->columns[1].shape.image_bytes = 5; },
      [](Parts* p) { p->columns[1].shape.length_bytes = 1; },
      [](Parts* p) { p->columns[1].shape.is_trimmed = true; },
      [](Parts* p) { p->columns[2].place = Place::kBase; },
      [](Parts* p) { p->columns[2].dropped_in = 1; },
      [](Parts* p) { p->columns[2].absent.bytes = "1"; },
      [](Parts* p) { p->columns[2].absent.kind = Kind::kNull; },
      [](Parts* p) { p->columns[2].shape.is_in_key = true; },
      [](Parts* p) { p->columns[2].shape.max_bytes = 4; },
      [](Parts* p) { p->columns[3].predecessor = 0; },
      [](Parts* p) { p->columns[3].predecessor = 3; },
      [](Parts* p) { p->columns[3].predecessor = 4; },
      [](Parts* p) { p->columns[3].predecessor = 5; },
      [](Parts* p) {
        p->columns[3].absent = {Kind::kBytes, "1234"};
      },
      [](Parts* p) { p->columns[3].shape.image_bytes = 1; },
      [](Parts* p) { p->columns[3].added_in = 0; },
      [](Parts* p) { p->columns[4].added_in = 1; },
      [](Parts* p) { p->columns[4].added_in = 4; },
      [](Parts* p) { p->columns[4].absent.kind = Kind::kNone; },
      [](Parts* p) { p->columns[4].shape.image_bytes = 11; },
  };
  for (const auto& change : changes) {
    const Status status = make(change);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << &change - changes;
    EXPECT_FALSE(status.message().empty());
  }
}

}  // namespace
}  // namespace cairn
