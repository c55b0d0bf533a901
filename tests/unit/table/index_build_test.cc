#include "engine/table/index_build.h"

#include <gmock/gmock.h>

#include "engine/locks/interruptible_mutex.h"
#include "engine/table/rows_per_value.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/prepared_transactions.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class IndexBuildTest : public TableFixture {
 protected:
  explicit IndexBuildTest(Key key = Key::kPrimary)
      : TableFixture("default", key), record_(description_) {}

  void InsertRows(int count) {
    for (int id = 1; id <= count; ++id) {
      InsertCommitted({id, "a" + std::to_string(id % 3), -id, "c" + std::to_string(count - id)});
    }
  }

  // Begins the indexes that were added to description_ since the table was opened.
  void Begin(const std::string& family = "default") {
    const size_t old_count = table_->indexes().size();
    auto begun = dictionary_->BeginIndexes(std::vector<NewIndex>(
        description_.indexes().size() - old_count, NewIndex{IndexKind::kSecondary, family}));
    ASSERT_TRUE(begun.ok()) << begun.status().ToString();
    change_ = {"db.t", {}, std::move(begun).value()};
    auto definition = std::make_shared<TableDefinition>(table_->definition());
    for (const IndexDefinition& index : change_.added) definition->indexes.push_back(index);
    positions_.clear();
    for (uint32_t i = 0; i < definition->indexes.size(); ++i) {
      change_.indexes.push_back(definition->indexes[i].id);
      if (i >= old_count) positions_.push_back(i);
    }
    altered_ = *Table::Open(definition, description_.layout(), description_.indexes());
    Table::RegisterKeyLayouts(altered_, database_.get());
  }

  Status Build(uint64_t buffer_bytes = 1 << 20) {
    IndexBuildSettings settings;
    settings.sort.directory = database_->directory();
    settings.sort.buffer_bytes = buffer_bytes;
    settings.append_checksums = true;
    IndexBuild build(database_.get(), altered_.get(), positions_, settings, record_.data(),
                     /*virtual_columns=*/nullptr);
    const Status built = build.Run();
    duplicate_index_ = build.duplicate_index();
    for (IndexDefinition& index : change_.added) index.built_at = build.built_at();
    return built;
  }

  void Commit() {
    ASSERT_TRUE(dictionary_->ChangeTables({change_}).ok());
    table_ = *Table::Open(dictionary_->Find("db.t"), description_.layout(), description_.indexes());
    writer_ = std::make_unique<TableWriter>(database_.get(), table_.get());
  }

  std::vector<int> IdsBy(uint32_t index) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    return Ids(transaction, index);
  }

  std::vector<std::string> Problems() {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    const auto report = CheckTable(table(), &transaction, record_.data());
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? report->problems : std::vector<std::string>{"failed"};
  }

  std::vector<std::string> UnfinishedFiles() {
    std::vector<std::string> names;
    EXPECT_TRUE(disk_.env()->GetChildren(database_->directory(), &names).ok());
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".tmp"); });
    return names;
  }

  static constexpr uint32_t kAdded = 3;
  Record record_;
  Dictionary::TableChange change_;
  std::vector<uint32_t> positions_;
  std::shared_ptr<const Table> altered_;
  uint32_t duplicate_index_ = 0;
};

class HiddenKeyIndexBuildTest : public IndexBuildTest {
 protected:
  HiddenKeyIndexBuildTest() : IndexBuildTest(Key::kHidden) {}
};

TEST_F(IndexBuildTest, SeveralIndexesOfEveryRow) {
  InsertRows(5);
  InsertCommitted({6, nullptr, nullptr, "c9"});
  description_.UniqueKey(300, {"c"}).Key(301, {"a", "b"});
  Begin();
  ASSERT_TRUE(Build().ok());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
  Commit();
  EXPECT_THAT(IdsBy(kAdded), ElementsAre(5, 4, 3, 2, 1, 6));
  EXPECT_THAT(IdsBy(kAdded + 1), ElementsAre(6, 3, 4, 1, 5, 2));
  EXPECT_THAT(Problems(), IsEmpty());
  InsertCommitted({7, "a", 7, "c5"});
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  EXPECT_EQ(Insert(transaction, {8, "a", 8, "c5"}).code(), StatusCode::kDuplicateKey);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexBuildTest, AnEmptyTable) {
  description_.UniqueKey(300, {"c"});
  Begin();
  ASSERT_TRUE(Build().ok());
  Commit();
  EXPECT_THAT(IdsBy(kAdded), IsEmpty());
  InsertCommitted({1, "a", 1, "c"});
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(HiddenKeyIndexBuildTest, ATableWithoutPrimaryKey) {
  InsertRows(5);
  description_.Key(300, {"c"});
  Begin();
  ASSERT_TRUE(Build().ok());
  Commit();
  EXPECT_THAT(IdsBy(kAdded), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexBuildTest, SortsWithLittleMemoryIntoAReverseFamily) {
  InsertRows(300);
  description_.UniqueKey(300, {"c"});
  Begin("rev:cf");
  ASSERT_TRUE(Build(/*buffer_bytes=*/500).ok());
  EXPECT_THAT(UnfinishedFiles(), IsEmpty());
  Commit();
  EXPECT_EQ(IdsBy(kAdded).size(), 300u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexBuildTest, TheNewIndexHasStatisticsAtOnce) {
  InsertRows(900);
  description_.Key(300, {"a", "c"});
  Begin();
  ASSERT_TRUE(Build().ok());
  Commit();
  const auto rows = RowsPerValue(database_.get(), table().index(kAdded), 900);
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT(*rows, ElementsAre(300, 1));
}

TEST_F(IndexBuildTest, ADuplicateIsFoundWhateverLiesInMemory) {
  InsertRows(100);
  InsertCommitted({101, nullptr, nullptr, "c50"});
  description_.Key(300, {"a"}).UniqueKey(301, {"c"});
  for (const uint64_t buffer_bytes : {uint64_t{200}, uint64_t{1} << 20}) {
    SCOPED_TRACE(buffer_bytes);
    Begin();
    EXPECT_EQ(Build(buffer_bytes).code(), StatusCode::kDuplicateKey);
    EXPECT_EQ(duplicate_index_, kAdded + 1);
    EXPECT_EQ(record_.Data(3), "c50");
    EXPECT_THAT(UnfinishedFiles(), IsEmpty());
    dictionary_->AbandonIndexes(change_.added);
    EXPECT_THAT(dictionary_->PendingDrops(), ElementsAre(change_.added[0].id, change_.added[1].id));
    for (const IndexDefinition& index : change_.added) {
      ASSERT_TRUE(dictionary_->ForgetDroppedIndex(index.id).ok());
    }
  }
  EXPECT_EQ(dictionary_->Find("db.t")->indexes.size(), 3u);
}

TEST_F(IndexBuildTest, NullsAreNoDuplicates) {
  for (const int id : {1, 2, 3}) InsertCommitted({id, nullptr, id, "c"});
  InsertCommitted({4, "", 4, "c"});
  description_.UniqueKey(300, {"c", "a"});
  Begin();
  ASSERT_TRUE(Build().ok());
  Commit();
  EXPECT_THAT(IdsBy(kAdded), ElementsAre(1, 2, 3, 4));
}

TEST_F(IndexBuildTest, AKilledStatementLeavesNoFiles) {
  InsertRows(600);
  description_.Key(300, {"a"}).UniqueKey(301, {"c"});
  Begin();
  int looks = 0;
  for (Status built(StatusCode::kInterrupted); !built.ok(); ++looks) {
    Killer killer(looks);
    const ScopedWaitObserver observer(&killer);
    built = Build(/*buffer_bytes=*/5000);
    EXPECT_TRUE(built.ok() || built.code() == StatusCode::kInterrupted) << built.ToString();
    EXPECT_THAT(UnfinishedFiles(), IsEmpty());
  }
  EXPECT_GT(looks, 5);
  Commit();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexBuildTest, RowsThatAPreparedTransactionChangedAreWaitedFor) {
  InsertRows(3);
  description_.Key(300, {"c"});
  Begin();
  Transaction other(database_.get());
  other.Start(Explicit(IsolationLevel::kReadCommitted));
  ASSERT_TRUE(Insert(other, {4, "a", 4, "x"}).ok());
  EXPECT_EQ(Build().code(), StatusCode::kLockTimeout);
  ASSERT_TRUE(other.Commit(Durability::kSync).ok());
  ASSERT_TRUE(Build().ok());
  Commit();
  EXPECT_THAT(IdsBy(kAdded), ElementsAre(3, 2, 1, 4));
}

TEST_F(HiddenKeyIndexBuildTest, RowsThatAPreparedTransactionInsertedAreWaitedFor) {
  InsertRows(3);
  description_.Key(300, {"c"});
  Begin();
  const TransactionId id{1, "g", "b"};
  {
    Transaction other(database_.get());
    other.Start(Explicit(IsolationLevel::kReadCommitted));
    ASSERT_TRUE(Insert(other, {4, "a", nullptr, "x"}).ok());
    EXPECT_EQ(other.lock_count(), 0u);
    ASSERT_TRUE(other.Prepare(id, Durability::kSync).ok());
  }
  EXPECT_EQ(Build().code(), StatusCode::kLockTimeout);
  const auto locks = std::move(*PreparedLocks::Take(database_.get(), nullptr));
  ASSERT_TRUE(CommitPrepared(database_.get(), locks.get(), id, OnFailure::kRemember).ok());
  ASSERT_TRUE(Build().ok());
  Commit();
  EXPECT_THAT(IdsBy(kAdded), ElementsAre(3, 2, 1, 4));
}

TEST_F(IndexBuildTest, OlderSnapshotsDoNotReadTheNewIndex) {
  InsertRows(3);
  Transaction old(database_.get());
  old.Start(Explicit(IsolationLevel::kRepeatableRead));
  old.PinSnapshot();
  InsertCommitted({4, "a", 4, "x"});
  description_.Key(300, {"c"});
  Begin();
  ASSERT_TRUE(Build().ok());
  Commit();
  const ColumnSet columns = OnlyId();
  CursorAccess access;
  access.index = kAdded;
  access.columns = &columns;
  Cursor cursor(table_.get());
  EXPECT_EQ(cursor.Open(&old, access).code(), StatusCode::kDefinitionTooNew);
  EXPECT_FALSE(cursor.is_open());
  EXPECT_THAT(Ids(old, kById), ElementsAre(1, 2, 3));
  EXPECT_THAT(IdsBy(kAdded), ElementsAre(3, 2, 1, 4));
}

}  // namespace
}  // namespace cairn
