#include "engine/table/scan_position.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

// Rows 10, 20 and 30, by their primary key.
class ScanPositionTest : public TableFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  ScanPositionTest() : TableFixture(GetParam()), position_(table_.get()) {
    for (const int id : {10, 20, 30}) InsertCommitted({id, "a", id, "c"});
    Begin();
    position_.Ensure();
    for (position_.iterator()->SeekToFirst(); position_.iterator()->Valid();
         position_.iterator()->Next()) {
      keys_.emplace_back(position_.iterator()->key());
    }
  }

  // A statement begins; the position is its.
  void Begin() {
    position_.Close();
    transaction_ = std::make_unique<Transaction>(database_.get());
    transaction_->Start(Explicit(IsolationLevel::kRepeatableRead));
    position_.Open(transaction_.get(), kById, Transaction::View::kSnapshot, /*ask_filters=*/false);
  }

  // The scan has moved onto the row at this position.
  void StandOn(size_t row, ScanDirection direction = ScanDirection::kForward) {
    position_.BeginMove(direction);
    position_.Ensure();
    position_.iterator()->SeekAtOrAfter(keys_[row]);
    position_.StandOnEntry();
  }

  // The scan, which was suspended, goes on in another statement.
  void GoOnLater(ScanDirection direction) {
    ScanPlace place = position_.TakePlace();
    Begin();
    position_.SetPlace(std::move(place));
    position_.GoOn(direction);
  }

  // Which row the iterator stands on, as "10"; "end" when on none.
  std::string Row() const {
    if (!position_.iterator()->Valid()) return "end";
    for (size_t row = 0; row < keys_.size(); ++row) {
      if (position_.iterator()->key() == keys_[row]) return std::to_string(10 * (row + 1));
    }
    return "another";
  }

  void Delete(int id) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    const cairn::testing::Record record(description_, {id, "a", id, "c"});
    ASSERT_TRUE(writer_->Delete(&transaction, record.data(), 0).ok());
    ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  }

  std::unique_ptr<Transaction> transaction_;
  ScanPosition position_;
  std::vector<std::string> keys_;
};

INSTANTIATE_TEST_SUITE_P(Families, ScanPositionTest, ::testing::Values("default", "rev:cf"));

constexpr ScanDirection kForward = ScanDirection::kForward;
constexpr ScanDirection kBackward = ScanDirection::kBackward;

TEST_P(ScanPositionTest, EveryStartLooksWhereItSays) {
  const auto look = [this](ReadStart start) {
    position_.Confine(keys_[1].substr(0, 4), /*ends_there=*/true);
    EXPECT_TRUE(position_.Seek(keys_[1], start, /*prefix_is_key=*/false));
    return Row();
  };
  EXPECT_EQ(look(ReadStart::kExact), "20");
  EXPECT_EQ(look(ReadStart::kAtOrAfter), "20");
  EXPECT_EQ(look(ReadStart::kAfter), "30");
  EXPECT_EQ(look(ReadStart::kLastExact), "20");
  EXPECT_EQ(look(ReadStart::kAtOrBefore), "20");
  EXPECT_EQ(look(ReadStart::kBefore), "10");
  EXPECT_FALSE(position_.Seek("\xff", ReadStart::kAfter, false)) << "nothing sorts there";
}

TEST_P(ScanPositionTest, ASuspendedScanGoesOnBesideItsEntry) {
  StandOn(1);
  ASSERT_TRUE(position_.Suspend());
  GoOnLater(kForward);
  EXPECT_EQ(Row(), "30");
  StandOn(1);
  ASSERT_TRUE(position_.Suspend());
  GoOnLater(kBackward);
  EXPECT_EQ(Row(), "10");
}

TEST_P(ScanPositionTest, TheEntryMayBeGoneByThen) {
  StandOn(1);
  ASSERT_TRUE(position_.Suspend());
  Delete(20);
  GoOnLater(kForward);
  EXPECT_EQ(Row(), "30");
  EXPECT_FALSE(position_.is_suspended());
}

TEST_P(ScanPositionTest, AScanThatHasComeToAnEndTurnsThere) {
  for (const auto& [direction, last] : {std::pair{kForward, "30"}, {kBackward, "10"}}) {
    StandOn(direction == kForward ? 2 : 0);
    position_.BeginMove(direction);
    direction == kForward ? position_.iterator()->Next() : position_.iterator()->Previous();
    ASSERT_TRUE(position_.Suspend());
    GoOnLater(direction == kForward ? kBackward : kForward);
    EXPECT_EQ(Row(), last);
  }
}

// A read of one prefix ends on an entry that does not belong to it.
TEST_P(ScanPositionTest, AReadThatHasEndedOnAnEntryStandsBeforeIt) {
  StandOn(1);
  position_.BeginMove(kForward);
  position_.iterator()->Next();
  ASSERT_TRUE(position_.Suspend());
  GoOnLater(kForward);
  EXPECT_EQ(Row(), "30");
  StandOn(1);
  position_.BeginMove(kBackward);
  position_.iterator()->Previous();
  ASSERT_TRUE(position_.Suspend());
  GoOnLater(kForward);
  EXPECT_EQ(Row(), "20");
}

TEST_P(ScanPositionTest, WithoutAnIteratorItStandsNowhere) {
  StandOn(0);
  position_.DropIterator();
  EXPECT_FALSE(position_.on_entry());
  EXPECT_FALSE(position_.Suspend());
  EXPECT_FALSE(position_.is_suspended());
  position_.SuspendOn(keys_[1]);
  GoOnLater(kForward);
  EXPECT_EQ(Row(), "30");
}

TEST_P(ScanPositionTest, WritesThatAreUndoneUnderItSuspendIt) {
  transaction_->BeginStatement();
  const Savepoint savepoint = transaction_->SetSavepoint();
  ASSERT_TRUE(Insert(*transaction_, {15, "a", 15, "c"}).ok());
  position_.BeginMove(kForward);
  position_.Ensure();
  position_.iterator()->SeekAtOrAfter(keys_[0]);
  position_.iterator()->Next();
  position_.StandOnEntry();
  EXPECT_EQ(Row(), "another");
  position_.SuspendIfStuck(kForward);
  EXPECT_FALSE(position_.is_suspended());
  ASSERT_TRUE(transaction_->RollbackToSavepoint(savepoint).ok());
  position_.SuspendIfStuck(kForward);
  ASSERT_TRUE(position_.is_suspended());
  position_.GoOn(kForward);
  EXPECT_EQ(Row(), "20");
}

TEST_P(ScanPositionTest, AnEntryIsPassedWithWhatIsCommittedNow) {
  StandOn(0);
  Delete(20);
  position_.iterator()->Next();
  EXPECT_EQ(Row(), "20") << "as the snapshot has it";
  StandOn(0);
  position_.PassEntryShowingLatest(kForward);
  EXPECT_EQ(Row(), "30");
  EXPECT_EQ(position_.view(), Transaction::View::kLatest);
}

}  // namespace
}  // namespace cairn
