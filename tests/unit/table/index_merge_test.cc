// Indexes that are built while others write: what becomes of rows that change at each step.
#include "engine/table/index_merge.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "engine/txn/prepared_transactions.h"
#include "tests/unit/table/index_merge_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Row;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

class ReverseIndexMergeTest : public IndexMergeTest {
 protected:
  ReverseIndexMergeTest() : IndexMergeTest("rev:cf") {}
};

TEST_F(IndexMergeTest, WithoutChangesTheIndexesHaveTheRows) {
  InsertRows(5);
  Begin(/*unique=*/true);
  ASSERT_TRUE(build_->Run().ok());
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(IdsBy(kByC), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(dictionary_->PendingDrops(), ElementsAre(Deltas()[0], Deltas()[1]));
}

// Each kind of change, to other rows at each of the steps.
class ChangesIndexMergeTest : public IndexMergeTest {
 protected:
  void ChangeRows(int first) {
    Do([&](RowSession& s) { return s.Insert(RowOf(first + 100, "new")); });
    Do([&](RowSession& s) { return s.Update(first, RowOf(first, "other")); });
    // To another value and back, in one transaction and in two.
    Do([&](RowSession& s) {
      CAIRN_RETURN_IF_ERROR(s.Update(first + 1, RowOf(first + 1, "other")));
      return s.Update(first + 1, RowOf(first + 1, "c" + std::to_string(first + 1)));
    });
    Do([&](RowSession& s) { return s.Update(first + 2, RowOf(first + 2, "other")); });
    Do([&](RowSession& s) {
      return s.Update(first + 2, RowOf(first + 2, "c" + std::to_string(first + 2)));
    });
    Do([&](RowSession& s) { return s.Delete(first + 3); });
    Do([&](RowSession& s) { return s.Delete(first + 4); });
    Do([&](RowSession& s) { return s.Insert(RowOf(first + 4, "again")); });
    Do([&](RowSession& s) { return s.Update(first + 5, RowOf(first + 1000, "key")); });
    Do([&](RowSession& s) { return s.Insert(RowOf(first + 101, "short")); });
    Do([&](RowSession& s) { return s.Delete(first + 101); });
    RollBackChanges(first + 6);
  }

  void RollBackChanges(int first) {
    RowSession session = NewSession();
    session.transaction().BeginStatement();
    ASSERT_TRUE(session.Update(first, RowOf(first, "kept")).ok());
    session.transaction().EndStatement();
    const Savepoint savepoint = session.transaction().SetSavepoint();
    ASSERT_TRUE(session.Update(first, RowOf(first, "undone")).ok());
    ASSERT_TRUE(session.Delete(first + 1).ok());
    ASSERT_TRUE(session.transaction().RollbackToSavepoint(savepoint).ok());
    ASSERT_TRUE(session.Commit().ok());
    RowSession undone = NewSession();
    ASSERT_TRUE(undone.Delete(first + 2).ok());
    ASSERT_TRUE(undone.transaction().Rollback().ok());
  }
};

TEST_F(ChangesIndexMergeTest, RowsThatChangeBetweenTheSteps) {
  InsertRows(60);
  Begin();
  ChangeRows(1);
  int steps = 0;
  AtEachLook changes([&] {
    if (steps < 4) ChangeRows(1 + 10 * ++steps);
  });
  {
    const ScopedWaitObserver observer(&changes);
    ASSERT_TRUE(build_->Run().ok());
  }
  EXPECT_EQ(steps, 4) << "changes came while the build went on";
  ChangeRows(51);
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(IdsBy(kByC).size(), IdsBy(kById).size());
  ExpectSingleDeleteBetweenPuts();
  ASSERT_TRUE(Compact().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(ReverseIndexMergeTest, InAReverseFamily) {
  InsertRows(20);
  Begin(/*unique=*/true);
  Do([&](RowSession& s) { return s.Update(3, RowOf(3, "x")); });
  ASSERT_TRUE(build_->Run().ok());
  Do([&](RowSession& s) { return s.Update(4, RowOf(4, "y")); });
  Do([&](RowSession& s) { return s.Delete(5); });
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(IdsBy(kByC).size(), 19u);
}

TEST_F(IndexMergeTest, AChangeOfOtherColumnsLeavesNothingToMerge) {
  InsertRows(3);
  Begin();
  Do([&](RowSession& s) { return s.Update(1, {1, "a1", 77, "c1"}); });
  EXPECT_EQ(state_->figures()->Sum(&NewIndexFigures::delta_written), 0u);
  EXPECT_EQ(EntryCount(state_->indexes()[0].delta), 0u);
}

TEST_F(IndexMergeTest, WhatAnOpenTransactionWritesIsMergedWhenItIsCommitted) {
  InsertRows(3);
  Begin();
  Do([&](RowSession& s) { return s.Update(1, RowOf(1, "x")); });
  RowSession holder = NewSession();
  ASSERT_TRUE(holder.Update(1, RowOf(1, "y")).ok());
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(Merged(), 4u) << "of each index: c1 goes, x comes";
  EXPECT_EQ(build_->Finish().code(), StatusCode::kLockTimeout);
  ASSERT_TRUE(holder.Commit().ok());
  ASSERT_TRUE(Publish().ok());
  EXPECT_EQ(Merged(), 8u) << "x goes, y comes; that c1 went is not merged again";
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, ARoundWaitsAMomentForThoseWhoWroteBefore) {
  InsertRows(3);
  Begin();
  RowSession holder = NewSession();
  ASSERT_TRUE(holder.Update(1, RowOf(1, "x")).ok());
  int looks = 0;
  AtEachLook waiting([&] {
    if (state_->generation() == 0 || ++looks != 2) return;
    // One that begins meanwhile is not waited for.
    Do([&](RowSession& s) { return s.Update(2, RowOf(2, "y")); });
    ASSERT_TRUE(holder.Commit().ok());
  });
  {
    const ScopedWaitObserver observer(&waiting);
    ASSERT_TRUE(build_->Run().ok());
  }
  EXPECT_GE(looks, 2);
  EXPECT_EQ(Merged(), 4u) << "the first round has what it waited for";
  ASSERT_TRUE(Publish().ok());
  EXPECT_EQ(Merged(), 8u);
  EXPECT_THAT(Problems(), IsEmpty());
}

// The first round cannot end what a transaction began; those after it merge what others write,
// however long it takes.
TEST_F(IndexMergeTest, ALongTransactionHoldsNoRoundUp) {
  InsertRows(9);
  Begin();
  RowSession held = NewSession();
  ASSERT_TRUE(held.Update(1, RowOf(1, "long1")).ok());
  Do([&](RowSession& s) { return s.Update(2, RowOf(2, "x0")); });
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(Merged(), 4u);
  for (int round = 1; round <= 3; ++round) {
    Do([&](RowSession& s) { return s.Update(2, RowOf(2, "x" + std::to_string(round))); });
    Do([&](RowSession& s) { return s.Update(3, RowOf(3, "y" + std::to_string(round))); });
    ASSERT_TRUE(held.Update(4, RowOf(4, "long" + std::to_string(round))).ok());
    ASSERT_TRUE(build_->CatchUp().ok());
    EXPECT_EQ(Merged(), 4u + 8 * round) << "nothing is merged twice";
  }
  ASSERT_TRUE(held.Commit().ok());
  // Rows of the transaction change once more before its entries are merged, in older generations.
  Do([&](RowSession& s) { return s.Update(1, RowOf(1, "then1")); });
  Do([&](RowSession& s) { return s.Update(4, RowOf(4, "c4")); });
  ASSERT_TRUE(build_->CatchUp().ok());
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(IdsBy(kByC), ElementsAre(4, 5, 6, 7, 8, 9, 1, 2, 3)) << "c4 to c9, then1, x3, y3";
  ExpectSingleDeleteBetweenPuts();
}

TEST_F(IndexMergeTest, AWaitForWritersCanBeKilled) {
  InsertRows(3);
  Begin();
  RowSession holder = NewSession();
  ASSERT_TRUE(holder.Update(1, RowOf(1, "x")).ok());
  const auto snapshots = [&] {
    uint64_t count = 0;
    EXPECT_TRUE(database_->rocksdb()->GetIntProperty("rocksdb.num-snapshots", &count));
    return count;
  };
  const uint64_t snapshots_before = snapshots();
  AtEachLook* killing = nullptr;
  AtEachLook waiting([&] {
    if (state_->generation() != 1) return;
    EXPECT_EQ(snapshots(), snapshots_before) << "killed when it merges, not when it waits";
    killing->End();
  });
  killing = &waiting;
  {
    const ScopedWaitObserver observer(&waiting);
    EXPECT_EQ(build_->Run().code(), StatusCode::kInterrupted);
  }
  Abandon();
  ASSERT_TRUE(holder.Commit().ok());
  EXPECT_EQ(dictionary_->PendingDrops().size(), 4u);
  EXPECT_THAT(Problems(), IsEmpty());
}

// What is left then is merged while nobody writes, and more rounds would make it more.
TEST_F(IndexMergeTest, ARoundThatLosesGroundIsTheLast) {
  constexpr int kRowsOfFirstRound = 6000;  // Too many entries for the last step.
  InsertRows(3);
  Begin();
  Do([&](RowSession& s) { return s.Update(1, RowOf(1, "x")); });
  uint32_t last_generation = 0;
  AtEachLook writing([&] {
    if (state_->generation() == last_generation || last_generation == 3) return;
    last_generation = state_->generation();
    const int rows = kRowsOfFirstRound + static_cast<int>(last_generation) * 500;
    Do([&](RowSession& s) {
      for (int id = 0; id < rows; ++id) {
        const int unused = 100'000 * static_cast<int>(last_generation) + id;
        CAIRN_RETURN_IF_ERROR(s.Insert(RowOf(unused, "c" + std::to_string(unused))));
      }
      return Status();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // Not a short round.
  });
  {
    const ScopedWaitObserver observer(&writing);
    ASSERT_TRUE(build_->Run().ok());
  }
  EXPECT_EQ(state_->generation(), 1u);
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

// Of each row the changes come in order, also those of a transaction that began to write before
// others and goes on after them.
TEST_F(IndexMergeTest, ATransactionWritesToTheNewestGeneration) {
  InsertRows(3);
  Begin();
  RowSession old = NewSession();
  ASSERT_TRUE(old.Update(1, RowOf(1, "old")).ok());
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(state_->generation(), 1u);
  Do([&](RowSession& s) { return s.Update(2, RowOf(2, "between")); });
  ASSERT_TRUE(old.Update(2, RowOf(2, "last")).ok());
  ASSERT_TRUE(old.Update(1, RowOf(1, "later")).ok());
  EXPECT_EQ(state_->open_transactions(), 2u) << "it is counted in both";
  ASSERT_TRUE(old.Commit().ok());
  EXPECT_EQ(state_->open_transactions(), 0u);
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(IdsBy(kByC), ElementsAre(3, 2, 1)) << "c3, last, later";
  ExpectSingleDeleteBetweenPuts();
}

TEST_F(IndexMergeTest, WhatIsMergedIsLeftOutOfNewFiles) {
  InsertRows(3);
  Begin();
  Do([&](RowSession& s) { return s.Update(1, RowOf(1, "x")); });
  ASSERT_TRUE(build_->Run().ok());
  Do([&](RowSession& s) { return s.Insert(RowOf(4, "y")); });
  EXPECT_EQ(EntryCount(state_->indexes()[1].delta), 3u);
  ASSERT_TRUE(Compact().ok());
  EXPECT_EQ(EntryCount(state_->indexes()[1].delta), 1u);
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(IdsBy(kByC), ElementsAre(2, 3, 1, 4));
  ASSERT_TRUE(Compact().ok());
  EXPECT_EQ(EntryCount(state_->indexes()[1].delta), 0u);
}

TEST_F(ReverseIndexMergeTest, WhatIsMergedIsLeftOutOfNewFiles) {
  InsertRows(3);
  Begin();
  Do([&](RowSession& s) { return s.Update(1, RowOf(1, "x")); });
  ASSERT_TRUE(build_->Run().ok());
  Do([&](RowSession& s) { return s.Insert(RowOf(4, "y")); });
  ASSERT_TRUE(Compact().ok());
  EXPECT_EQ(EntryCount(state_->indexes()[1].delta), 1u);
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, ManyChangesAreMergedInBatches) {
  InsertRows(10);
  Begin();
  ASSERT_TRUE(build_->Run().ok());
  for (int id = 100; id < 2300; ++id) {
    Do([&](RowSession& s) { return s.Insert(RowOf(id, "c" + std::to_string(id))); });
  }
  ASSERT_TRUE(Publish().ok());
  EXPECT_EQ(state_->figures()->Sum(&NewIndexFigures::delta_merged), 4400u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, AnAbandonedBuildIsRemovedWhenItsWritersHaveEnded) {
  InsertRows(4);
  Begin();
  ASSERT_TRUE(build_->Run().ok());
  RowSession open = NewSession();
  ASSERT_TRUE(open.Insert(RowOf(5, "c5")).ok());
  const std::vector<IndexId> ids = BuiltIds();
  const auto state = state_;
  Abandon();
  EXPECT_EQ(dictionary_->Find("db.t")->build, nullptr);
  ASSERT_TRUE(open.Insert(RowOf(6, "c6")).ok()) << "the statement knows the old definition";
  EXPECT_EQ(state->figures()->Sum(&NewIndexFigures::delta_written), 2u);
  EXPECT_THAT(dictionary_->PendingDrops(), IsEmpty());
  ASSERT_TRUE(open.Commit().ok());
  EXPECT_THAT(dictionary_->PendingDrops(), UnorderedElementsAre(ids[0], ids[1], ids[2], ids[3]));
  EXPECT_THAT(IdsBy(kById), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, WhatIsPreparedWhenTheBuildEndsIsRefused) {
  InsertRows(4);
  Begin();
  ASSERT_TRUE(build_->Run().ok());
  const TransactionId id =
      *DecodeTransactionName(EncodeTransactionName(TransactionId{1, "g", "b"}));
  {
    RowSession session = NewSession();
    ASSERT_TRUE(session.Insert(RowOf(5, "c5")).ok());
    ASSERT_TRUE(session.transaction().Prepare(id, Durability::kSync).ok());
  }
  EXPECT_EQ(build_->Finish().code(), StatusCode::kLockTimeout);
  const auto locks = *PreparedLocks::Take(database_.get(), nullptr);
  ASSERT_TRUE(CommitPrepared(database_.get(), locks.get(), id, OnFailure::kRemember).ok());
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(IdsBy(kByC), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, WhatIsPreparedBeforeARoundIsMergedAfterItsDecision) {
  InsertRows(4);
  Begin();
  const TransactionId id{1, "g", "b"};
  {
    RowSession session = NewSession();
    ASSERT_TRUE(session.Update(1, RowOf(1, "x")).ok());
    ASSERT_TRUE(session.transaction().Prepare(id, Durability::kSync).ok());
  }
  EXPECT_EQ(state_->open_transactions(), 0u);
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(Merged(), 0u);
  Do([&](RowSession& s) { return s.Update(2, RowOf(2, "y")); });
  const auto locks = *PreparedLocks::Take(database_.get(), nullptr);
  ASSERT_TRUE(CommitPrepared(database_.get(), locks.get(), id, OnFailure::kRemember).ok());
  Do([&](RowSession& s) { return s.Update(1, RowOf(1, "z")); });
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(IdsBy(kByC), ElementsAre(3, 4, 2, 1)) << "c3, c4, y, z";
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, APreparedTransactionOfAnAbandonedBuildIsWaitedFor) {
  InsertRows(4);
  Begin();
  const TransactionId id{1, "g", "b"};
  const uint32_t delta = Deltas()[0].index_number;
  {
    RowSession session = NewSession();
    ASSERT_TRUE(session.Insert(RowOf(5, "c5")).ok());
    ASSERT_TRUE(session.transaction().Prepare(id, Durability::kSync).ok());
  }
  Abandon();
  EXPECT_EQ(dictionary_->PendingDrops().size(), 4u);
  EXPECT_TRUE(database_->prepared_indexes().Names(delta, database_->rocksdb()));
  auto locks = Reopen();
  EXPECT_EQ(dictionary_->PendingDrops().size(), 4u) << "the marks are of the build";
  EXPECT_TRUE(database_->prepared_indexes().Names(delta, database_->rocksdb()));
  EXPECT_FALSE(database_->prepared_indexes().Names(delta + 1000, database_->rocksdb()));
  ASSERT_TRUE(CommitPrepared(database_.get(), locks.get(), id, OnFailure::kRemember).ok());
  EXPECT_FALSE(database_->prepared_indexes().Names(delta, database_->rocksdb()));
  EXPECT_THAT(IdsBy(kById), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, ADeathAtAnyStepLeavesTheTableAsItWas) {
  InsertRows(4);
  const uint64_t version = *dictionary_->LoadTableVersion("./db/t");
  for (int step = 0; step < 4; ++step) {
    SCOPED_TRACE(step);
    const auto description = description_;
    Begin();
    Do([&](RowSession& s) { return s.Insert(RowOf(10 + step, "new")); });
    if (step >= 1) {
      ASSERT_TRUE(build_->Run().ok());
    }
    Do([&](RowSession& s) { return s.Insert(RowOf(20 + step, "new")); });
    if (step >= 2) {
      ASSERT_TRUE(build_->Finish().ok());
    }
    const std::vector<IndexId> ids = BuiltIds();
    if (step >= 3) dictionary_->AbandonBuild(state_.get());
    description_ = description;
    Reopen();
    EXPECT_THAT(dictionary_->PendingDrops(), UnorderedElementsAreArray(ids)) << "both are removed";
    EXPECT_EQ(*dictionary_->LoadTableVersion("./db/t"), version);
    EXPECT_THAT(IdsBy(kById), Contains(20 + step));
    EXPECT_THAT(Problems(), IsEmpty());
    for (const IndexId id : ids) ASSERT_TRUE(dictionary_->ForgetDroppedIndex(id).ok());
  }
}

TEST_F(IndexMergeTest, ADeathAfterTheBuildLeavesTheIndexes) {
  InsertRows(4);
  const uint64_t version = *dictionary_->LoadTableVersion("./db/t");
  Begin();
  ASSERT_TRUE(build_->Run().ok());
  Do([&](RowSession& s) { return s.Update(2, RowOf(2, "x")); });
  ASSERT_TRUE(Publish().ok());
  const std::vector<IndexId> deltas = Deltas();
  Reopen();
  EXPECT_EQ(dictionary_->PendingDrops(), deltas);
  EXPECT_EQ(*dictionary_->LoadTableVersion("./db/t"), version + 1);
  EXPECT_THAT(IdsBy(kByC), ElementsAre(1, 3, 4, 2));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, NobodyBypassesTheWriterMeanwhile) {
  InsertRows(3);
  Begin();
  EXPECT_FALSE(table().MayBypassWriter());
  TransactionSettings unlocked = Explicit(IsolationLevel::kReadCommitted);
  unlocked.lock_rows = false;
  unlocked.write_log = false;
  {
    RowSession careless(database_.get(), table_, description_, unlocked);
    careless.writer().SetUniqueChecks(TableWriter::UniqueChecks::kTrusted);
    EXPECT_EQ(careless.Insert(RowOf(2, "x")).code(), StatusCode::kDuplicateKey);
    ASSERT_TRUE(careless.Update(2, RowOf(2, "x")).ok());
    EXPECT_GT(careless.transaction().lock_count(), 0u);
    ASSERT_TRUE(careless.Commit().ok());
  }
  ASSERT_TRUE(build_->Run().ok());
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Reopen();
  EXPECT_THAT(IdsBy(kByC), ElementsAre(1, 3, 2)) << "the change was logged";
}

class HiddenKeyIndexMergeTest : public IndexMergeTest {
 protected:
  HiddenKeyIndexMergeTest() : IndexMergeTest("default", Key::kHidden) {}
};

// Otherwise two of them could write a row in one order and its entries in the other.
TEST_F(HiddenKeyIndexMergeTest, NobodyChangesRowsUnlocked) {
  InsertRows(3);
  Begin();
  TransactionSettings unlocked = Explicit(IsolationLevel::kReadCommitted);
  unlocked.lock_rows = false;
  Transaction careless(database_.get());
  careless.Start(unlocked);
  ASSERT_FALSE(careless.locks_rows());
  const ColumnSet all = AllColumns();
  CursorAccess access;
  access.index = kHiddenKey;
  access.columns = &all;
  access.lock = LockMode::kExclusive;
  Cursor cursor(table_.get());
  ASSERT_TRUE(cursor.Open(&careless, access).ok());
  cairn::testing::Record old_record(description_);
  ASSERT_TRUE(cursor.ReadFirst(old_record.data()).ok());
  const cairn::testing::Record changed(description_, RowOf(1, "x"));
  ASSERT_TRUE(
      writer_->Update(&careless, old_record.data(), changed.data(), *cursor.HiddenKey()).ok());
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(build_->figures().Sum(&NewIndexFigures::delta_merged), 0u);
  Transaction other(database_.get());
  other.Start(Explicit(IsolationLevel::kReadCommitted));
  Cursor second(table_.get());
  ASSERT_TRUE(second.Open(&other, access).ok());
  EXPECT_EQ(second.ReadFirst(old_record.data()).code(), StatusCode::kLockTimeout);
  second.Close();
  cursor.Close();
  ASSERT_TRUE(careless.Commit(Durability::kSync).ok());
  ASSERT_TRUE(other.Rollback().ok());
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(HiddenKeyIndexMergeTest, ATransactionThatHasInsertedLocksWhatItChanges) {
  Begin();
  TransactionSettings unlocked = Explicit(IsolationLevel::kReadCommitted);
  unlocked.lock_rows = false;
  Transaction careless(database_.get());
  careless.Start(unlocked);
  ASSERT_TRUE(Insert(careless, RowOf(1, "x")).ok());
  EXPECT_TRUE(careless.locks_rows());
  ASSERT_TRUE(careless.Commit(Durability::kSync).ok());
  ASSERT_TRUE(build_->Run().ok());
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, AStatementThatOutlivesTheBuildIsRefused) {
  InsertRows(3);
  Begin();
  const auto old_table = table_;
  ASSERT_TRUE(build_->Run().ok());
  ASSERT_TRUE(Publish().ok());
  RowSession late(database_.get(), old_table, description_,
                  Explicit(IsolationLevel::kReadCommitted));
  EXPECT_EQ(late.Insert(RowOf(9, "x")).code(), StatusCode::kInternal);
}

TEST_F(IndexMergeTest, OneBuildAtATime) {
  InsertRows(1);
  Begin();
  EXPECT_EQ(
      dictionary_->BeginBuild("db.t", {{IndexKind::kSecondary}}, {IndexLayout()}).status().code(),
      StatusCode::kBusy);
  EXPECT_EQ(dictionary_->BeginBuild("db.other", {}, {}).status().code(), StatusCode::kNotFound);
}

TEST_F(IndexMergeTest, AKilledMergeCanBeAbandoned) {
  InsertRows(3);
  Begin();
  ASSERT_TRUE(build_->Run().ok());
  Do([&](RowSession& s) { return s.Update(2, RowOf(2, "x")); });
  AtEachLook killer([] {});
  killer.End();
  {
    const ScopedWaitObserver observer(&killer);
    EXPECT_EQ(build_->Finish().code(), StatusCode::kInterrupted);
  }
  Abandon();
  EXPECT_EQ(dictionary_->PendingDrops().size(), 4u);
  EXPECT_THAT(Problems(), IsEmpty());
}

// Threads change rows as they like until the build has run.
class RandomWriters {
 public:
  RandomWriters(const std::function<RowSession()>& new_session, int thread_count, uint32_t seed) {
    for (int i = 0; i < thread_count; ++i) {
      threads_.emplace_back([this, new_session, engine = std::mt19937(seed + i)]() mutable {
        while (!ended_) ChangeSome(new_session(), &engine);
      });
    }
  }
  ~RandomWriters() { End(); }
  void End() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  uint64_t changes() const { return changes_; }

 private:
  void ChangeSome(RowSession session, std::mt19937* engine) {
    std::mt19937& random = *engine;
    for (uint32_t left = random() % 4 + 1; left > 0; --left) {
      const int id = static_cast<int>(random() % 400);
      const Row row = {id, "a" + std::to_string(random() % 5), nullptr,
                       "c" + std::to_string(random() % 50)};
      const Savepoint savepoint = session.transaction().SetSavepoint();
      Status changed;
      switch (random() % 4) {
        case 0:
          changed = session.Insert(row);
          break;
        case 1:
          changed = session.Delete(id);
          break;
        case 2: {
          Row moved = row;
          moved[0] = static_cast<int>(random() % 400);
          changed = session.Update(id, moved);
          break;
        }
        default:
          changed = session.Update(id, row);
      }
      changes_ += changed.ok();
      if (!changed.ok() || random() % 8 == 0) {
        ASSERT_TRUE(session.transaction().RollbackToSavepoint(savepoint).ok());
      }
    }
    const Status ended = random() % 8 == 0 ? session.transaction().Rollback() : session.Commit();
    ASSERT_TRUE(ended.ok()) << ended.ToString();
  }

  std::atomic<bool> ended_{false};
  std::atomic<uint64_t> changes_{0};
  std::vector<std::thread> threads_;
};

TEST_F(IndexMergeTest, RandomChangesByManyWritersAreAllInTheIndexes) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int id = 0; id < 300; ++id) {
    InsertCommitted({id, "a", nullptr, "c" + std::to_string(id % 50)});
  }
  Begin();
  NewBuild(/*buffer_bytes=*/2000);
  RandomWriters writers(
      [this] {
        TransactionSettings settings = Explicit(IsolationLevel::kReadCommitted);
        settings.lock_wait_timeout_ms = 1;
        return RowSession(database_.get(), table_, description_, settings);
      },
      3, seed);
  Status run = build_->Run();
  // Transactions over several rounds, whose rows others change behind them.
  std::unique_ptr<RowSession> held;
  std::mt19937 random(seed);
  for (int round = 0; run.ok() && round < 24; ++round) {
    if (round % 4 == 0) held.reset(new RowSession(NewSession()));
    const int id = static_cast<int>(random() % 400);
    // Others may have the row, or there is none.
    (void)held->Insert({id, "a1", nullptr, "held" + std::to_string(round)});
    (void)held->Update(id / 2, {id / 2, "a2", nullptr, "c" + std::to_string(round)});
    const uint64_t before = writers.changes();
    while (writers.changes() < before + 50) std::this_thread::yield();
    run = build_->CatchUp();
    if (round % 4 != 3) continue;
    ASSERT_TRUE(held->Commit().ok());
    held.reset();
  }
  writers.End();
  ASSERT_TRUE(run.ok()) << run.ToString();
  EXPECT_GE(state_->generation(), 20u);
  const Status published = Publish();
  ASSERT_TRUE(published.ok()) << published.ToString();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_GT(state_->figures()->Sum(&NewIndexFigures::delta_merged), 0u);
  ExpectSingleDeleteBetweenPuts();
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace cairn
