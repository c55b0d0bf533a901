#include "engine/table/cursor.h"

#include <gmock/gmock.h>

#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using ::testing::ElementsAre;

class CursorTest : public TableFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  CursorTest() : TableFixture(GetParam()) {
    InsertCommitted({3, "cherry", 30, "x"});
    InsertCommitted({1, "apple", 10, "x"});
    InsertCommitted({2, "Banana", nullptr, "y"});
    InsertCommitted({4, "banana", nullptr, "z"});
    InsertCommitted({5, nullptr, 50, "z"});
  }

  std::string Prefix(uint32_t index, const cairn::testing::Row& row, uint32_t parts = 1) {
    const IndexCodec& codec = *table().index(index).codec;
    const Record record(description_, row);
    const std::string search = SearchKey(description_, codec, record, parts);
    std::string prefix;
    codec.EncodeSearchKey(reinterpret_cast<const uint8_t*>(search.data()), parts, &prefix);
    return prefix;
  }

  // The id that a read finds, or the name of the error.
  std::string Find(uint32_t index, std::string_view prefix, Cursor::Start start) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    Cursor cursor(table_.get());
    const ColumnSet columns = AllColumns();
    CursorAccess access;
    access.index = index;
    access.columns = &columns;
    EXPECT_TRUE(cursor.Open(&transaction, access).ok());
    Record record(description_);
    const Status read = cursor.Read(prefix, start, record.data());
    return read.ok() ? std::to_string(IdOf(record)) : std::string(ToString(read.code()));
  }
};

INSTANTIATE_TEST_SUITE_P(Families, CursorTest, ::testing::Values("default", "rev:cf"));

TEST_P(CursorTest, EveryIndexGivesItsOrderBothWays) {
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  EXPECT_THAT(Ids(transaction, kById), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Ids(transaction, kById, true), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(Ids(transaction, kByA), ElementsAre(5, 1, 2, 4, 3));
  EXPECT_THAT(Ids(transaction, kByA, true), ElementsAre(3, 4, 2, 1, 5));
  EXPECT_THAT(Ids(transaction, kByB), ElementsAre(2, 4, 1, 3, 5));
}

TEST_P(CursorTest, EveryStartFindsItsRow) {
  const std::string banana = Prefix(kByA, {0, "BANANA", 0, ""});
  EXPECT_EQ(Find(kByA, banana, Cursor::Start::kExact), "2");
  EXPECT_EQ(Find(kByA, banana, Cursor::Start::kAtOrAfter), "2");
  EXPECT_EQ(Find(kByA, banana, Cursor::Start::kAfter), "3");
  EXPECT_EQ(Find(kByA, banana, Cursor::Start::kLastExact), "4");
  EXPECT_EQ(Find(kByA, banana, Cursor::Start::kAtOrBefore), "4");
  EXPECT_EQ(Find(kByA, banana, Cursor::Start::kBefore), "1");
}

TEST_P(CursorTest, MissingKeysFindTheirNeighbours) {
  const std::string blueberry = Prefix(kByA, {0, "blueberry", 0, ""});
  EXPECT_EQ(Find(kByA, blueberry, Cursor::Start::kExact), "not found");
  EXPECT_EQ(Find(kByA, blueberry, Cursor::Start::kLastExact), "not found");
  EXPECT_EQ(Find(kByA, blueberry, Cursor::Start::kAtOrAfter), "3");
  EXPECT_EQ(Find(kByA, blueberry, Cursor::Start::kAtOrBefore), "4");
  const std::string zebra = Prefix(kByA, {0, "zebra", 0, ""});
  EXPECT_EQ(Find(kByA, zebra, Cursor::Start::kAtOrAfter), "not found");
  EXPECT_EQ(Find(kByA, zebra, Cursor::Start::kBefore), "3");
  EXPECT_EQ(Find(kById, Prefix(kById, {0, "", 0, ""}), Cursor::Start::kBefore), "not found");
}

TEST_P(CursorTest, OwnWritesAreMergedInOrder) {
  Transaction transaction(database_.get());
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  ASSERT_TRUE(Insert(transaction, {6, "blueberry", 60, "x"}).ok());
  EXPECT_THAT(Ids(transaction, kByA), ElementsAre(5, 1, 2, 4, 6, 3));
  EXPECT_THAT(Ids(transaction, kByA, true), ElementsAre(3, 6, 4, 2, 1, 5));
  ASSERT_TRUE(transaction.Rollback().ok());
  transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
  EXPECT_THAT(Ids(transaction, kByA), ElementsAre(5, 1, 2, 4, 3));
}

TEST_P(CursorTest, AScanGoesOnWhenWritesThatItShowsAreUndone) {
  for (const uint32_t index : {kById, kByA}) {
    for (const bool only_id : {true, false}) {
      for (const bool forward : {true, false}) {
        Transaction transaction(database_.get());
        transaction.Start(Explicit(IsolationLevel::kRepeatableRead));
        ASSERT_TRUE(Insert(transaction, {6, "blueberry", 60, "x"}).ok());
        const Savepoint savepoint = transaction.SetSavepoint();
        ASSERT_TRUE(Insert(transaction, {7, "blackberry", 70, "x"}).ok());
        ASSERT_TRUE(Insert(transaction, {8, "blackberry", 80, "x"}).ok());
        Cursor cursor(table_.get());
        const ColumnSet columns = only_id ? OnlyId() : AllColumns();
        CursorAccess access;
        access.index = index;
        access.columns = &columns;
        ASSERT_TRUE(cursor.Open(&transaction, access).ok());
        Record record(description_);
        std::vector<int> ids;
        Status read = forward ? cursor.ReadFirst(record.data()) : cursor.ReadLast(record.data());
        while (read.ok()) {
          ids.push_back(IdOf(record));
          if (ids.back() == 7) {
            ASSERT_TRUE(transaction.RollbackToSavepoint(savepoint).ok());
            EXPECT_TRUE(cursor.PrimaryKey().ok());
          }
          read = forward ? cursor.ReadNext(record.data()) : cursor.ReadPrevious(record.data());
        }
        EXPECT_EQ(read.code(), StatusCode::kEndOfRange);
        if (index == kById) {
          EXPECT_EQ(ids, forward ? (std::vector<int>{1, 2, 3, 4, 5, 6, 7})
                                 : (std::vector<int>{8, 7, 6, 5, 4, 3, 2, 1}));
        } else {
          EXPECT_EQ(ids, forward ? (std::vector<int>{5, 1, 2, 4, 7, 6, 3})
                                 : (std::vector<int>{3, 6, 8, 7, 4, 2, 1, 5}));
        }
      }
    }
  }
}

TEST_P(CursorTest, NextAfterAPointReadContinuesInOrder) {
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  Cursor cursor(table_.get());
  const ColumnSet columns = AllColumns();
  CursorAccess access;
  access.columns = &columns;
  for (const bool forward : {true, false}) {
    ASSERT_TRUE(cursor.Open(&transaction, access).ok());
    Record record(description_);
    ASSERT_TRUE(cursor.ReadRow(Prefix(kById, {3, "", 0, ""}), record.data()).ok());
    EXPECT_EQ(record.Data(1), "cherry");
    ASSERT_TRUE(
        (forward ? cursor.ReadNext(record.data()) : cursor.ReadPrevious(record.data())).ok());
    EXPECT_EQ(IdOf(record), forward ? 4 : 2);
  }
}

TEST_P(CursorTest, NothingHasTheKeyOfARowThatWasFoundByItsKey) {
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  Cursor cursor(table_.get());
  const ColumnSet columns = AllColumns();
  CursorAccess access;
  access.columns = &columns;
  ASSERT_TRUE(cursor.Open(&transaction, access).ok());
  Record record(description_);
  // What was sought before does not count.
  ASSERT_TRUE(
      cursor.Read(Prefix(kById, {4, "", 0, ""}), Cursor::Start::kExact, record.data()).ok());
  const std::string key = Prefix(kById, {3, "", 0, ""});
  ASSERT_TRUE(cursor.ReadRow(key, record.data()).ok());
  EXPECT_EQ(cursor.ReadNextExact(record.data()).code(), StatusCode::kEndOfRange);
  ASSERT_TRUE(cursor.ReadRow(key, record.data()).ok());
  EXPECT_EQ(cursor.ReadPreviousExact(record.data()).code(), StatusCode::kEndOfRange);
  // The key stays what it was when the cursor has gone on.
  ASSERT_TRUE(cursor.ReadRow(key, record.data()).ok());
  ASSERT_TRUE(cursor.ReadNext(record.data()).ok());
  EXPECT_EQ(cursor.ReadNextExact(record.data()).code(), StatusCode::kEndOfRange);
}

TEST_P(CursorTest, NextExactEndsBehindThePrefix) {
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  Cursor cursor(table_.get());
  const ColumnSet columns = AllColumns();
  CursorAccess access;
  access.index = kByA;
  access.columns = &columns;
  ASSERT_TRUE(cursor.Open(&transaction, access).ok());
  Record record(description_);
  const std::string banana = Prefix(kByA, {0, "banana", 0, ""});
  ASSERT_TRUE(cursor.Read(banana, Cursor::Start::kExact, record.data()).ok());
  ASSERT_TRUE(cursor.ReadNextExact(record.data()).ok());
  EXPECT_EQ(IdOf(record), 4);
  EXPECT_EQ(cursor.ReadNextExact(record.data()).code(), StatusCode::kEndOfRange);
}

// In the order of kByA: 5, 1, 2, 4, 3.
TEST_P(CursorTest, SuspendedScanGoesOnFromItsPlaceInAnotherTransaction) {
  Transaction transaction(database_.get());
  Cursor cursor(table_.get());
  const ColumnSet columns = AllColumns();
  CursorAccess access;
  access.index = kByA;
  access.columns = &columns;
  Record record(description_);
  const auto next_statement = [&] {
    cursor.Suspend();
    ASSERT_TRUE(transaction.Rollback().ok());
    transaction.Start(Autocommit());
    ASSERT_TRUE(cursor.is_suspended());
    ASSERT_TRUE(cursor.Resume(&transaction, access).ok());
  };
  transaction.Start(Autocommit());
  ASSERT_TRUE(cursor.Open(&transaction, access).ok());
  ASSERT_TRUE(cursor.ReadFirst(record.data()).ok());
  next_statement();
  ASSERT_TRUE(cursor.ReadNext(record.data()).ok());
  EXPECT_EQ(IdOf(record), 1);
  next_statement();
  ASSERT_TRUE(cursor.ReadPrevious(record.data()).ok());
  EXPECT_EQ(IdOf(record), 5);
  next_statement();
  EXPECT_EQ(cursor.ReadPrevious(record.data()).code(), StatusCode::kEndOfRange);
  next_statement();
  ASSERT_TRUE(cursor.ReadNext(record.data()).ok()) << "from before the first row";
  EXPECT_EQ(IdOf(record), 5);
  ASSERT_TRUE(cursor.ReadLast(record.data()).ok());
  EXPECT_EQ(cursor.ReadNext(record.data()).code(), StatusCode::kEndOfRange);
  next_statement();
  ASSERT_TRUE(cursor.ReadPrevious(record.data()).ok()) << "from behind the last row";
  EXPECT_EQ(IdOf(record), 3);
  const std::string missing = Prefix(kByA, {0, "bb", 0, ""});
  EXPECT_EQ(cursor.Read(missing, Cursor::Start::kExact, record.data()).code(),
            StatusCode::kNotFound);
  next_statement();
  ASSERT_TRUE(cursor.ReadNext(record.data()).ok()) << "from the gap where it would be";
  EXPECT_EQ(IdOf(record), 3);
  EXPECT_EQ(cursor.Read(missing, Cursor::Start::kExact, record.data()).code(),
            StatusCode::kNotFound);
  next_statement();
  ASSERT_TRUE(cursor.ReadPrevious(record.data()).ok());
  EXPECT_EQ(IdOf(record), 4);
}

TEST_P(CursorTest, CoveringReadNeedsNoRow) {
  // The row is taken away behind the index's back: only a read that visits it can notice.
  ASSERT_TRUE(database_->rocksdb()
                  ->Delete(rocksdb::WriteOptions(), table().primary().family().handle,
                           Prefix(kById, {1, "", 0, ""}))
                  .ok());
  Transaction transaction(database_.get());
  transaction.Start(Autocommit());
  EXPECT_THAT(Ids(transaction, kByA), ElementsAre(5, 1, 2, 4, 3));
  EXPECT_EQ(Find(kByA, Prefix(kByA, {0, "apple", 0, ""}), Cursor::Start::kExact), "corruption");
}

TEST_P(CursorTest, LockingReadTakesTheLatestVersionAndPassesOverMovedRows) {
  Transaction reader(database_.get());
  TransactionSettings settings = Explicit(IsolationLevel::kReadCommitted);
  reader.Start(settings);
  Cursor cursor(table_.get());
  const ColumnSet columns = AllColumns();
  CursorAccess access;
  access.index = kByA;
  access.columns = &columns;
  access.lock = LockMode::kExclusive;
  ASSERT_TRUE(cursor.Open(&reader, access).ok());
  Record record(description_);
  ASSERT_TRUE(
      cursor.Read(Prefix(kByA, {0, "apple", 0, ""}), Cursor::Start::kExact, record.data()).ok());

  // Behind the reader's position, row 2 leaves its place in the index and row 4 changes elsewhere.
  Transaction writer(database_.get());
  writer.Start(Autocommit());
  const Record old_two(description_, {2, "Banana", nullptr, "y"});
  const Record new_two(description_, {2, "zucchini", nullptr, "y"});
  ASSERT_TRUE(writer_->Update(&writer, old_two.data(), new_two.data(), 0).ok());
  const Record old_four(description_, {4, "banana", nullptr, "z"});
  const Record new_four(description_, {4, "banana", nullptr, "changed"});
  ASSERT_TRUE(writer_->Update(&writer, old_four.data(), new_four.data(), 0).ok());
  ASSERT_TRUE(writer.Commit(Durability::kSync).ok());

  ASSERT_TRUE(cursor.ReadNext(record.data()).ok());
  EXPECT_EQ(IdOf(record), 4);
  EXPECT_EQ(record.Data(3), "changed");
}

// Index a: (5, NULL), (1, apple), (2, Banana), (4, banana), (3, cherry).
TEST_P(CursorTest, LockingReadInAnyOrderGivesEachRowThatMovesWithinTheRangeOnce) {
  struct Case {
    bool deletes;
    std::vector<int> ids;
  };
  // Row 2 moves back, row 4 leaves the range. Then row 1 moves on, and a deleted row makes the scan
  // look again.
  for (const Case& expected : {Case{false, {1, 2, 3}}, Case{true, {2, 1, 6}}}) {
    Transaction reader(database_.get());
    reader.Start(Explicit(IsolationLevel::kReadCommitted));
    Cursor cursor(table_.get());
    const ColumnSet columns = AllColumns();
    CursorAccess access;
    access.index = kByA;
    access.columns = &columns;
    access.lock = LockMode::kExclusive;
    ASSERT_TRUE(cursor.Open(&reader, access).ok());
    Record record(description_);
    const std::string first = Prefix(kByA, {0, "aaa", 0, ""});
    const std::string end = Prefix(kByA, {0, "x", 0, ""});
    ReadRange range;
    range.end = end;
    range.any_order = true;
    ASSERT_TRUE(cursor.Read(first, Cursor::Start::kAtOrAfter, record.data(), range).ok());
    std::vector<int> ids{IdOf(record)};

    Transaction writer(database_.get());
    writer.Start(Autocommit());
    const auto update = [&](const cairn::testing::Row& before, const cairn::testing::Row& after) {
      const Record old_row(description_, before);
      const Record new_row(description_, after);
      ASSERT_TRUE(writer_->Update(&writer, old_row.data(), new_row.data(), 0).ok());
    };
    if (!expected.deletes) {
      update({2, "Banana", nullptr, "y"}, {2, "abc", nullptr, "y"});
      update({4, "banana", nullptr, "z"}, {4, "zucchini", nullptr, "z"});
    } else {
      update({1, "apple", 10, "x"}, {1, "date", 10, "x"});
      const Record three(description_, {3, "cherry", 30, "x"});
      ASSERT_TRUE(writer_->Delete(&writer, three.data(), 0).ok());
      ASSERT_TRUE(Insert(writer, {6, "elder", nullptr, "x"}).ok());
    }
    ASSERT_TRUE(writer.Commit(Durability::kSync).ok());

    Status read;
    while ((read = cursor.ReadNext(record.data())).ok()) ids.push_back(IdOf(record));
    EXPECT_EQ(read.code(), StatusCode::kEndOfRange);
    EXPECT_EQ(ids, expected.ids);
    cursor.Close();
    ASSERT_TRUE(reader.Rollback().ok());
  }
}

TEST_P(CursorTest, LockedRowKeepsOthersOutUntilUnlocked) {
  Transaction reader(database_.get());
  reader.Start(Explicit(IsolationLevel::kReadCommitted));
  Cursor cursor(table_.get());
  const ColumnSet columns = AllColumns();
  CursorAccess access;
  access.columns = &columns;
  access.lock = LockMode::kExclusive;
  ASSERT_TRUE(cursor.Open(&reader, access).ok());
  Record record(description_);
  const std::string key = Prefix(kById, {1, "", 0, ""});
  ASSERT_TRUE(cursor.ReadRow(key, record.data()).ok());

  Transaction other(database_.get());
  other.Start(Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(other.Lock(table().primary().family(), key, LockMode::kExclusive).code(),
            StatusCode::kLockTimeout);
  cursor.UnlockRow();
  EXPECT_TRUE(other.Lock(table().primary().family(), key, LockMode::kExclusive).ok());
}

TEST_P(CursorTest, LockingReadReportsAnEntryWithoutARow) {
  std::string key;
  std::string unpack_info;
  const Record row(description_, {4, "banana", nullptr, "z"});
  table().primary().codec->EncodeKey(row.data(), 0, &key, &unpack_info);
  ASSERT_TRUE(database_->rocksdb()
                  ->Delete(rocksdb::WriteOptions(), table().primary().family().handle, key)
                  .ok());
  for (const bool locks : {false, true}) {
    Transaction transaction(database_.get());
    transaction.Start(Explicit(IsolationLevel::kReadCommitted));
    Cursor cursor(table_.get());
    const ColumnSet columns = AllColumns();
    CursorAccess access;
    access.index = kByA;
    access.columns = &columns;
    if (locks) access.lock = LockMode::kExclusive;
    ASSERT_TRUE(cursor.Open(&transaction, access).ok());
    Record record(description_);
    const std::string banana = Prefix(kByA, {0, "banana", 0, ""});
    ASSERT_TRUE(cursor.Read(banana, Cursor::Start::kExact, record.data()).ok());
    EXPECT_EQ(IdOf(record), 2);
    EXPECT_EQ(cursor.ReadNextExact(record.data()).code(), StatusCode::kCorruption)
        << "locks: " << locks;
  }
}

TEST_P(CursorTest, SkippingReadPassesOverLockedRowsAtOnce) {
  Transaction holder(database_.get());
  holder.Start(Explicit(IsolationLevel::kReadCommitted));
  for (const int id : {2, 3}) {
    std::string key;
    std::string unpack_info;
    table().primary().codec->EncodeKey(Record(description_, {id, "", 0, ""}).data(), 0, &key,
                                       &unpack_info);
    ASSERT_TRUE(holder.Lock(table().primary().family(), key, LockMode::kExclusive).ok());
  }
  for (const uint32_t index : {kById, kByA}) {
    TransactionSettings settings = Explicit(IsolationLevel::kRepeatableRead);
    settings.lock_wait_timeout_ms = 3'600'000;
    Transaction transaction(database_.get());
    transaction.Start(settings);
    Cursor cursor(table_.get());
    const ColumnSet columns = AllColumns();
    CursorAccess access;
    access.index = index;
    access.columns = &columns;
    access.lock = LockMode::kExclusive;
    access.skip_locked = true;
    ASSERT_TRUE(cursor.Open(&transaction, access).ok());
    Record record(description_);
    std::vector<int> ids;
    for (Status read = cursor.ReadFirst(record.data()); read.ok();
         read = cursor.ReadNext(record.data())) {
      ids.push_back(IdOf(record));
    }
    EXPECT_THAT(ids, ::testing::UnorderedElementsAre(1, 4, 5));
  }
}

// A scan of the primary key with semi-consistent reads, while others hold locks.
class SemiConsistentTest : public CursorTest {
 protected:
  SemiConsistentTest() : holder_(database_.get()), reader_(database_.get()) {
    holder_.Start(Explicit(IsolationLevel::kReadCommitted));
    reader_.Start(Explicit(IsolationLevel::kReadCommitted));
    access_.columns = &columns_;
    access_.lock = LockMode::kExclusive;
    cursor_.SetSemiConsistent(true);
    EXPECT_TRUE(cursor_.Open(&reader_, access_).ok());
  }

  std::string KeyOf(int id) {
    std::string key;
    std::string unpack_info;
    table().primary().codec->EncodeKey(Record(description_, {id, "", 0, ""}).data(), 0, &key,
                                       &unpack_info);
    return key;
  }
  Status LockByHolder(int id) {
    return holder_.Lock(table().primary().family(), KeyOf(id), LockMode::kExclusive);
  }
  Status Delete(Transaction& transaction, const cairn::testing::Row& row) {
    return writer_->Delete(&transaction, Record(description_, row).data(), 0);
  }
  void BeginReaderAnew() {
    cursor_.Close();
    ASSERT_TRUE(reader_.Rollback().ok());
    reader_.Start(Explicit(IsolationLevel::kReadCommitted));
    ASSERT_TRUE(cursor_.Open(&reader_, access_).ok());
  }
  // The row that the scan comes to.
  std::string First() { return Name(cursor_.ReadFirst(record_.data())); }
  std::string Last() { return Name(cursor_.ReadLast(record_.data())); }
  std::string Next() { return Name(cursor_.ReadNext(record_.data())); }
  std::string Previous() { return Name(cursor_.ReadPrevious(record_.data())); }
  std::string Name(const Status& read) {
    return read.ok() ? std::to_string(IdOf(record_)) : std::string(ToString(read.code()));
  }

  Transaction holder_;
  Transaction reader_;
  const ColumnSet columns_ = AllColumns();
  CursorAccess access_;
  Cursor cursor_{table_.get()};
  Record record_{description_};
};

INSTANTIATE_TEST_SUITE_P(Families, SemiConsistentTest, ::testing::Values("default", "rev:cf"));

TEST_P(SemiConsistentTest, ARowThatIsNotWantedIsNotWaitedFor) {
  ASSERT_TRUE(LockByHolder(2).ok());
  EXPECT_EQ(First(), "1");
  EXPECT_FALSE(cursor_.WantsUnlockedRow());
  EXPECT_EQ(Next(), "2");
  cursor_.UnlockRow();
  EXPECT_EQ(Next(), "3");
  EXPECT_FALSE(cursor_.WantsUnlockedRow());
  EXPECT_EQ(Next(), "4");
  EXPECT_EQ(Last(), "5");
}

TEST_P(SemiConsistentTest, ARowThatIsWantedComesAgainWithItsLock) {
  ASSERT_TRUE(LockByHolder(2).ok());
  EXPECT_EQ(First(), "1");
  EXPECT_EQ(Next(), "2");
  EXPECT_EQ(cursor_.HiddenKeyToChange().status().code(), StatusCode::kInternal);
  EXPECT_TRUE(cursor_.WantsUnlockedRow());
  EXPECT_TRUE(cursor_.WantsUnlockedRow());
  EXPECT_EQ(Next(), "lock wait timeout");  // It waits.
  ASSERT_TRUE(holder_.Rollback().ok());
  EXPECT_EQ(First(), "1");
  EXPECT_EQ(Next(), "2");
  EXPECT_FALSE(cursor_.WantsUnlockedRow());
  EXPECT_TRUE(cursor_.HiddenKeyToChange().ok());
  EXPECT_EQ(Next(), "3");
}

TEST_P(SemiConsistentTest, ARowThatIsWantedComesOnce) {
  for (const bool forward : {true, false}) {
    holder_.Start(Explicit(IsolationLevel::kReadCommitted));
    ASSERT_TRUE(LockByHolder(3).ok());
    std::vector<std::string> rows;
    for (std::string row = forward ? First() : Last(); rows.size() < 10 && row != "end of range";
         row = forward ? Next() : Previous()) {
      const bool again = cursor_.WantsUnlockedRow();
      if (again) {
        ASSERT_TRUE(holder_.Rollback().ok());
      }
      rows.push_back(again ? row + " unlocked" : row);
    }
    EXPECT_THAT(rows, forward ? ElementsAre("1", "2", "3 unlocked", "3", "4", "5")
                              : ElementsAre("5", "4", "3 unlocked", "3", "2", "1"));
    BeginReaderAnew();
  }
}

TEST_P(SemiConsistentTest, AReadThatStartsAnewWaitsForItsFirstRow) {
  ASSERT_TRUE(LockByHolder(1).ok());
  ASSERT_TRUE(LockByHolder(4).ok());
  EXPECT_EQ(First(), "1");
  EXPECT_TRUE(cursor_.WantsUnlockedRow());
  EXPECT_EQ(First(), "lock wait timeout");
  // Once only: the row that is wanted may not come.
  EXPECT_EQ(
      Name(cursor_.Read(Prefix(kById, {4, "", 0, ""}), Cursor::Start::kAtOrAfter, record_.data())),
      "4");
  EXPECT_TRUE(cursor_.WantsUnlockedRow());
  EXPECT_EQ(
      Name(cursor_.Read(Prefix(kById, {7, "", 0, ""}), Cursor::Start::kAtOrAfter, record_.data())),
      "not found");
  EXPECT_EQ(Name(cursor_.ReadRow(KeyOf(2), record_.data())), "2");
  EXPECT_EQ(Next(), "3");
  EXPECT_EQ(Next(), "4");
}

TEST_P(SemiConsistentTest, ARowThatGoesWhileItIsWantedIsPassedOver) {
  for (const bool forward : {true, false}) {
    holder_.Start(Explicit(IsolationLevel::kReadCommitted));
    ASSERT_TRUE(LockByHolder(3).ok());
    ASSERT_TRUE(Delete(holder_, {3, "cherry", 30, "x"}).ok());
    EXPECT_EQ(forward ? First() : Last(), forward ? "1" : "5");
    EXPECT_EQ(forward ? Next() : Previous(), forward ? "2" : "4");
    EXPECT_EQ(forward ? Next() : Previous(), "3");
    EXPECT_TRUE(cursor_.WantsUnlockedRow());
    ASSERT_TRUE(holder_.Commit(Durability::kDelayed).ok());
    EXPECT_EQ(forward ? Next() : Previous(), forward ? "4" : "2");
    EXPECT_EQ(forward ? Next() : Previous(), forward ? "5" : "1");
    InsertCommitted({3, "cherry", 30, "x"});
    BeginReaderAnew();
  }
}

TEST_P(SemiConsistentTest, ARowThatIsWantedIsMetWhereOthersHavePutIt) {
  ASSERT_TRUE(LockByHolder(2).ok());
  ASSERT_TRUE(Delete(holder_, {2, "Banana", nullptr, "y"}).ok());
  ASSERT_TRUE(Insert(holder_, {7, "Banana", nullptr, "y"}).ok());
  EXPECT_EQ(First(), "1");
  EXPECT_EQ(Next(), "2");
  EXPECT_TRUE(cursor_.WantsUnlockedRow());
  ASSERT_TRUE(holder_.Commit(Durability::kDelayed).ok());
  EXPECT_EQ(Next(), "3");
  EXPECT_EQ(Next(), "4");
  EXPECT_EQ(Next(), "5");
  EXPECT_EQ(Next(), "7");
  EXPECT_EQ(Next(), "end of range");
}

TEST_P(SemiConsistentTest, AnotherIndexIsWaitedFor) {
  ASSERT_TRUE(LockByHolder(5).ok());
  access_.index = kByA;
  ASSERT_TRUE(cursor_.Open(&reader_, access_).ok());
  EXPECT_EQ(First(), "lock wait timeout");
}

}  // namespace
}  // namespace cairn
