// A table whose rows have several layouts.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/codec/layout_history.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::Row;
using cairn::testing::TestTable;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The table of the fixture, to which `d INT NOT NULL DEFAULT 5` is added behind its `id`.
class RowLayoutsTest : public TableFixture {
 protected:
  RowLayoutsTest() {
    altered_.Int("id")
        .Int("d")
        .Varchar("a", 20, testing::Latin1Swedish())
        .Nullable()
        .Int("b")
        .Nullable()
        .Varchar("c", 30, testing::Utf8mb4General())
        .PrimaryKey(256, {"id"})
        .UniqueKey(257, {"b"})
        .Key(258, {"a"});
    definition_ = std::make_shared<TableDefinition>(table().definition());
    definition_->indexes[0].info.features = kFeatureRowLayouts;
    definition_->indexes[0].history = AddedColumn();
  }

  std::shared_ptr<const LayoutHistory> AddedColumn() const {
    const auto before = LayoutHistory::Begin(
        *IndexCodec::DescribeRow(description_.layout(), description_.primary()));
    const AbsentImage five = {AbsentImage::Kind::kBytes, std::string("\5\0\0\0", 4)};
    return std::make_shared<const LayoutHistory>(
        *before->Next(*IndexCodec::DescribeRow(altered_.layout(), altered_.primary()),
                      {{0}, {std::nullopt, five}, {1}, {2}, {3}}));
  }

  Result<std::shared_ptr<const Table>> Open() const {
    return Table::Open(definition_, altered_.layout(), altered_.indexes());
  }

  // All rows of the altered table, by the primary key.
  std::vector<std::string> Rows(const Table& table) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    Cursor cursor(&table);
    const ColumnSet columns(5, true);
    CursorAccess access;
    access.index = 0;
    access.columns = &columns;
    EXPECT_TRUE(cursor.Open(&transaction, access).ok());
    Record record(altered_);
    std::vector<std::string> rows;
    Status read = cursor.ReadFirst(record.data());
    for (; read.ok(); read = cursor.ReadNext(record.data())) {
      rows.push_back(record.ToString(columns));
    }
    EXPECT_EQ(read.code(), StatusCode::kEndOfRange) << read.ToString();
    return rows;
  }
  std::string Text(const Row& row) const {
    return Record(altered_, row).ToString(ColumnSet(5, true));
  }

  TestTable altered_;
  std::shared_ptr<TableDefinition> definition_;
};

TEST_F(RowLayoutsTest, OldAndNewRowsAreReadChangedAndChecked) {
  for (int id = 1; id <= 3; ++id) InsertCommitted({id, "x", id, "y"});
  const auto table = Open();
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_THAT(Rows(**table), ElementsAre(Text({1, 5, "x", 1, "y"}), Text({2, 5, "x", 2, "y"}),
                                         Text({3, 5, "x", 3, "y"})));
  TableWriter writer(database_.get(), table->get());
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  const Record old_row(altered_, {2, 5, "x", 2, "y"});
  const Record same(altered_, {2, 5, "x", 2, "y"});
  const Record changed(altered_, {2, 6, nullptr, 2, "y"});
  EXPECT_EQ(writer.Update(&transaction, old_row.data(), same.data(), 0).code(),
            StatusCode::kUnchanged);
  ASSERT_TRUE(writer.Update(&transaction, old_row.data(), changed.data(), 0).ok());
  const Record third(altered_, {3, 5, "x", 3, "y"});
  ASSERT_TRUE(writer.Delete(&transaction, third.data(), 0).ok());
  const Record fourth(altered_, {4, 7, "z", 4, "w"});
  ASSERT_TRUE(writer.Insert(&transaction, fourth.data()).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_THAT(Rows(**table), ElementsAre(Text({1, 5, "x", 1, "y"}), Text({2, 6, nullptr, 2, "y"}),
                                         Text({4, 7, "z", 4, "w"})));
  EXPECT_THAT(ProblemsOf(**table, database_.get(), altered_), IsEmpty());
}

TEST_F(RowLayoutsTest, HistoryAndFeatureComeTogether) {
  definition_->indexes[0].history = nullptr;
  EXPECT_EQ(Open().status().code(), StatusCode::kMetadataMismatch);
  definition_->indexes[0].history = AddedColumn();
  definition_->indexes[0].info.features = 0;
  EXPECT_EQ(Open().status().code(), StatusCode::kMetadataMismatch);
}

TEST_F(RowLayoutsTest, AHistoryOfAnotherTableIsRefused) {
  EXPECT_EQ(Table::Open(definition_, description_.layout(), description_.indexes()).status().code(),
            StatusCode::kMetadataMismatch);
}

// A row may have been put over another one, which a SingleDelete would uncover.
TEST_F(RowLayoutsTest, ARowIsNotRemovedBySingleDelete) {
  const TestTable only_key = TestTable().Int("id").PrimaryKey(256, {"id"});
  const auto created = dictionary_->CreateTable("db.k", {{IndexKind::kPrimary}}, std::nullopt);
  ASSERT_TRUE(created.ok());
  const auto plain = Table::Open(*created, only_key.layout(), only_key.indexes());
  ASSERT_TRUE(plain.ok());
  EXPECT_TRUE((*plain)->all_columns_in_primary_key());
  auto definition = std::make_shared<TableDefinition>(**created);
  definition->indexes[0].info.features = kFeatureRowLayouts;
  definition->indexes[0].history = std::make_shared<const LayoutHistory>(
      *LayoutHistory::Begin(*IndexCodec::DescribeRow(only_key.layout(), only_key.primary())));
  const auto altered = Table::Open(definition, only_key.layout(), only_key.indexes());
  ASSERT_TRUE(altered.ok()) << altered.status().ToString();
  EXPECT_FALSE((*altered)->all_columns_in_primary_key());
}

}  // namespace
}  // namespace cairn
