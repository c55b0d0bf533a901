#include "engine/table/auto_increment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using ::testing::ElementsAre;

constexpr AutoIncrement::Type kTinyInt{127, 128};
constexpr AutoIncrement::Type kBigIntUnsigned{UINT64_MAX, UINT64_MAX};
constexpr AutoIncrement::Steps kByOne{};

class FakeRows final : public LargestStoredValue {
 public:
  Result<uint64_t> Read() override {
    ++reads;
    return largest;
  }
  Result<uint64_t> largest = uint64_t{0};
  int reads = 0;
};

class AutoIncrementTest : public ::testing::Test {
 protected:
  AutoIncrementTest() {
    Reopen();
    EXPECT_TRUE(dictionary_->CreateTable("db.t", {{IndexKind::kPrimary}}, std::nullopt).ok());
    Bind();
  }

  void Reopen() {
    table_.reset();
    locks_.reset();
    dictionary_.reset();
    database_.reset();
    database_ = disk_.Open();
    dictionary_ = std::move(*Dictionary::Load(database_.get()));
    locks_ = std::move(*PreparedLocks::Take(database_.get(), /*table=*/nullptr));
    Bind();
  }

  void Bind() {
    table_ = dictionary_->Find("db.t");
    if (table_ == nullptr) return;
    ours_.Bind(table_.get(), AutoIncrement::Role::kColumn);
    theirs_.Bind(table_.get(), AutoIncrement::Role::kColumn);
  }

  Status Load() { return ours_.Load(*dictionary_, *locks_, &rows_); }

  // The values that a handler gets for one row after the other.
  std::vector<uint64_t> HandOut(AutoIncrement& handler, int count,
                                const AutoIncrement::Type& type = kTinyInt,
                                const AutoIncrement::Steps& steps = kByOne) {
    std::vector<uint64_t> values;
    for (int i = 0; i < count; ++i) values.push_back(handler.HandOut(type, steps, 1).first);
    return values;
  }

  enum class End { kCommit, kRollback };
  void WriteRow(uint64_t value, End end = End::kCommit) {
    Transaction transaction(database_.get());
    transaction.Start(TransactionSettings());
    ours_.NoteWritten(value, &transaction);
    const Status ended =
        end == End::kCommit ? transaction.Commit(Durability::kSync) : transaction.Rollback();
    ASSERT_TRUE(ended.ok()) << ended.ToString();
  }

  uint64_t largest_given() const { return table_->counters->largest_given_value; }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  std::unique_ptr<PreparedLocks> locks_;
  std::shared_ptr<const TableDefinition> table_;
  FakeRows rows_;
  AutoIncrement ours_;
  AutoIncrement theirs_;
};

TEST_F(AutoIncrementTest, EachValueIsHandedOutOnce) {
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(HandOut(ours_, 2), ElementsAre(1, 2));
  EXPECT_THAT(HandOut(theirs_, 2), ElementsAre(3, 4));
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(5));
  EXPECT_EQ(theirs_.next(), 6u);
}

TEST_F(AutoIncrementTest, EachValueIsHandedOutOnceToManyThreads) {
  ASSERT_TRUE(Load().ok());
  constexpr int kThreads = 4;
  constexpr int kValues = 5'000;
  std::vector<std::vector<uint64_t>> handed_out(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, values = &handed_out[i]] {
      AutoIncrement handler;
      handler.Bind(table_.get(), AutoIncrement::Role::kColumn);
      for (uint64_t n = 0; n < kValues; ++n) {
        if (n % 100 == 99) handler.NoteGiven(n);
        const AutoIncrement::Values some = handler.HandOut(kBigIntUnsigned, kByOne, n % 3 + 1);
        for (uint64_t k = 0; k < some.count; ++k) values->push_back(some.first + k);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> all;
  for (const auto& values : handed_out) all.insert(all.end(), values.begin(), values.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_EQ(all.back(), all.size()) << "no value was passed over";
}

TEST_F(AutoIncrementTest, TheValueOfARowThatFailedIsLost) {
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(1));
  ours_.ForgetHandedOut();
  EXPECT_FALSE(ours_.TakeHandedOut(1));
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(2));
  WriteRow(2, End::kRollback);
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(3));
}

TEST_F(AutoIncrementTest, ARowGetsAValueThatWasHandedOutToItsHandler) {
  ASSERT_TRUE(Load().ok());
  EXPECT_FALSE(ours_.TakeHandedOut(0));
  EXPECT_FALSE(ours_.TakeHandedOut(1));
  ASSERT_EQ(ours_.HandOut(kTinyInt, kByOne, 3).first, 1u);
  EXPECT_FALSE(theirs_.TakeHandedOut(1));
  EXPECT_TRUE(ours_.TakeHandedOut(2));
  EXPECT_FALSE(ours_.TakeHandedOut(1)) << "it was passed over";
  EXPECT_FALSE(ours_.TakeHandedOut(2)) << "a row has it";
  EXPECT_TRUE(ours_.TakeHandedOut(3));
  EXPECT_FALSE(ours_.TakeHandedOut(3));
  EXPECT_FALSE(ours_.TakeHandedOut(4));
}

TEST_F(AutoIncrementTest, ALargerValueThatWasGivenRaisesTheCounterAndASmallerOneDoesNot) {
  ASSERT_TRUE(Load().ok());
  WriteRow(10);
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(11));
  WriteRow(5);
  WriteRow(11);
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(12));
  WriteRow(40, End::kRollback);
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(41));
}

TEST_F(AutoIncrementTest, AValueThatWasGivenIsKnownToThoseWhoAreHandedItOut) {
  rows_.largest = uint64_t{3};
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(largest_given(), 3u);
  EXPECT_THAT(HandOut(theirs_, 1), ElementsAre(4));
  EXPECT_LT(largest_given(), 4u);
  ours_.NoteGiven(6);
  ours_.NoteGiven(2);
  EXPECT_THAT(HandOut(theirs_, 3), ElementsAre(5, 6, 7));  // 6 was given before it was written.
  EXPECT_EQ(largest_given(), 6u);
}

TEST_F(AutoIncrementTest, NothingIsHandedOutBehindTheTypesEnd) {
  ASSERT_TRUE(Load().ok());
  WriteRow(124);
  const AutoIncrement::Values last = ours_.HandOut(kTinyInt, kByOne, 10);
  EXPECT_EQ(last.first, 125u);
  EXPECT_EQ(last.count, 3u);
  EXPECT_THAT(HandOut(ours_, 2), ElementsAre(128, 128));
  EXPECT_EQ(ours_.next(), 128u);
  EXPECT_FALSE(ours_.TakeHandedOut(128));
}

TEST_F(AutoIncrementTest, StepsThatLeaveTheTypeEndIt) {
  ASSERT_TRUE(Load().ok());
  WriteRow(120);
  const AutoIncrement::Steps by_ten{1, 10};
  EXPECT_THAT(HandOut(ours_, 2, kTinyInt, by_ten), ElementsAre(121, 128));
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(122)) << "for steps of one there is more";
  WriteRow(UINT64_MAX - 5);
  EXPECT_THAT(HandOut(ours_, 1, kBigIntUnsigned, by_ten), ElementsAre(UINT64_MAX))
      << "the next one would wrap";
}

TEST_F(AutoIncrementTest, TheCounterStaysAtTheLargestNumber) {
  ASSERT_TRUE(Load().ok());
  WriteRow(UINT64_MAX - 2);
  EXPECT_THAT(HandOut(ours_, 3, kBigIntUnsigned),
              ElementsAre(UINT64_MAX - 1, UINT64_MAX, UINT64_MAX));
  EXPECT_TRUE(ours_.TakeHandedOut(UINT64_MAX));
  EXPECT_FALSE(ours_.TakeHandedOut(1));
  WriteRow(UINT64_MAX);
  EXPECT_EQ(ours_.next(), UINT64_MAX);
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(UINT64_MAX)) << "beyond any type";
}

TEST_F(AutoIncrementTest, OffsetAndIncrementChooseTheValues) {
  ASSERT_TRUE(Load().ok());
  const AutoIncrement::Steps third_of_ten{3, 10};
  EXPECT_THAT(HandOut(ours_, 3, kTinyInt, third_of_ten), ElementsAre(3, 13, 23));
  WriteRow(24);
  const AutoIncrement::Values some = ours_.HandOut(kTinyInt, third_of_ten, 4);
  EXPECT_EQ(some.first, 33u);
  EXPECT_EQ(some.count, 4u);
  EXPECT_EQ(ours_.next(), 64u) << "behind 33, 43, 53 and 63";
  EXPECT_THAT(HandOut(ours_, 2, kTinyInt, {10, 10}), ElementsAre(70, 80));
  EXPECT_THAT(HandOut(ours_, 2, kTinyInt, {5, 2}), ElementsAre(81, 83))
      << "an offset above the increment counts as 1";
  EXPECT_THAT(HandOut(ours_, 1, kTinyInt, {1, 1}), ElementsAre(84));
}

TEST_F(AutoIncrementTest, TheCounterIsLoadedOnce) {
  rows_.largest = uint64_t{7};
  EXPECT_FALSE(ours_.is_loaded());
  ASSERT_TRUE(Load().ok());
  EXPECT_TRUE(theirs_.is_loaded());
  rows_.largest = uint64_t{70};
  ASSERT_TRUE(theirs_.Load(*dictionary_, *locks_, &rows_).ok());
  EXPECT_EQ(rows_.reads, 1);
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(8));
}

TEST_F(AutoIncrementTest, AnEmptyTableCountsFromOneAndAFullOneStaysAtItsEnd) {
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(ours_.next(), 1u);
  EXPECT_EQ(largest_given(), 0u);
  Reopen();
  rows_.largest = UINT64_MAX;
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(ours_.next(), UINT64_MAX);
}

TEST_F(AutoIncrementTest, WhatWasCommittedOrRolledBackIsKnownAfterReopening) {
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(HandOut(ours_, 2), ElementsAre(1, 2));
  WriteRow(41);
  Reopen();
  EXPECT_FALSE(ours_.is_loaded());
  rows_.largest = uint64_t{17};
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(42));
  EXPECT_EQ(largest_given(), 17u);
  WriteRow(60, End::kRollback);
  Reopen();
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(61));
}

TEST_F(AutoIncrementTest, RowsBehindTheStoredCounterCount) {
  ASSERT_TRUE(Load().ok());
  WriteRow(127);
  Reopen();
  rows_.largest = uint64_t{200};
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(ours_.next(), 201u);
}

TEST_F(AutoIncrementTest, RowsThatCannotBeReadMatterWhereNothingIsStored) {
  rows_.largest = Status(StatusCode::kCorruption, "a block is damaged");
  EXPECT_EQ(Load().code(), StatusCode::kCorruption);
  EXPECT_FALSE(ours_.is_loaded());
  rows_.largest = uint64_t{0};
  ASSERT_TRUE(Load().ok());
  WriteRow(8);
  Reopen();
  rows_.largest = Status(StatusCode::kCorruption, "a block is damaged");
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(HandOut(ours_, 1), ElementsAre(9));
  EXPECT_EQ(largest_given(), UINT64_MAX) << "a row may have any value";
}

TEST_F(AutoIncrementTest, WhatPreparedTransactionsHaveWrittenIsNotKnown) {
  ASSERT_TRUE(Load().ok());
  {
    Transaction transaction(database_.get());
    TransactionSettings settings;
    settings.autocommit = false;
    transaction.Start(settings);
    ours_.NoteWritten(30, &transaction);
    const ColumnFamily& family = *table_->indexes[0].family;
    ASSERT_TRUE(transaction.Lock(family, "a row", LockMode::kExclusive).ok());
    ASSERT_TRUE(transaction.Put(family, "a row", "30").ok());
    ASSERT_TRUE(transaction.Prepare({1, "xa", ""}, Durability::kSync).ok());
    transaction.Detach();
  }
  Reopen();
  ASSERT_TRUE(locks_->any_recovered());
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(largest_given(), UINT64_MAX);
}

}  // namespace
}  // namespace cairn
