#include "engine/table/table_writer.h"

#include <gmock/gmock.h>

#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::Row;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TableWriterTest : public TableFixture {
 protected:
  Status Update(Transaction& transaction, const Row& old_row, const Row& new_row) {
    const Record old_record(description_, old_row);
    const Record new_record(description_, new_row);
    return writer_->Update(&transaction, old_record.data(), new_record.data(), 0);
  }
};

TEST_F(TableWriterTest, DuplicatePrimaryKeyIsRefusedAndLeavesNothing) {
  InsertCommitted({1, "a", 10, "x"});
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(Insert(transaction, {1, "b", 20, "y"}).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(writer_->duplicate_index(), kById);
  EXPECT_FALSE(transaction.has_writes());
}

// A row that should not be there shows whether anybody looks for it.
TEST_F(TableWriterTest, AKeyThatTheCounterHandedOutIsLookedForOnlyWhereSomebodyMayHaveGivenIt) {
  InsertCommitted({1, "a", 10, "x"});
  TableCounters& counters = *table().definition().counters;
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kReadCommitted));
  writer_->SetHandedOutKey(1);
  for (const uint64_t given : {UINT64_MAX, uint64_t{7}, uint64_t{1}}) {  // The first: unknown.
    counters.largest_given_value = given;
    EXPECT_EQ(Insert(transaction, {1, "b", 20, "y"}).code(), StatusCode::kDuplicateKey);
  }
  counters.largest_given_value = 0;
  writer_->SetHandedOutKey(0);
  EXPECT_EQ(Insert(transaction, {1, "b", 20, "y"}).code(), StatusCode::kDuplicateKey);
  writer_->SetHandedOutKey(1);
  EXPECT_TRUE(Insert(transaction, {1, "b", 20, "y"}).ok());
  EXPECT_EQ(transaction.lock_count(), 2u);  // With that of the unique value.
}

TEST_F(TableWriterTest, DuplicateUniqueValueIsRefusedAndNullsAreNot) {
  InsertCommitted({1, "a", 10, "x"});
  InsertCommitted({2, "a", nullptr, "x"});
  InsertCommitted({3, "a", nullptr, "x"});
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(Insert(transaction, {4, "b", 10, "y"}).code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(writer_->duplicate_index(), kByB);
  EXPECT_EQ(Update(transaction, {2, "a", nullptr, "x"}, {2, "a", 10, "x"}).code(),
            StatusCode::kDuplicateKey);
  EXPECT_FALSE(transaction.has_writes());
}

TEST_F(TableWriterTest, UniqueValueOfAnOpenTransactionIsWaitedFor) {
  Transaction first(database_.get());
  first.Start(Explicit(IsolationLevel::kReadCommitted));
  ASSERT_TRUE(Insert(first, {1, "a", 10, "x"}).ok());
  Transaction second(database_.get());
  second.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(Insert(second, {2, "a", 10, "x"}).code(), StatusCode::kLockTimeout);
  ASSERT_TRUE(first.Rollback().ok());
  EXPECT_TRUE(Insert(second, {2, "a", 10, "x"}).ok());
}

TEST_F(TableWriterTest, OldUniqueValueStaysTakenUntilCommit) {
  InsertCommitted({1, "a", 10, "x"});
  Transaction first(database_.get());
  first.Start(Explicit(IsolationLevel::kReadCommitted));
  ASSERT_TRUE(Update(first, {1, "a", 10, "x"}, {1, "a", 20, "x"}).ok());
  Transaction second(database_.get());
  second.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(Insert(second, {2, "b", 10, "x"}).code(), StatusCode::kLockTimeout);
}

TEST_F(TableWriterTest, UpdateOfEveryKeyKeepsAllIndexesInStep) {
  InsertCommitted({1, "a", 10, "x"});
  InsertCommitted({2, "b", 20, "y"});
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  ASSERT_TRUE(Update(transaction, {1, "a", 10, "x"}, {7, "z", nullptr, "w"}).ok());
  ASSERT_TRUE(Update(transaction, {2, "b", 20, "y"}, {2, "B", 20, "y"}).ok())
      << "only the case differs";
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  transaction.Start(Autocommit());
  EXPECT_THAT(Ids(transaction, kById), ElementsAre(2, 7));
  EXPECT_THAT(Ids(transaction, kByA), ElementsAre(2, 7));
  EXPECT_THAT(Ids(transaction, kByB), ElementsAre(7, 2));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(TableWriterTest, DeletedRowLeavesNoEntryEvenAfterCompaction) {
  for (int round = 0; round < 3; ++round) {
    InsertCommitted({1, "a", 10, "x"});
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    ASSERT_TRUE(Update(transaction, {1, "a", 10, "x"}, {1, "A", 11, "x"}).ok());
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    transaction.Start(Autocommit());
    const Record record(description_, {1, "A", 11, "x"});
    ASSERT_TRUE(writer_->Delete(&transaction, record.data(), 0).ok());
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
    ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
    ASSERT_TRUE(database_->maintenance().Compact(database_->default_family()).ok());
    transaction.Start(Autocommit());
    for (const uint32_t index : {kById, kByB, kByA})
      EXPECT_THAT(Ids(transaction, index), IsEmpty());
  }
}

TEST_F(TableWriterTest, InsertUpdateDeleteWithinOneTransactionLeaveNothing) {
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  ASSERT_TRUE(Insert(transaction, {1, "a", 10, "x"}).ok());
  ASSERT_TRUE(Update(transaction, {1, "a", 10, "x"}, {2, "b", 20, "y"}).ok());
  EXPECT_THAT(Ids(transaction, kByA), ElementsAre(2));
  const Record record(description_, {2, "b", 20, "y"});
  ASSERT_TRUE(writer_->Delete(&transaction, record.data(), 0).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  transaction.Start(Autocommit());
  EXPECT_THAT(Ids(transaction, kById), IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
}

class HiddenKeyTest : public TableFixture {
 protected:
  HiddenKeyTest() : TableFixture("default", Key::kHidden) {}
};

TEST_F(HiddenKeyTest, EqualRowsAreAllKeptInTheOrderTheyCame) {
  InsertCommitted({7, "a", nullptr, "x"});
  InsertCommitted({7, "a", nullptr, "x"});
  InsertCommitted({3, "b", 30, "x"});
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  EXPECT_THAT(Ids(transaction, kHiddenKey), ElementsAre(7, 7, 3));
  EXPECT_THAT(Ids(transaction, kHiddenByA), ElementsAre(7, 7, 3));
}

TEST_F(HiddenKeyTest, NumberingContinuesBehindTheLargestStored) {
  InsertCommitted({1, "a", nullptr, "x"});
  InsertCommitted({2, "a", nullptr, "x"});
  table().definition().counters->next_hidden_key = 0;  // As after a restart.
  InsertCommitted({3, "a", nullptr, "x"});
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  EXPECT_THAT(Ids(transaction, kHiddenKey), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace cairn
