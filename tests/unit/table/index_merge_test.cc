// Indexes that are built while others write: what becomes of rows that change at each step.
#include "engine/table/index_merge.h"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "engine/base/bytes.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/index_build.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/prepared_transactions.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::Row;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

// Reads and changes single rows of a table, as one session does.
class Session {
 public:
  Session(Database* database, std::shared_ptr<const Table> table,
          const cairn::testing::TestTable& description, const TransactionSettings& settings)
      : description_(description),
        table_(std::move(table)),
        transaction_(database),
        writer_(database, table_.get()),
        cursor_(table_.get()),
        old_record_(description) {
    transaction_.Start(settings);
  }

  Transaction& transaction() { return transaction_; }
  TableWriter& writer() { return writer_; }

  Status Insert(const Row& row) {
    const Record record(description_, row);
    return writer_.Insert(&transaction_, record.data());
  }
  Status Update(int id, const Row& row) {
    CAIRN_RETURN_IF_ERROR(Find(id));
    const Record record(description_, row);
    return writer_.Update(&transaction_, old_record_.data(), record.data(), 0);
  }
  Status Delete(int id) {
    CAIRN_RETURN_IF_ERROR(Find(id));
    return writer_.Delete(&transaction_, old_record_.data(), 0);
  }
  Status Commit() { return transaction_.Commit(Durability::kSync); }

 private:
  // Locks the row.
  Status Find(int id) {
    const ColumnSet all(4, true);
    CursorAccess access;
    access.index = table_->primary_position();
    access.columns = &all;
    access.lock = LockMode::kExclusive;
    CAIRN_RETURN_IF_ERROR(cursor_.Open(&transaction_, access));
    std::string key;
    std::string unpack_info;
    const Record sought(description_, {id, "", 0, ""});
    table_->primary().codec->EncodeKey(sought.data(), 0, &key, &unpack_info);
    return cursor_.ReadRow(key, old_record_.data());
  }

  const cairn::testing::TestTable& description_;
  const std::shared_ptr<const Table> table_;
  Transaction transaction_;
  TableWriter writer_;
  Cursor cursor_;
  Record old_record_;
};

// Runs `step` whenever a build looks whether it is to end: between batches and chunks.
class AtEachLook final : public WaitObserver {
 public:
  explicit AtEachLook(std::function<void()> step) : step_(std::move(step)) {}
  bool Interrupted() override {
    if (!inside_) {
      inside_ = true;
      step_();
      inside_ = false;
    }
    return ended_;
  }
  void WaitBegins() override {}
  void WaitEnds() override {}
  void End() { ended_ = true; }

 private:
  std::function<void()> step_;
  bool inside_ = false;
  bool ended_ = false;
};

class IndexMergeTest : public TableFixture {
 protected:
  explicit IndexMergeTest(std::string family = "default", Key key = Key::kPrimary)
      : TableFixture(family, key), record_(description_), family_(std::move(family)) {}

  void InsertRows(int count) {
    for (int id = 1; id <= count; ++id) InsertCommitted(RowOf(id, "c" + std::to_string(id)));
  }
  static Row RowOf(int id, const std::string& c) {
    return {id, "a" + std::to_string(id % 3), id, c};
  }

  // Begins indexes on `c`, of which the last is UNIQUE if so wished, and opens the table anew.
  void Begin(bool unique = false) {
    plain_layouts_ = description_.indexes();
    description_.Key(300, {"a", "c"});
    if (unique) {
      description_.UniqueKey(301, {"c"});
    } else {
      description_.Key(301, {"c"});
    }
    const std::vector<IndexLayout> added(description_.indexes().end() - 2,
                                         description_.indexes().end());
    const NewIndex index{IndexKind::kSecondary, family_};
    auto state = dictionary_->BeginBuild("db.t", {index, index}, added);
    ASSERT_TRUE(state.ok()) << state.status().ToString();
    state_ = *state;
    auto definition = std::make_shared<TableDefinition>(*dictionary_->Find("db.t"));
    definition->build = nullptr;
    positions_.clear();
    for (const BuildingIndex& building : state_->indexes()) {
      positions_.push_back(static_cast<uint32_t>(definition->indexes.size()));
      definition->indexes.push_back(building.entry);
    }
    altered_ = *Table::Open(definition, description_.layout(), description_.indexes());
    OpenTable();
    NewBuild();
  }

  void NewBuild(uint64_t buffer_bytes = 1 << 20) {
    IndexBuildSettings settings;
    settings.sort.directory = database_->directory();
    settings.sort.buffer_bytes = buffer_bytes;
    settings.append_checksums = true;
    build_ =
        std::make_unique<IndexBuild>(database_.get(), altered_.get(), positions_, settings,
                                     record_.data(), /*virtual_columns=*/nullptr, state_.get());
  }

  // As sessions open it now.
  void OpenTable() {
    const auto definition = dictionary_->Find("db.t");
    const bool has_new = definition->indexes.size() > plain_layouts_.size();
    table_ = *Table::Open(definition, description_.layout(),
                          has_new ? description_.indexes() : plain_layouts_);
    writer_ = std::make_unique<TableWriter>(database_.get(), table_.get());
  }

  Session NewSession() {
    return Session(database_.get(), table_, description_, Explicit(IsolationLevel::kReadCommitted));
  }
  // In a transaction of its own.
  template <typename Change>
  void Do(Change change) {
    Session session = NewSession();
    const Status changed = change(session);
    ASSERT_TRUE(changed.ok()) << changed.ToString();
    ASSERT_TRUE(session.Commit().ok());
  }

  Status Publish() {
    CAIRN_RETURN_IF_ERROR(build_->Finish());
    Dictionary::IndexChange change{"db.t", {}, {}, state_};
    for (const IndexEntry& index : altered_->definition().indexes)
      change.indexes.push_back(index.id);
    for (const BuildingIndex& building : state_->indexes()) {
      change.added.push_back(building.entry);
      change.added.back().built_at = build_->built_at();
    }
    CAIRN_RETURN_IF_ERROR(dictionary_->ChangeIndexes({change}));
    OpenTable();
    return Status();
  }
  void Abandon() {
    build_.reset();
    dictionary_->AbandonBuild(state_.get());
    OpenTable();
  }

  // The database is closed and opened again. Returns the locks of what is prepared.
  std::unique_ptr<PreparedLocks> Reopen() {
    build_.reset();
    altered_.reset();
    state_.reset();
    writer_.reset();
    table_.reset();
    dictionary_.reset();
    database_.reset();
    DatabaseOptions options = disk_.Options();
    options.transaction.custom_mutex_factory = MakeInterruptibleMutexFactory();
    database_ = std::move(*Database::Open(std::move(options), &disk_.log()));
    auto locks = PreparedLocks::Take(database_.get(), nullptr);
    dictionary_ = std::move(*Dictionary::Load(database_.get()));
    OpenTable();
    return std::move(*locks);
  }

  // All that was built, final and delta.
  std::vector<IndexId> BuiltIds() const {
    std::vector<IndexId> ids;
    for (const BuildingIndex& building : state_->indexes()) {
      ids.push_back(building.entry.id);
      ids.push_back(building.delta.id);
    }
    return ids;
  }
  std::vector<IndexId> Deltas() const {
    std::vector<IndexId> ids;
    for (const BuildingIndex& building : state_->indexes()) ids.push_back(building.delta.id);
    return ids;
  }

  size_t EntryCount(const IndexEntry& index) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    OrderedIterator iterator(index, &transaction, Transaction::View::kLatest);
    size_t count = 0;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) ++count;
    EXPECT_TRUE(iterator.status().ok());
    return count;
  }

  std::vector<int> IdsBy(uint32_t index) {
    Transaction transaction(database_.get());
    transaction.Start(Autocommit());
    return Ids(transaction, index);
  }

  // What the log has of the new indexes: each entry is put when it is not there, and removed by one
  // SingleDelete. `ingested` says which are there before.
  void ExpectOnePutForEachSingleDelete();

  static constexpr uint32_t kByAC = 3;
  static constexpr uint32_t kByC = 4;
  Record record_;
  const std::string family_;
  std::vector<IndexLayout> plain_layouts_;
  std::shared_ptr<IndexBuildState> state_;
  std::vector<uint32_t> positions_;
  std::shared_ptr<const Table> altered_;
  std::unique_ptr<IndexBuild> build_;
};

// What happened last to each key of the new indexes, in the order of the log.
class PutCounter final : public rocksdb::WriteBatch::Handler {
 public:
  explicit PutCounter(std::vector<uint32_t> numbers) : numbers_(std::move(numbers)) {}

  rocksdb::Status PutCF(uint32_t, const rocksdb::Slice& key, const rocksdb::Slice&) override {
    Note(key, true);
    return rocksdb::Status::OK();
  }
  rocksdb::Status SingleDeleteCF(uint32_t, const rocksdb::Slice& key) override {
    Note(key, false);
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice& key) override {
    EXPECT_FALSE(IsNew(key)) << "an entry is removed by a Delete: " << ToHex(key.ToStringView());
    return rocksdb::Status::OK();
  }
  rocksdb::Status MergeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status MarkBeginPrepare(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkEndPrepare(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkRollback(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkCommit(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }

  size_t count() const { return put_.size(); }

 private:
  bool IsNew(const rocksdb::Slice& key) const {
    return key.size() >= 4 && std::find(numbers_.begin(), numbers_.end(),
                                        LoadBigEndian<uint32_t>(key.data())) != numbers_.end();
  }
  void Note(const rocksdb::Slice& key, bool put) {
    if (!IsNew(key)) return;
    const auto [before, first] = put_.emplace(key.ToString(), put);
    if (first) return;
    EXPECT_NE(before->second, put) << ToHex(key.ToStringView());
    before->second = put;
  }

  const std::vector<uint32_t> numbers_;
  std::map<std::string, bool> put_;
};

void IndexMergeTest::ExpectOnePutForEachSingleDelete() {
  std::vector<uint32_t> numbers;
  for (const BuildingIndex& building : state_->indexes()) {
    numbers.push_back(building.entry.id.index_number);
  }
  PutCounter counter(numbers);
  std::unique_ptr<rocksdb::TransactionLogIterator> log;
  ASSERT_TRUE(database_->WriteLog().ok());
  ASSERT_TRUE(database_->rocksdb()->GetUpdatesSince(0, &log, {}).ok());
  for (; log->Valid(); log->Next()) {
    ASSERT_TRUE(log->GetBatch().writeBatchPtr->Iterate(&counter).ok());
  }
  EXPECT_GT(counter.count(), 0u);
}

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
    Do([&](Session& s) { return s.Insert(RowOf(first + 100, "new")); });
    Do([&](Session& s) { return s.Update(first, RowOf(first, "other")); });
    // To another value and back, in one transaction and in two.
    Do([&](Session& s) {
      CAIRN_RETURN_IF_ERROR(s.Update(first + 1, RowOf(first + 1, "other")));
      return s.Update(first + 1, RowOf(first + 1, "c" + std::to_string(first + 1)));
    });
    Do([&](Session& s) { return s.Update(first + 2, RowOf(first + 2, "other")); });
    Do([&](Session& s) {
      return s.Update(first + 2, RowOf(first + 2, "c" + std::to_string(first + 2)));
    });
    Do([&](Session& s) { return s.Delete(first + 3); });
    Do([&](Session& s) { return s.Delete(first + 4); });
    Do([&](Session& s) { return s.Insert(RowOf(first + 4, "again")); });
    Do([&](Session& s) { return s.Update(first + 5, RowOf(first + 1000, "key")); });
    Do([&](Session& s) { return s.Insert(RowOf(first + 101, "short")); });
    Do([&](Session& s) { return s.Delete(first + 101); });
    RollBackChanges(first + 6);
  }

  void RollBackChanges(int first) {
    Session session = NewSession();
    session.transaction().BeginStatement();
    ASSERT_TRUE(session.Update(first, RowOf(first, "kept")).ok());
    session.transaction().EndStatement();
    const Savepoint savepoint = session.transaction().SetSavepoint();
    ASSERT_TRUE(session.Update(first, RowOf(first, "undone")).ok());
    ASSERT_TRUE(session.Delete(first + 1).ok());
    ASSERT_TRUE(session.transaction().RollbackToSavepoint(savepoint).ok());
    ASSERT_TRUE(session.Commit().ok());
    Session undone = NewSession();
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
  ExpectOnePutForEachSingleDelete();
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  ASSERT_TRUE(database_->rocksdb()
                  ->CompactRange(rocksdb::CompactRangeOptions(), database_->default_family().handle,
                                 nullptr, nullptr)
                  .ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(ReverseIndexMergeTest, InAReverseFamily) {
  InsertRows(20);
  Begin(/*unique=*/true);
  Do([&](Session& s) { return s.Update(3, RowOf(3, "x")); });
  ASSERT_TRUE(build_->Run().ok());
  Do([&](Session& s) { return s.Update(4, RowOf(4, "y")); });
  Do([&](Session& s) { return s.Delete(5); });
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(IdsBy(kByC).size(), 19u);
}

TEST_F(IndexMergeTest, AChangeOfOtherColumnsLeavesNothingToMerge) {
  InsertRows(3);
  Begin();
  Do([&](Session& s) { return s.Update(1, {1, "a1", 77, "c1"}); });
  EXPECT_EQ(state_->figures().delta_written, 0u);
  EXPECT_EQ(EntryCount(state_->indexes()[0].delta), 0u);
}

TEST_F(IndexMergeTest, RowsThatOthersHaveLockedAreMergedLast) {
  InsertRows(3);
  Begin();
  Do([&](Session& s) { return s.Update(1, RowOf(1, "x")); });
  Session holder = NewSession();
  ASSERT_TRUE(holder.Update(1, RowOf(1, "y")).ok());
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(EntryCount(state_->indexes()[1].delta), 2u) << "c1 goes, x comes";
  EXPECT_EQ(build_->Finish().code(), StatusCode::kLockTimeout);
  ASSERT_TRUE(holder.Commit().ok());
  ASSERT_TRUE(Publish().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, ManyChangesAreMergedInBatches) {
  InsertRows(10);
  Begin();
  ASSERT_TRUE(build_->Run().ok());
  for (int id = 100; id < 2300; ++id) {
    Do([&](Session& s) { return s.Insert(RowOf(id, "c" + std::to_string(id))); });
  }
  ASSERT_TRUE(Publish().ok());
  EXPECT_EQ(state_->figures().delta_merged, 4400u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, DuplicatesThatStayAreFound) {
  InsertRows(4);
  Begin(/*unique=*/true);
  Do([&](Session& s) { return s.Insert(RowOf(9, "c2")); });
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_EQ(build_->Finish().code(), StatusCode::kDuplicateKey);
  EXPECT_EQ(build_->duplicate_index(), kByC);
  EXPECT_EQ(record_.Data(3), "c2");
}

TEST_F(IndexMergeTest, DuplicatesThatRoundsBringTogetherAreFound) {
  InsertRows(4);
  for (const bool in_one_round : {false, true}) {
    SCOPED_TRACE(in_one_round);
    Begin(/*unique=*/true);
    ASSERT_TRUE(build_->Run().ok());
    if (in_one_round) Do([&](Session& s) { return s.Insert(RowOf(10, "twin")); });
    Do([&](Session& s) { return s.Insert(RowOf(11, in_one_round ? "twin" : "c2")); });
    EXPECT_EQ(build_->Finish().code(), StatusCode::kDuplicateKey);
    EXPECT_EQ(record_.Data(3), in_one_round ? "twin" : "c2");
    Abandon();
    Do([&](Session& s) { return s.Delete(11); });
    description_ = cairn::testing::TestTable();
    description_.Int("id")
        .Varchar("a", 20, cairn::testing::Latin1Swedish())
        .Nullable()
        .Int("b")
        .Nullable()
        .Varchar("c", 30, cairn::testing::Utf8mb4General());
    description_.PrimaryKey(256, {"id"}).UniqueKey(257, {"b"}).Key(258, {"a"});
  }
}

TEST_F(IndexMergeTest, DuplicatesThatAreGoneInTimeDoNoHarm) {
  InsertRows(4);
  InsertCommitted(RowOf(5, "c4"));
  Begin(/*unique=*/true);
  Do([&](Session& s) { return s.Insert(RowOf(6, "c1")); });
  Do([&](Session& s) { return s.Insert(RowOf(7, "c1")); });
  ASSERT_TRUE(build_->Run().ok());
  EXPECT_GT(state_->figures().suspects, 0u);
  Do([&](Session& s) { return s.Delete(6); });
  Do([&](Session& s) { return s.Update(7, RowOf(7, "c7")); });
  Do([&](Session& s) { return s.Delete(4); });
  const Status published = Publish();
  ASSERT_TRUE(published.ok()) << published.ToString();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(IndexMergeTest, ASwapOfTwoValuesIsNoDuplicate) {
  InsertRows(4);
  Begin(/*unique=*/true);
  ASSERT_TRUE(build_->Run().ok());
  Do([&](Session& s) {
    CAIRN_RETURN_IF_ERROR(s.Update(1, RowOf(1, "c2")));
    return s.Update(2, RowOf(2, "c1"));
  });
  const Status published = Publish();
  ASSERT_TRUE(published.ok()) << published.ToString();
  EXPECT_THAT(IdsBy(kByC), ElementsAre(2, 1, 3, 4));
}

TEST_F(IndexMergeTest, AnAbandonedBuildIsRemovedWhenItsWritersHaveEnded) {
  InsertRows(4);
  Begin();
  ASSERT_TRUE(build_->Run().ok());
  Session open = NewSession();
  ASSERT_TRUE(open.Insert(RowOf(5, "c5")).ok());
  const std::vector<IndexId> ids = BuiltIds();
  const auto state = state_;
  Abandon();
  EXPECT_EQ(dictionary_->Find("db.t")->build, nullptr);
  ASSERT_TRUE(open.Insert(RowOf(6, "c6")).ok()) << "the statement knows the old definition";
  EXPECT_EQ(state->figures().delta_written, 2u);
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
    Session session = NewSession();
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

TEST_F(IndexMergeTest, APreparedTransactionOfAnAbandonedBuildIsWaitedFor) {
  InsertRows(4);
  Begin();
  const TransactionId id{1, "g", "b"};
  const uint32_t delta = Deltas()[0].index_number;
  {
    Session session = NewSession();
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
    Do([&](Session& s) { return s.Insert(RowOf(10 + step, "new")); });
    if (step >= 1) {
      ASSERT_TRUE(build_->Run().ok());
    }
    Do([&](Session& s) { return s.Insert(RowOf(20 + step, "new")); });
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
  Do([&](Session& s) { return s.Update(2, RowOf(2, "x")); });
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
    Session careless(database_.get(), table_, description_, unlocked);
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

TEST_F(IndexMergeTest, AStatementThatOutlivesTheBuildIsRefused) {
  InsertRows(3);
  Begin();
  const auto old_table = table_;
  ASSERT_TRUE(build_->Run().ok());
  ASSERT_TRUE(Publish().ok());
  Session late(database_.get(), old_table, description_, Explicit(IsolationLevel::kReadCommitted));
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
  Do([&](Session& s) { return s.Update(2, RowOf(2, "x")); });
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
  RandomWriters(const std::function<Session()>& new_session, int thread_count, uint32_t seed) {
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
  void ChangeSome(Session session, std::mt19937* engine) {
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
        return Session(database_.get(), table_, description_, settings);
      },
      3, seed);
  const Status run = build_->Run();
  while (writers.changes() < 500) std::this_thread::yield();
  writers.End();
  ASSERT_TRUE(run.ok()) << run.ToString();
  const Status published = Publish();
  ASSERT_TRUE(published.ok()) << published.ToString();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_GT(state_->figures().delta_merged, 0u);
  ExpectOnePutForEachSingleDelete();
  ASSERT_TRUE(database_->maintenance().FlushMemtables().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace cairn
