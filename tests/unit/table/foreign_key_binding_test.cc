#include "engine/table/foreign_key_binding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/codec/foreign_key_search.h"
#include "engine/codec/format_version.h"
#include "engine/table/ordered_iterator.h"
#include "tests/unit/codec/foreign_key_columns.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::AddForeignKeyColumn;
using cairn::testing::EqualInSql;
using cairn::testing::ForeignKeyType;
using cairn::testing::Latin1Bin;
using cairn::testing::Latin1Swedish;
using cairn::testing::Part;
using cairn::testing::Random;
using cairn::testing::RandomForeignKeyType;
using cairn::testing::RandomForeignKeyValue;
using cairn::testing::Record;
using cairn::testing::Row;
using cairn::testing::TestTable;
using Problem = ForeignKeyBinding::Problem;

ForeignKeyBinding Bind(const TestTable& table, const std::vector<std::string>& names) {
  std::vector<const IndexLayout*> indexes;
  uint32_t primary = 0;
  for (const IndexLayout& index : table.indexes()) {
    if (index.kind != IndexKind::kSecondary) primary = static_cast<uint32_t>(indexes.size());
    indexes.push_back(&index);
  }
  return BindForeignKeyColumns(table.layout(), indexes, primary, names);
}

TEST(ForeignKeyBinding, TakesTheFirstIndexInKeyOrderThatStartsWithTheColumns) {
  TestTable table;
  table.Int("id").Int("a").Int("b").Varchar("c", 20, Latin1Bin());
  table.PrimaryKey(256, {"id"})
      .UniqueKey(257, {"b", "a"})
      .Key(258, {"a", "c"})
      .Key(259, {"a"})
      .Key(260, {Part("c", 3)});
  EXPECT_EQ(Bind(table, {"a"}).index, 2u);
  EXPECT_EQ(Bind(table, {"a", "b"}).problem, Problem::kNoIndex);
  const ForeignKeyBinding with_primary = Bind(table, {"a", "id"});
  ASSERT_TRUE(with_primary.ok());
  EXPECT_EQ(with_primary.index, 3u);
  EXPECT_EQ(with_primary.columns, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(Bind(table, {"id"}).index, 0u);
  EXPECT_EQ(Bind(table, {"c"}).problem, Problem::kNoIndex) << "a prefix of it";
}

TEST(ForeignKeyBinding, AHiddenKeyHasNoColumns) {
  TestTable table;
  table.Int("a").Int("b").Key(257, {"a"}).HiddenKey(256);
  EXPECT_EQ(Bind(table, {"a"}).index, 0u);
  EXPECT_EQ(Bind(table, {"a", "b"}).problem, Problem::kNoIndex);
}

TEST(ForeignKeyBinding, SaysWhichColumnIsTheProblem) {
  TestTable table;
  table.Int("a").Blob("t", 2, Latin1Bin()).Int("v").PrimaryKey(256, {"a"});
  table.mutable_layout().columns[2].is_virtual = true;
  const auto problem = [&](const std::vector<std::string>& names) {
    const ForeignKeyBinding binding = Bind(table, names);
    return std::pair(binding.problem, binding.problem_column);
  };
  EXPECT_EQ(problem({"a", "x"}), std::pair(Problem::kNoColumn, 1u));
  EXPECT_EQ(problem({"t"}), std::pair(Problem::kBlobColumn, 0u));
  EXPECT_EQ(problem({"a", "v"}), std::pair(Problem::kVirtualColumn, 1u));
}

TEST(ForeignKeyBinding, TypesFitIfTheirValuesCanBeEqual) {
  TestTable table;
  table.Int("i4").Int("i8", 8).Unsigned("u4").Image("d5", 5).Image("d4", 4);
  table.Char("c", 5, Latin1Swedish()).Varchar("v", 300, Latin1Swedish());
  table.Varchar("b", 5, Latin1Bin()).Char("x", 4, cairn::testing::Binary());
  table.Varchar("y", 9, cairn::testing::Binary()).Blob("t", 2, Latin1Swedish());
  const auto fit = [&](const char* a, const char* b, const char* detail = "",
                       const char* other_detail = "") {
    const auto& columns = table.layout().columns;
    return ForeignKeyTypesFit({columns[table.ColumnNumber(a)], detail},
                              {columns[table.ColumnNumber(b)], other_detail});
  };
  EXPECT_TRUE(fit("i4", "i4"));
  EXPECT_FALSE(fit("i4", "i8"));
  EXPECT_FALSE(fit("i4", "u4"));
  EXPECT_FALSE(fit("d5", "d4"));
  EXPECT_TRUE(fit("d5", "d5", "datetime(0)", "datetime(0)"));
  EXPECT_FALSE(fit("d5", "d5", "datetime(0)", "decimal(10,2)"));
  EXPECT_TRUE(fit("c", "v"));
  EXPECT_FALSE(fit("b", "v"));
  EXPECT_TRUE(fit("x", "y"));
  EXPECT_FALSE(fit("x", "c"));
  EXPECT_FALSE(fit("t", "t"));
  EXPECT_FALSE(fit("i4", "c"));
}

// A parent or child in a database, with rows that a TableWriter has written.
class ForeignKeyRowsTest : public ::testing::TestWithParam<std::string> {
 protected:
  ForeignKeyRowsTest() {
    DatabaseOptions options = disk_.Options();
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    database_ = std::move(*Database::Open(std::move(options), &disk_.log()));
    dictionary_ = std::move(*Dictionary::Load(database_.get()));
  }

  std::shared_ptr<const Table> Create(TestTable* description) {
    std::vector<NewIndex> indexes;
    for (const IndexLayout& index : description->indexes()) {
      NewIndex index_of;
      index_of.kind = index.kind;
      index_of.family_name = GetParam();
      index_of.format_version = index.format_version;
      indexes.push_back(index_of);
    }
    const auto definition =
        dictionary_->CreateTable("db.t" + std::to_string(++tables_), indexes, std::nullopt);
    EXPECT_TRUE(definition.ok()) << definition.status().ToString();
    auto table = Table::Open(*definition, description->layout(), description->indexes());
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    return std::move(table).value();
  }

  // The `id`s of rows that the search finds and that, where it asks for that, compare equal.
  std::set<int> Search(const Table& table, const ForeignKeyBinding& binding,
                       const ForeignKeySearch& search, const ForeignKeyColumns& from,
                       const Record& record, const std::vector<Record>& rows) {
    std::set<int> ids;
    std::string prefix;
    if (!search.EncodePrefix(record.data(), &prefix)) return ids;
    Result<ForeignKeyColumns> to = ForeignKeyColumns::Make(table.layout(), binding.columns);
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    const TableIndex& index = table.index(binding.index);
    std::map<std::string, int, std::less<>> id_of_key;
    std::string key;
    std::string unpack_info;
    for (size_t i = 0; i < rows.size(); ++i) {
      index.codec->EncodeKey(rows[i].data(), 0, &key, &unpack_info);
      id_of_key[key] = static_cast<int>(i);
    }
    OrderedIterator iterator(index.definition, &transaction, Transaction::View::kLatest);
    for (iterator.SeekAtOrAfter(prefix); iterator.Valid() && iterator.key().starts_with(prefix);
         iterator.Next()) {
      const auto found = id_of_key.find(iterator.key());
      if (found == id_of_key.end()) {
        ADD_FAILURE() << "an entry of no row";
        continue;
      }
      const Record& row = rows[static_cast<size_t>(found->second)];
      if (search.is_exact() || HaveEqualValues(from, record.data(), *to, row.data())) {
        ids.insert(found->second);
      }
    }
    EXPECT_TRUE(iterator.status().ok());
    return ids;
  }

  void SearchRandomTable(Random* random);

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  int tables_ = 0;
  size_t found_ = 0;
};

// A table `to` with an index on columns of the types that `from` has.
struct RandomSides {
  TestTable to;
  TestTable from;
  std::vector<std::string> names;
  std::vector<uint32_t> from_columns;
};

RandomSides MakeSides(Random* random) {
  RandomSides sides;
  sides.to.Int("id");
  std::vector<Part> parts;
  const size_t columns = random->Between(1, 2);
  for (uint32_t i = 0; i < columns; ++i) {
    const std::string name = "c" + std::to_string(i);
    const ForeignKeyType type = RandomForeignKeyType(random);
    AddForeignKeyColumn(type, name, &sides.to, random);
    AddForeignKeyColumn(type, name, &sides.from, random);
    sides.names.push_back(name);
    sides.from_columns.push_back(i);
    parts.emplace_back(name);
  }
  std::vector<Part> key = parts;
  key.emplace_back("id");
  const bool behind = columns == 2 && random->OneIn(2);
  sides.to.PrimaryKey(256, behind ? std::vector<Part>{parts[1], "id"} : std::vector<Part>{"id"});
  sides.to.Key(257, behind ? std::vector<Part>{parts[0]} : random->OneIn(2) ? key : parts);
  if (random->OneIn(2)) sides.to.CairnFormat([&] { return random->OneIn(2); });
  return sides;
}

// Random values of all columns but those that `row` has already.
Row Filled(const TestTable& table, Row row, Random* random) {
  const auto& columns = table.layout().columns;
  while (row.size() < columns.size()) {
    row.push_back(RandomForeignKeyValue(columns[row.size()], random));
  }
  return row;
}

std::set<int> EqualRows(const RandomSides& sides, const Record& record,
                        const std::vector<Record>& rows) {
  std::set<int> ids;
  for (size_t id = 0; id < rows.size(); ++id) {
    const bool equal =
        std::all_of(sides.from_columns.begin(), sides.from_columns.end(), [&](uint32_t column) {
          return EqualInSql(sides.from.layout().columns[column], record.Data(column),
                            sides.to.layout().columns[column + 1], rows[id].Data(column + 1));
        });
    if (equal) ids.insert(static_cast<int>(id));
  }
  return ids;
}

void ForeignKeyRowsTest::SearchRandomTable(Random* random) {
  RandomSides sides = MakeSides(random);
  const std::shared_ptr<const Table> table = Create(&sides.to);
  TableWriter writer(database_.get(), table.get());
  std::vector<Record> rows;
  Transaction transaction(database_.get());
  transaction.Start(TransactionSettings());
  for (int id = 0; id < 40; ++id) {
    rows.emplace_back(sides.to, Filled(sides.to, {id}, random));
    ASSERT_TRUE(writer.Insert(&transaction, rows.back().data()).ok());
  }
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());

  const ForeignKeyBinding binding = BindForeignKeyColumns(*table, sides.names);
  ASSERT_TRUE(binding.ok());
  ASSERT_EQ(binding.index, 1u);
  const auto search = ForeignKeySearch::Make(
      {sides.from.layout(), sides.from_columns}, {table->layout(), binding.columns},
      table->primary().layout(), table->index(binding.index).layout());
  ASSERT_TRUE(search.ok()) << search.status().ToString();
  const auto from = ForeignKeyColumns::Make(sides.from.layout(), sides.from_columns);
  for (int i = 0; i < 20; ++i) {
    const Record record(sides.from, Filled(sides.from, {}, random));
    const std::set<int> expected = EqualRows(sides, record, rows);
    found_ += expected.size();
    EXPECT_EQ(Search(*table, binding, *search, *from, record, rows), expected);
  }
}

TEST_P(ForeignKeyRowsTest, ASearchFindsTheRowsWithTheValueAndNoOthers) {
  Random random;
  for (int i = 0; i < 60 && !HasFailure(); ++i) SearchRandomTable(&random);
  EXPECT_GT(found_, 1000u) << "values that no row has show nothing";
}

INSTANTIATE_TEST_SUITE_P(Families, ForeignKeyRowsTest, ::testing::Values("default", "rev:cf"));

}  // namespace
}  // namespace cairn
