#include "engine/codec/foreign_key_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"
#include "tests/unit/codec/foreign_key_columns.h"
#include "tests/unit/codec/random_table.h"
#include "tests/unit/codec/test_collations.h"

namespace cairn::testing {
namespace {

constexpr uint32_t kSearched = 0x102;

// Two tables with columns of the same types, of which one has an index on them.
struct Sides {
  TestTable from;
  TestTable to;
  std::vector<uint32_t> from_columns;
  std::vector<uint32_t> to_columns;

  const IndexLayout& index() const {
    return *std::find_if(to.indexes().begin(), to.indexes().end(),
                         [](const IndexLayout& index) { return index.index_number == kSearched; });
  }
  Result<ForeignKeySearch> Search() const {
    return ForeignKeySearch::Make({from.layout(), from_columns}, {to.layout(), to_columns},
                                  to.primary(), index());
  }
};

// The columns are a primary key, a key, a part of one, or a key with the primary key behind it.
void AddRandomIndex(const std::vector<Part>& parts, Sides* sides, Random* random) {
  TestTable& to = sides->to;
  switch (random->Below(5)) {
    case 0:
      to.PrimaryKey(kSearched, parts);
      break;
    case 1:
      to.PrimaryKey(0x101, {"id"}).UniqueKey(kSearched, parts);
      break;
    case 2: {
      std::vector<Part> more = parts;
      more.push_back("id");
      to.HiddenKey(0x101).Key(kSearched, more);
      break;
    }
    default: {
      // What the index lacks comes from the primary key, which may repeat what it has.
      const size_t own = random->Between(1, parts.size());
      const std::vector<Part> rest(parts.begin() + static_cast<ptrdiff_t>(own), parts.end());
      const bool repeats = random->OneIn(2);
      std::vector<Part> key = repeats ? parts : rest;
      if (key.empty()) key.push_back("id");
      to.PrimaryKey(0x101, key)
          .Key(kSearched, {parts.begin(), parts.begin() + static_cast<ptrdiff_t>(own)});
    }
  }
  if (random->OneIn(2)) {
    to.CairnFormat([&] { return random->OneIn(3); });
  } else {
    const auto version = static_cast<uint16_t>(random->Between(10, 13));
    to.FormatVersion([&] { return random->OneIn(4) ? uint16_t{13} : version; });
  }
}

Sides RandomSides(Random* random) {
  Sides sides;
  sides.from.Int("x");
  sides.to.Int("id");
  std::vector<Part> parts;
  for (size_t i = 0; i < random->Between(1, 3); ++i) {
    const std::string name = "c" + std::to_string(i);
    const ForeignKeyType type = RandomForeignKeyType(random);
    AddForeignKeyColumn(type, name, &sides.from, random);
    AddForeignKeyColumn(type, name, &sides.to, random);
    if (random->OneIn(3)) sides.from.Nullable();
    parts.push_back(name);
    sides.from_columns.push_back(static_cast<uint32_t>(i + 1));
    sides.to_columns.push_back(static_cast<uint32_t>(i + 1));
  }
  AddRandomIndex(parts, &sides, random);
  return sides;
}

Row RandomForeignKeyRow(const TestTable& table, Random* random) {
  Row row;
  for (const ColumnLayout& column : table.layout().columns) {
    row.push_back(RandomForeignKeyValue(column, random));
  }
  return row;
}

bool RowsAreEqual(const Sides& sides, const Record& from, const Record& to) {
  for (size_t i = 0; i < sides.from_columns.size(); ++i) {
    const uint32_t a = sides.from_columns[i];
    const uint32_t b = sides.to_columns[i];
    if (!EqualInSql(sides.from.layout().columns[a], from.Data(a), sides.to.layout().columns[b],
                    to.Data(b))) {
      return false;
    }
  }
  return true;
}

struct Found {
  int equal = 0;
  int missed_by_fit = 0;
  int exact = 0;
  int covering = 0;
};

void SearchRandomRows(const Sides& sides, const ForeignKeySearch& search, Found* found,
                      Random* random) {
  const auto codec = sides.to.Codec(sides.index());
  ASSERT_NE(codec, nullptr);
  for (int j = 0; j < 40 && !::testing::Test::HasFailure(); ++j) {
    const Record from(sides.from, RandomForeignKeyRow(sides.from, random));
    const Record to(sides.to, RandomForeignKeyRow(sides.to, random));
    SCOPED_TRACE(from.ToString(ColumnSet(sides.from.layout().columns.size(), true)) + " | " +
                 to.ToString(ColumnSet(sides.to.layout().columns.size(), true)));
    std::string key;
    std::string prefix;
    std::string unpack_info;
    codec->EncodeKey(to.data(), random->Bits(), &key, &unpack_info);
    const bool fits = search.EncodePrefix(from.data(), &prefix);
    const bool equal = RowsAreEqual(sides, from, to);
    found->equal += equal;
    found->missed_by_fit += !fits;
    if (equal) {
      EXPECT_TRUE(fits);
      EXPECT_TRUE(key.starts_with(prefix)) << ToHex(key) << " lacks " << ToHex(prefix);
    } else if (search.is_exact() && fits) {
      EXPECT_FALSE(key.starts_with(prefix)) << ToHex(key) << " has " << ToHex(prefix);
    }
    if (equal && search.is_whole_key()) {
      EXPECT_EQ(key, prefix);
    }
    std::string unique_prefix;
    if (equal && search.is_unique_value()) {
      ASSERT_TRUE(codec->EncodeUniquePrefix(to.data(), &unique_prefix));
      EXPECT_EQ(prefix, unique_prefix);
    }
  }
}

TEST(ForeignKeySearch, FindsEveryEqualValueAndNoOtherWhereItIsExact) {
  Random random;
  Found found;
  for (int i = 0; i < 3000 && !::testing::Test::HasFailure(); ++i) {
    const Sides sides = RandomSides(&random);
    SCOPED_TRACE(Describe(sides.from) + Describe(sides.to));
    const Result<ForeignKeySearch> search = sides.Search();
    ASSERT_TRUE(search.ok()) << search.status().ToString();
    found.exact += search->is_exact();
    found.covering += search->covers_value();
    SearchRandomRows(sides, *search, &found, &random);
  }
  EXPECT_GT(found.equal, 2000);
  EXPECT_GT(found.missed_by_fit, 200);
  EXPECT_GT(found.exact, 1000);
  EXPECT_GT(found.covering, found.exact);
}

Sides SidesOf(const std::function<void(TestTable*)>& from,
              const std::function<void(TestTable*)>& to, bool cairn) {
  Sides sides;
  from(&sides.from);
  to(&sides.to);
  sides.to.Key(kSearched, {"c"}).HiddenKey(0x101);
  if (cairn) sides.to.CairnFormat([] { return false; });
  sides.from_columns = sides.to_columns = {0};
  return sides;
}

// "none" where no row can have the value.
std::string PrefixOf(const Sides& sides, const Row& row) {
  const Result<ForeignKeySearch> search = sides.Search();
  EXPECT_TRUE(search.ok()) << search.status().ToString();
  std::string prefix;
  return search->EncodePrefix(Record(sides.from, row).data(), &prefix) ? ToHex(prefix) : "none";
}

TEST(ForeignKeySearch, ALongerValueIsSearchedIfOnlySpacesExceedTheColumn) {
  for (const bool cairn : {false, true}) {
    const Sides sides = SidesOf([](TestTable* t) { t->Varchar("c", 300, Latin1Swedish()); },
                                [](TestTable* t) { t->Char("c", 2, Latin1Swedish()); }, cairn);
    EXPECT_EQ(PrefixOf(sides, {"ab     "}), "000001024142");
    EXPECT_EQ(PrefixOf(sides, {"a"}), "000001024120");
    EXPECT_EQ(PrefixOf(sides, {"abc"}), "none");
  }
}

TEST(ForeignKeySearch, AShorterColumnHasLongerValuesThatAreEqual) {
  // ß is ss: VARCHAR(1) can have the value of a CHAR(2).
  const Sides sides = SidesOf([](TestTable* t) { t->Char("c", 2, Utf8mb4Unicode()); },
                              [](TestTable* t) { t->Varchar("c", 1, Utf8mb4Unicode()); }, true);
  std::string key;
  std::string unpack_info;
  sides.to.Codec(kSearched)->EncodeKey(Record(sides.to, {"\xc3\x9f"}).data(), 1, &key,
                                       &unpack_info);
  EXPECT_TRUE(ToHex(key).starts_with(PrefixOf(sides, {"ss"})));
}

TEST(ForeignKeySearch, LevelsOfTheStockFormatAreNotCovered) {
  const auto column = [](TestTable* t) { t->Varchar("c", 10, Utf8mb4AsCs()); };
  const Sides stock = SidesOf(column, column, false);
  EXPECT_EQ(PrefixOf(stock, {"ab"}), "00000102");
  EXPECT_FALSE(stock.Search()->covers_value());
  EXPECT_FALSE(stock.Search()->is_exact());
  EXPECT_TRUE(SidesOf(column, column, true).Search()->is_exact());
}

TEST(ForeignKeySearch, AnIndexStartsWithItsOwnColumnsThenThoseOfThePrimaryKey) {
  TestTable table;
  table.Int("a").Int("b").Varchar("c", 20, Latin1Bin()).Int("d");
  table.PrimaryKey(0x100, {"a", "b"}).Key(0x101, {"d", "a"}).Key(0x102, {Part("c", 5), "d"});
  const auto starts = [&](size_t index, const std::vector<uint32_t>& columns) {
    return IndexStartsWith(table.primary(), table.indexes()[index], columns);
  };
  EXPECT_TRUE(starts(0, {0}));
  EXPECT_TRUE(starts(0, {0, 1}));
  EXPECT_FALSE(starts(0, {1, 0}));
  EXPECT_FALSE(starts(0, {0, 1, 3}));
  EXPECT_TRUE(starts(1, {3}));
  EXPECT_TRUE(starts(1, {3, 0, 1}));
  EXPECT_FALSE(starts(1, {3, 1}));
  EXPECT_FALSE(starts(2, {2})) << "a prefix of it";
  EXPECT_FALSE(starts(2, {2, 3}));
}

TEST(ForeignKeySearch, ColumnsThatDoNotFitAreRefused) {
  const auto number = [](TestTable* t) { t->Int("c"); };
  const auto code = [](const Sides& sides) { return sides.Search().status().code(); };
  EXPECT_EQ(code(SidesOf(
                number, [](TestTable* t) { t->Int("c", 8); }, true)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(SidesOf(
                number, [](TestTable* t) { t->Unsigned("c"); }, true)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(SidesOf([](TestTable* t) { t->Varchar("c", 9, Latin1Bin()); },
                         [](TestTable* t) { t->Varchar("c", 9, Latin1Swedish()); }, true)),
            StatusCode::kInvalidArgument);
}

TEST(ForeignKeySearch, RowsOfThePastAreNotFound) {
  const std::string never("\x7f\xff\xff\xff\x0f\x42\x3f", 7);
  const std::string past("\x50\0\0\0\0\0\1", 7);
  Sides sides;
  sides.from.Int("c");
  sides.to.Int("id").Image("start", 7).Image("end", 7);
  sides.to.PrimaryKey(0x101, {"id", "end"})
      .UniqueKey(kSearched, {"id", "end"})
      .Key(0x103, {"id"})
      .CairnFormat([] { return false; });
  const auto validity = std::make_shared<ValidityColumns>();
  validity->start = 1;
  validity->end = 2;
  validity->end_offset = sides.to.layout().columns[2].offset;
  validity->never = never;
  sides.to.mutable_layout().validity = validity;
  sides.from_columns = sides.to_columns = {0};
  const Record from(sides.from, {std::string("\5\0\0\0", 4)});
  const auto row = [&](const std::string& end) {
    return Record(sides.to, {std::string("\5\0\0\0", 4), past, end});
  };
  EXPECT_TRUE(sides.to.layout().IsPast(row(past).data()));
  EXPECT_FALSE(sides.to.layout().IsPast(row(never).data()));
  for (const IndexLayout& index : sides.to.indexes()) {
    SCOPED_TRACE(index.index_number);
    const auto search = ForeignKeySearch::Make({sides.from.layout(), {0}}, {sides.to.layout(), {0}},
                                               sides.to.primary(), index);
    ASSERT_TRUE(search.ok());
    const bool has_end = index.parts.size() == 2;
    EXPECT_EQ(search->is_exact(), has_end);
    EXPECT_EQ(search->is_unique_value(), has_end);
    EXPECT_EQ(search->is_whole_key(), has_end && index.kind == IndexKind::kPrimary);
    std::string prefix;
    ASSERT_TRUE(search->EncodePrefix(from.data(), &prefix));
    std::string key;
    std::string unpack_info;
    const auto codec = sides.to.Codec(index);
    codec->EncodeKey(row(never).data(), 0, &key, &unpack_info);
    EXPECT_TRUE(key.starts_with(prefix));
    codec->EncodeKey(row(past).data(), 0, &key, &unpack_info);
    EXPECT_EQ(key.starts_with(prefix), !has_end);
  }
  // Nor are they equal to anything.
  const auto columns = ForeignKeyColumns::Make(sides.to.layout(), {0});
  ASSERT_TRUE(columns.ok());
  EXPECT_TRUE(columns->HasNull(row(past).data()));
  EXPECT_FALSE(columns->HasNull(row(never).data()));
  EXPECT_TRUE(columns->BytesDiffer(row(never).data(), row(past).data()));
  EXPECT_FALSE(HaveEqualValues(*columns, row(never).data(), *columns, row(past).data()));
  EXPECT_TRUE(HaveEqualValues(*columns, row(never).data(), *columns, row(never).data()));
}

}  // namespace
}  // namespace cairn::testing
