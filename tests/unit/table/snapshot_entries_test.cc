// Rows that a transaction changes as they are now, under a snapshot that shows them as they were
// (SnapshotConflicts::kLatest): plain reads find them by each index as the transaction made them.
#include "engine/table/snapshot_entries.h"

#include <gmock/gmock.h>

#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::Row;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The rows are (1, apple, 10, x), (2, banana, 20, x) and (3, cherry, 30, x).
class SnapshotEntriesTest : public TableFixture {
 protected:
  SnapshotEntriesTest() : mine_(database_.get()), others_(database_.get()) {
    InsertCommitted({1, "apple", 10, "x"});
    InsertCommitted({2, "banana", 20, "x"});
    InsertCommitted({3, "cherry", 30, "x"});
    TransactionSettings settings = Explicit(IsolationLevel::kRepeatableRead);
    settings.snapshot_conflicts = SnapshotConflicts::kLatest;
    mine_.Start(settings);
    mine_.EnsureSnapshot();
    others_.Start(Autocommit());
  }

  void Lock(Transaction& transaction, const Row& row) {
    const Record record(description_, row);
    std::string key;
    std::string unpack_info;
    table().primary().codec->EncodeKey(record.data(), 0, &key, &unpack_info);
    ASSERT_TRUE(transaction.Lock(table().primary().family(), key, LockMode::kExclusive).ok());
  }
  void Update(Transaction& transaction, const Row& old_row, const Row& new_row) {
    Lock(transaction, old_row);
    const Record old_record(description_, old_row);
    const Record new_record(description_, new_row);
    const Status updated =
        writer_->Update(&transaction, old_record.data(), new_record.data(), /*hidden_key=*/0);
    ASSERT_TRUE(updated.ok()) << updated.ToString();
  }
  void Delete(Transaction& transaction, const Row& row) {
    Lock(transaction, row);
    const Record record(description_, row);
    ASSERT_TRUE(writer_->Delete(&transaction, record.data(), /*hidden_key=*/0).ok());
  }
  void CommitOthers() { ASSERT_TRUE(others_.Commit(Durability::kSync).ok()); }

  Transaction mine_;
  Transaction others_;
};

TEST_F(SnapshotEntriesTest, AChangedRowIsFoundWhereOthersHaveMovedIt) {
  Update(others_, {2, "banana", 20, "x"}, {2, "zucchini", 5, "x"});
  CommitOthers();
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 2, 3)) << "the snapshot";
  EXPECT_THAT(Ids(mine_, kByB), ElementsAre(1, 2, 3));
  Update(mine_, {2, "zucchini", 5, "x"}, {2, "zucchini", 5, "mine"});
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 3, 2));
  EXPECT_THAT(Ids(mine_, kByB), ElementsAre(2, 1, 3));
  ASSERT_TRUE(mine_.Commit(Durability::kSync).ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SnapshotEntriesTest, ADeletedRowIsGoneWhereTheSnapshotHadIt) {
  Update(others_, {2, "banana", 20, "x"}, {2, "zucchini", 5, "x"});
  CommitOthers();
  Delete(mine_, {2, "zucchini", 5, "x"});
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 3));
  EXPECT_THAT(Ids(mine_, kByB), ElementsAre(1, 3));
  EXPECT_THAT(Ids(mine_, kById), ElementsAre(1, 3));
  ASSERT_TRUE(mine_.Commit(Durability::kSync).ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SnapshotEntriesTest, ARowThatOthersInsertedIsFoundOnceItIsChanged) {
  ASSERT_TRUE(Insert(others_, {4, "date", 15, "x"}).ok());
  CommitOthers();
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 2, 3));
  Update(mine_, {4, "date", 15, "x"}, {4, "date", 15, "mine"});
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Ids(mine_, kByB), ElementsAre(1, 4, 2, 3));
  ASSERT_TRUE(mine_.Commit(Durability::kSync).ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SnapshotEntriesTest, ARowInThePlaceOfADeletedOneIsFoundOnce) {
  Delete(others_, {2, "banana", 20, "x"});
  CommitOthers();
  ASSERT_TRUE(Insert(mine_, {2, "elder", 25, "mine"}).ok());
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 3, 2));
  EXPECT_THAT(Ids(mine_, kByB), ElementsAre(1, 2, 3));
  Delete(mine_, {2, "elder", 25, "mine"});
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 3));
  ASSERT_TRUE(Insert(mine_, {2, "banana", 20, "x"}).ok()) << "as the snapshot has it";
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 2, 3));
  ASSERT_TRUE(mine_.Commit(Durability::kSync).ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SnapshotEntriesTest, ARowThatTakesAnothersKeyIsFoundOnce) {
  Delete(others_, {2, "banana", 20, "x"});
  Update(others_, {3, "cherry", 30, "x"}, {3, "fig", 30, "x"});
  CommitOthers();
  Update(mine_, {3, "fig", 30, "x"}, {2, "fig", 30, "x"});
  EXPECT_THAT(Ids(mine_, kById), ElementsAre(1, 2));
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 2));
  EXPECT_THAT(Ids(mine_, kByB), ElementsAre(1, 2));
  ASSERT_TRUE(mine_.Commit(Durability::kSync).ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SnapshotEntriesTest, WhatIsUndoneShowsTheSnapshotAgain) {
  Update(others_, {2, "banana", 20, "x"}, {2, "zucchini", 5, "x"});
  CommitOthers();
  const Savepoint before = mine_.SetSavepoint();
  Update(mine_, {2, "zucchini", 5, "x"}, {2, "zucchini", 5, "mine"});
  ASSERT_TRUE(mine_.RollbackToSavepoint(before).ok());
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 2, 3));
  EXPECT_THAT(Ids(mine_, kByB), ElementsAre(1, 2, 3));
  Update(mine_, {2, "zucchini", 5, "x"}, {2, "apricot", 5, "mine"});
  Update(mine_, {2, "apricot", 5, "mine"}, {2, "apricot", 35, "mine"});
  EXPECT_THAT(Ids(mine_, kByA), ElementsAre(1, 2, 3));
  EXPECT_THAT(Ids(mine_, kByB), ElementsAre(1, 3, 2));
  ASSERT_TRUE(mine_.Commit(Durability::kSync).ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

// Its batch has what the change makes of the entries, and no more.
TEST_F(SnapshotEntriesTest, ARowThatNobodyChangedIsWrittenAsEver) {
  Update(others_, {2, "banana", 20, "x"}, {2, "zucchini", 5, "x"});
  CommitOthers();
  Update(mine_, {1, "apple", 10, "x"}, {1, "apple", 10, "mine"});
  EXPECT_EQ(mine_.facts().Describe().write_count, 1u);
}

}  // namespace
}  // namespace cairn
