#include "engine/table/table_rebuild.h"

#include <gmock/gmock.h>

#include "engine/locks/interruptible_mutex.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::TestTable;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The columns of TableFixture's table, without keys.
TestTable Columns() {
  using namespace cairn::testing;  // NOLINT(google-build-using-namespace)
  TestTable table;
  table.Int("id").Varchar("a", 20, Latin1Swedish()).Nullable().Int("b").Nullable();
  table.Varchar("c", 30, Utf8mb4General());
  return table;
}

class TableRebuildTest : public TableFixture {
 protected:
  explicit TableRebuildTest(Key key = Key::kPrimary)
      : TableFixture("default", key), record_(description_) {}

  // The rows' order is neither that of `c` nor that of `b`.
  void InsertRows(int count) {
    for (int id = 1; id <= count; ++id) {
      const int turned = id * 7 % (count + 1);
      InsertCommitted({id, "a" + std::to_string(id % 3), -id, TextOf(turned)});
    }
  }
  static std::string TextOf(int number) {
    const std::string digits = std::to_string(number);
    return "c" + std::string(4 - digits.size(), '0') + digits;
  }

  // The table shall have the keys of `wanted`, in `family`.
  void Begin(TestTable wanted, const std::string& family = "default") {
    wanted_ = std::move(wanted);
    std::vector<NewIndex> indexes;
    for (const IndexLayout& index : wanted_.indexes()) indexes.push_back({index.kind, family});
    auto begun = dictionary_->BeginIndexes(indexes);
    ASSERT_TRUE(begun.ok()) << begun.status().ToString();
    change_ = {"db.t", {}, *begun};
    for (const IndexDefinition& index : *begun) change_.indexes.push_back(index.id);
    change_.redefines = true;
    auto definition = std::make_shared<TableDefinition>(table_->definition());
    definition->indexes = *begun;
    altered_ = *Table::Open(definition, wanted_.layout(), wanted_.indexes());
    auto rows = std::make_shared<TableDefinition>(table_->definition());
    rows->indexes.assign(1, table_->primary().definition);
    source_ = *Table::Open(rows, wanted_.layout(), {description_.primary()});
  }

  Status Rebuild(uint64_t buffer_bytes = 1 << 20) {
    IndexBuildSettings settings;
    settings.sort.directory = database_->directory();
    settings.sort.buffer_bytes = buffer_bytes;
    rebuild_.emplace(database_.get(), source_.get(), altered_.get(), settings, record_.data(),
                     /*virtual_columns=*/nullptr);
    return rebuild_->Run();
  }

  void Commit() {
    const Status changed = dictionary_->ChangeTables({change_});
    ASSERT_TRUE(changed.ok()) << changed.ToString();
    description_ = wanted_;
    table_ = *Table::Open(dictionary_->Find("db.t"), wanted_.layout(), wanted_.indexes());
    writer_ = std::make_unique<TableWriter>(database_.get(), table_.get());
  }

  std::vector<int> IdsBy(uint32_t index) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    return Ids(transaction, index);
  }
  std::vector<std::string> UnfinishedFiles() {
    std::vector<std::string> names;
    EXPECT_TRUE(disk_.env()->GetChildren(database_->directory(), &names).ok());
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".tmp"); });
    return names;
  }

  TestTable wanted_;
  Record record_;
  Dictionary::TableChange change_;
  std::shared_ptr<const Table> altered_;
  std::shared_ptr<const Table> source_;
  std::optional<TableRebuild> rebuild_;
};

class HiddenKeyRebuildTest : public TableRebuildTest {
 protected:
  HiddenKeyRebuildTest() : TableRebuildTest(Key::kHidden) {}
};

TEST_F(TableRebuildTest, AnotherPrimaryKeyMovesAllRows) {
  InsertRows(5);
  Begin(Columns().PrimaryKey(400, {"c"}).Key(401, {"b"}).UniqueKey(402, {"id"}));
  EXPECT_FALSE(SameRowOrder(*source_, *altered_));
  ASSERT_TRUE(Rebuild().ok());
  const std::vector<IndexDefinition> old_indexes = table_->definition().indexes;
  Commit();
  EXPECT_THAT(IdsBy(0), ElementsAre(1, 2, 3, 4, 5));  // 1, 2, 3, 4, 5 times 7 modulo 6.
  EXPECT_THAT(IdsBy(1), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(Problems(), IsEmpty());
  for (const IndexDefinition& old_index : old_indexes) {
    EXPECT_TRUE(database_->dropped_indexes().Get()->contains(old_index.id));
  }
}

TEST_F(TableRebuildTest, MoreRowsThanMemoryHolds) {
  InsertRows(500);
  Begin(Columns().PrimaryKey(400, {"c"}).UniqueKey(401, {"b", "a"}));
  ASSERT_TRUE(Rebuild(/*buffer_bytes=*/2000).ok());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
  Commit();
  const std::vector<int> ids = IdsBy(0);
  ASSERT_EQ(ids.size(), 500u);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i] * 7 % 501, static_cast<int>(i) + 1);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(TableRebuildTest, UnderTheSameKeyRowsAreNotSorted) {
  InsertRows(300);
  Begin(Columns().PrimaryKey(400, {"id"}).Key(401, {"c"}));
  EXPECT_TRUE(SameRowOrder(*source_, *altered_));
  ASSERT_TRUE(Rebuild(/*buffer_bytes=*/1000).ok());
  Commit();
  EXPECT_EQ(IdsBy(0).size(), 300u);
  EXPECT_EQ(IdsBy(0).front(), 1);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(TableRebuildTest, IntoAFamilyInReverseOrder) {
  InsertRows(50);
  Begin(Columns().PrimaryKey(400, {"id"}).Key(401, {"c"}), "rev:other");
  ASSERT_TRUE(Rebuild().ok());
  Commit();
  EXPECT_EQ(IdsBy(0).front(), 1);
  EXPECT_EQ(IdsBy(0).size(), 50u);
  EXPECT_THAT(Problems(), IsEmpty());
}

// In one buffer, in one run and in two.
TEST_F(TableRebuildTest, ADuplicateOfThePrimaryKeyIsShown) {
  for (int id = 1; id <= 100; ++id) {
    InsertCommitted({id, nullptr, id, TextOf(id == 90 ? 10 : id == 91 ? 12 : id)});
  }
  for (const uint64_t buffer_bytes : {1u << 20, 2000u, 500u}) {
    // Both rows have the same entry in the index on `a`.
    Begin(Columns().PrimaryKey(400, {"c"}).UniqueKey(401, {"b"}).Key(402, {"a"}));
    EXPECT_EQ(Rebuild(buffer_bytes).code(), StatusCode::kDuplicateKey);
    EXPECT_EQ(rebuild_->duplicate_index(), 0u);
    EXPECT_EQ(record_.Data(3), TextOf(10));
    rebuild_.reset();
    dictionary_->AbandonIndexes(change_.added);
    EXPECT_THAT(UnfinishedFiles(), IsEmpty());
  }
  EXPECT_EQ(IdsBy(kById).size(), 100u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(TableRebuildTest, ADuplicateOfAnotherKeyIsShownWithItsRow) {
  for (int id = 1; id <= 100; ++id) {
    InsertCommitted({id, TextOf(id % 60), id, TextOf(100 - id)});
  }
  for (const char* const key : {"id", "c"}) {
    for (const uint64_t buffer_bytes : {1u << 20, 500u}) {
      Begin(Columns().PrimaryKey(400, {key}).Key(401, {"b"}).UniqueKey(402, {"a"}));
      EXPECT_EQ(Rebuild(buffer_bytes).code(), StatusCode::kDuplicateKey);
      EXPECT_EQ(rebuild_->duplicate_index(), 2u);
      EXPECT_EQ(record_.Data(1), TextOf(1));
      EXPECT_EQ(IdOf(record_) % 60, 1);
      rebuild_.reset();
      dictionary_->AbandonIndexes(change_.added);
    }
  }
}

TEST_F(TableRebuildTest, SeveralNullsInAUniqueKeyAreNoDuplicates) {
  for (int id = 1; id <= 10; ++id) InsertCommitted({id, nullptr, nullptr, TextOf(id)});
  Begin(Columns().PrimaryKey(400, {"c"}).UniqueKey(401, {"b"}));
  EXPECT_TRUE(Rebuild().ok());
}

TEST_F(TableRebuildTest, KilledItLeavesNoFiles) {
  InsertRows(600);
  // How often it looks depends on when its threads are done.
  bool is_killed = true;
  for (int looks = 0; looks < 20 && is_killed; ++looks) {
    Begin(Columns().PrimaryKey(400, {"c"}).Key(401, {"b"}));
    Killer killer(looks);
    const ScopedWaitObserver observer(&killer);
    const Status ended = Rebuild(/*buffer_bytes=*/2000);
    is_killed = !ended.ok();
    EXPECT_EQ(ended.code(), is_killed ? StatusCode::kInterrupted : StatusCode::kOk) << looks;
    EXPECT_TRUE(is_killed || looks > 2) << looks;
    rebuild_.reset();
    EXPECT_THAT(UnfinishedFiles(), IsEmpty());
    dictionary_->AbandonIndexes(change_.added);
  }
}

TEST_F(TableRebuildTest, AutoIncrementGoesWithTheTable) {
  ASSERT_TRUE(dictionary_->SetAutoIncrement(table_->definition(), 77).ok());
  table_->definition().counters->largest_given_value = 5;
  Begin(Columns().PrimaryKey(400, {"c"}));
  ASSERT_TRUE(Rebuild().ok());
  Commit();
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(table_->definition()), 77u);
  EXPECT_EQ(table_->definition().counters->next_auto_increment, 77u);
  EXPECT_EQ(table_->definition().counters->largest_given_value, UINT64_MAX);
}

TEST_F(TableRebuildTest, OlderSnapshotsGetAnError) {
  InsertRows(3);
  Transaction older(database_.get());
  older.Start(Explicit(IsolationLevel::kRepeatableRead));
  older.EnsureSnapshot();
  InsertCommitted({9, nullptr, 9, "later"});
  Begin(Columns().PrimaryKey(400, {"c"}));
  ASSERT_TRUE(Rebuild().ok());
  Commit();
  EXPECT_EQ(table_->CheckDefinition(older, 0).code(), StatusCode::kDefinitionTooNew);
}

TEST_F(TableRebuildTest, NullIsFound) {
  InsertRows(300);
  const auto find = [this](const std::vector<uint32_t>& columns) {
    return FindNull(database_.get(), *table_, columns, ExpiredRows::kStay,
                    IndexCodec::Checksums::kIgnore, record_.data());
  };
  EXPECT_EQ(*find({1, 2}), std::nullopt);
  InsertCommitted({301, "a", nullptr, "c"});
  EXPECT_EQ(*find({1, 2}), (NullValue{2, 301}));
  EXPECT_EQ(*find({1}), std::nullopt);
  Killer killer(0);
  const ScopedWaitObserver observer(&killer);
  EXPECT_EQ(find({1}).status().code(), StatusCode::kInterrupted);
}

TEST_F(HiddenKeyRebuildTest, KeepsItsNumbers) {
  InsertRows(20);
  Begin(Columns().Key(400, {"c"}).HiddenKey(401));
  ASSERT_TRUE(Rebuild().ok());
  Commit();
  InsertCommitted({21, "a", 21, "z"});
  EXPECT_EQ(IdsBy(1).back(), 21);
  EXPECT_EQ(IdsBy(1).size(), 21u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(HiddenKeyRebuildTest, GetsAPrimaryKey) {
  InsertRows(22);
  Begin(Columns().PrimaryKey(400, {"c"}).UniqueKey(401, {"b"}));
  ASSERT_TRUE(Rebuild().ok());
  Commit();
  EXPECT_EQ(IdsBy(0).size(), 22u);
  EXPECT_EQ(IdsBy(1).front(), 22);
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace cairn
