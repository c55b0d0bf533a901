#include "engine/txn/savepoints.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/txn/transaction.h"
#include "tests/unit/codec/random.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {
namespace {

using Later = Savepoints::Later;
using RowMap = std::map<std::string, std::string>;
using View = Transaction::View;

class SavepointsTest : public ::testing::TestWithParam<rocksdb::TxnDBWritePolicy> {
 protected:
  SavepointsTest() {
    DatabaseOptions options = disk_.Options();
    options.transaction.write_policy = GetParam();
    auto database = Database::Open(std::move(options), &disk_.log());
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    database_ = std::move(database).value();
    dictionary_ = Dictionary::Load(database_.get()).value();
    table_ =
        dictionary_->CreateTable("db.t", {{IndexKind::kPrimary}}, /*auto_increment=*/std::nullopt)
            .value();
    table_->counters->row_count.Settle(StoredRows{.counted = kRows});
  }

  void Start(Transaction& transaction, uint64_t changes_per_piece = 0) {
    TransactionSettings settings;
    settings.isolation = IsolationLevel::kRepeatableRead;
    settings.autocommit = false;
    settings.lock_wait_timeout_ms = 1;
    settings.changes_per_piece = changes_per_piece;
    transaction.Start(settings);
  }

  const ColumnFamily& family() { return database_->default_family(); }

  // One statement that writes a row.
  void Put(Transaction& transaction, std::string_view key, std::string_view value) {
    transaction.BeginStatement();
    ASSERT_TRUE(transaction.Lock(family(), key, LockMode::kExclusive).ok());
    ASSERT_TRUE(transaction.Put(family(), key, value).ok());
    transaction.NoteRowCount(*table_, 1);
    transaction.EndStatement();
  }

  RowMap Rows(Transaction& transaction) {
    RowMap rows;
    const auto iterator =
        transaction.NewIterator(family(), rocksdb::ReadOptions(), View::kSnapshot);
    for (iterator->Seek("key"); iterator->Valid() && iterator->key().starts_with("key");
         iterator->Next()) {
      rows[iterator->key().ToString()] = iterator->value().ToString();
    }
    EXPECT_TRUE(iterator->status().ok());
    return rows;
  }

  RowMap CommittedRows() {
    Transaction reader(database_.get());
    reader.Start(TransactionSettings());
    return Rows(reader);
  }

  // What the table's counter has gained.
  int64_t RowsGained() {
    return static_cast<int64_t>(*table_->counters->row_count.value()) - static_cast<int64_t>(kRows);
  }

  static constexpr uint64_t kRows = 1'000'000;

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  std::shared_ptr<const TableDefinition> table_;
};

INSTANTIATE_TEST_SUITE_P(Policies, SavepointsTest,
                         ::testing::Values(rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED),
                         [](const auto& info) {
                           return info.param == rocksdb::WRITE_COMMITTED ? "Committed" : "Prepared";
                         });

TEST_P(SavepointsTest, RollbackUndoesWhatWasWrittenSinceAndTheSavepointStays) {
  Transaction transaction(database_.get());
  Start(transaction);
  Put(transaction, "key1", "before");
  const Savepoint savepoint = transaction.SetSavepoint();
  for (int round = 0; round < 2; ++round) {
    Put(transaction, "key1", "after");
    Put(transaction, "key2", "after");
    ASSERT_TRUE(transaction.RollbackToSavepoint(savepoint).ok());
    EXPECT_EQ(Rows(transaction), (RowMap{{"key1", "before"}}));
  }
  Put(transaction, "key3", "last");
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_EQ(CommittedRows(), (RowMap{{"key1", "before"}, {"key3", "last"}}));
  EXPECT_EQ(RowsGained(), 2);
}

TEST_P(SavepointsTest, ReleaseOfAnOuterOneTakesInnerOnesAlongAndUndoesNothing) {
  Transaction transaction(database_.get());
  Start(transaction);
  const Savepoint outermost = transaction.SetSavepoint();
  Put(transaction, "key1", "one");
  const Savepoint outer = transaction.SetSavepoint();
  Put(transaction, "key2", "two");
  const Savepoint inner = transaction.SetSavepoint();
  Put(transaction, "key3", "three");
  transaction.ReleaseSavepoint(outer, Later::kRelease);
  EXPECT_EQ(Rows(transaction).size(), 3u);
  EXPECT_EQ(transaction.RollbackToSavepoint(inner).code(), StatusCode::kInternal);
  EXPECT_EQ(transaction.RollbackToSavepoint(outer).code(), StatusCode::kInternal);
  ASSERT_TRUE(transaction.RollbackToSavepoint(outermost).ok());
  EXPECT_EQ(Rows(transaction).size(), 0u);
  EXPECT_FALSE(transaction.has_writes());
}

TEST_P(SavepointsTest, ReleaseOfOneAloneLeavesLaterOnes) {
  Transaction transaction(database_.get());
  Start(transaction);
  const Savepoint first = transaction.SetSavepoint();
  Put(transaction, "key1", "one");
  const Savepoint second = transaction.SetSavepoint();
  Put(transaction, "key2", "two");
  transaction.ReleaseSavepoint(first, Later::kKeep);
  ASSERT_TRUE(transaction.RollbackToSavepoint(second).ok());
  EXPECT_EQ(Rows(transaction), (RowMap{{"key1", "one"}}));
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_EQ(RowsGained(), 1);
}

TEST_P(SavepointsTest, AFailedStatementUndoesItselfAndTheSavepointsItSet) {
  Transaction transaction(database_.get());
  Start(transaction);
  const Savepoint savepoint = transaction.SetSavepoint();
  Put(transaction, "key1", "one");
  transaction.BeginStatement();
  ASSERT_TRUE(transaction.Put(family(), "key2", "two").ok());
  const Savepoint inside = transaction.SetSavepoint();
  ASSERT_TRUE(transaction.Put(family(), "key3", "three").ok());
  ASSERT_TRUE(transaction.RollbackToSavepoint(inside).ok());
  ASSERT_TRUE(transaction.Put(family(), "key4", "four").ok());
  EXPECT_EQ(Rows(transaction), (RowMap{{"key1", "one"}, {"key2", "two"}, {"key4", "four"}}));
  ASSERT_TRUE(transaction.RollbackStatement().ok());
  EXPECT_EQ(Rows(transaction), (RowMap{{"key1", "one"}}));
  EXPECT_EQ(transaction.RollbackToSavepoint(inside).code(), StatusCode::kInternal);
  ASSERT_TRUE(transaction.RollbackToSavepoint(savepoint).ok());
  EXPECT_EQ(Rows(transaction), RowMap());
}

TEST_P(SavepointsTest, LocksAndTheSnapshotOutliveTheRollback) {
  Transaction transaction(database_.get());
  Start(transaction);
  const Savepoint savepoint = transaction.SetSavepoint();
  Put(transaction, "key1", "one");
  EXPECT_EQ(Rows(transaction).size(), 1u);
  Transaction other(database_.get());
  Start(other);
  Put(other, "key2", "two");
  ASSERT_TRUE(other.Commit(Durability::kSync).ok());
  ASSERT_TRUE(transaction.RollbackToSavepoint(savepoint).ok());
  EXPECT_EQ(Rows(transaction), RowMap()) << "its snapshot is older than key2";
  Start(other);
  EXPECT_EQ(other.Lock(family(), "key1", LockMode::kExclusive).code(), StatusCode::kLockTimeout);
  ASSERT_TRUE(transaction.Rollback().ok());
  EXPECT_TRUE(other.Lock(family(), "key1", LockMode::kExclusive).ok());
}

TEST_P(SavepointsTest, AutoIncrementValuesAreNotGivenOutAgain) {
  Transaction transaction(database_.get());
  Start(transaction);
  const Savepoint savepoint = transaction.SetSavepoint();
  Put(transaction, "key1", "one");
  transaction.RaiseAutoIncrement(*table_, 8);
  ASSERT_TRUE(transaction.RollbackToSavepoint(savepoint).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_EQ(*dictionary_->LoadAutoIncrement(*table_), 8u);
  EXPECT_EQ(RowsGained(), 0);
}

TEST_P(SavepointsTest, CommittedPiecesStayAndAreTold) {
  Transaction transaction(database_.get());
  Start(transaction, /*changes_per_piece=*/2);
  const Savepoint first = transaction.SetSavepoint();
  transaction.BeginStatement();
  for (const char* key : {"key1", "key2", "key3"}) {
    ASSERT_TRUE(transaction.Put(family(), key, "written").ok());
    ASSERT_TRUE(transaction.EndPiece(Durability::kDelayed).ok());
  }
  transaction.EndStatement();
  EXPECT_TRUE(transaction.CommittedSince(first));
  const Savepoint second = transaction.SetSavepoint();
  EXPECT_FALSE(transaction.CommittedSince(second));
  ASSERT_TRUE(transaction.RollbackToSavepoint(first).ok());
  ASSERT_TRUE(transaction.Commit(Durability::kSync).ok());
  EXPECT_EQ(CommittedRows(), (RowMap{{"key1", "written"}, {"key2", "written"}}));
}

TEST_P(SavepointsTest, OnesThatCameAndWentLeaveNothingInTheBatch) {
  rocksdb::WriteBatchWithIndex batch(rocksdb::BytewiseComparator(), 0, /*overwrite_key=*/true);
  Savepoints savepoints;
  const Savepoint outer = savepoints.Set();
  for (int i = 0; i < 1000; ++i) {
    const Savepoint savepoint = savepoints.Set();
    savepoints.BeforeWrite(&batch);
    ASSERT_TRUE(batch.Put("key", std::to_string(i)).ok());
    savepoints.Release(savepoint, Later::kRelease, &batch);
  }
  ASSERT_TRUE(savepoints.RollbackTo(outer, &batch).ok());
  EXPECT_EQ(batch.GetWriteBatch()->Count(), 0u);
  EXPECT_TRUE(batch.PopSavePoint().IsNotFound());
}

// What a transaction should hold, with a copy for each savepoint.
struct Model {
  struct Held {
    Savepoint savepoint;
    RowMap rows;
    int64_t gained;
  };
  RowMap rows;
  int64_t gained = 0;
  std::vector<Held> held;

  void Hold(Savepoint savepoint) { held.push_back({savepoint, rows, gained}); }
  void RollbackTo(size_t position) {
    rows = held[position].rows;
    gained = held[position].gained;
    held.resize(position + 1);
  }
};

TEST_P(SavepointsTest, RandomProgramsEndWhereTheirModelDoes) {
  cairn::testing::Random random;
  RowMap committed;
  int64_t gained = 0;
  for (int program = 0; program < 60; ++program) {
    Transaction transaction(database_.get());
    Start(transaction);
    Model model{committed, gained, {}};
    std::optional<Model> before_statement;
    const size_t steps = random.Between(1, 60);
    for (size_t step = 0; step < steps; ++step) {
      const std::string key = "key" + std::to_string(random.Below(8));
      switch (random.Below(8)) {
        case 0:
          if (!before_statement) before_statement = model;
          transaction.BeginStatement();
          break;
        case 1:
          if (!before_statement) break;
          transaction.EndStatement();
          // The server releases what a function has set before it returns.
          model.held.resize(before_statement->held.size());
          before_statement.reset();
          break;
        case 2:
          if (!before_statement) break;
          ASSERT_TRUE(transaction.RollbackStatement().ok());
          model = *std::exchange(before_statement, std::nullopt);
          break;
        case 3:
          model.Hold(transaction.SetSavepoint());
          break;
        case 4: {
          // A function sees only its own savepoints.
          const size_t first = before_statement ? before_statement->held.size() : 0;
          if (model.held.size() == first) break;
          const size_t position = random.Between(first, model.held.size() - 1);
          ASSERT_TRUE(transaction.RollbackToSavepoint(model.held[position].savepoint).ok());
          model.RollbackTo(position);
          break;
        }
        case 5: {
          const size_t first = before_statement ? before_statement->held.size() : 0;
          if (model.held.size() == first) break;
          const size_t position = random.Between(first, model.held.size() - 1);
          const Later later = random.OneIn(2) ? Later::kKeep : Later::kRelease;
          transaction.ReleaseSavepoint(model.held[position].savepoint, later);
          model.held.erase(model.held.begin() + static_cast<std::ptrdiff_t>(position),
                           later == Later::kRelease
                               ? model.held.end()
                               : model.held.begin() + static_cast<std::ptrdiff_t>(position) + 1);
          break;
        }
        case 6:
          ASSERT_TRUE(transaction.Delete(family(), key).ok());
          model.rows.erase(key);
          transaction.NoteRowCount(*table_, -1);
          --model.gained;
          break;
        default: {
          const std::string value = std::to_string(random.Bits());
          ASSERT_TRUE(transaction.Put(family(), key, value).ok());
          model.rows[key] = value;
          transaction.NoteRowCount(*table_, 2);
          model.gained += 2;
        }
      }
      ASSERT_EQ(Rows(transaction), model.rows) << "program " << program << ", step " << step;
    }
    if (before_statement) transaction.EndStatement();
    if (random.OneIn(4)) {
      ASSERT_TRUE(transaction.Rollback().ok());
    } else {
      if (random.OneIn(2) && transaction.has_writes()) {
        const TransactionId id{1, std::to_string(program), ""};
        ASSERT_TRUE(transaction.Prepare(id, Durability::kDelayed).ok());
      }
      ASSERT_TRUE(transaction.Commit(Durability::kDelayed).ok());
      committed = model.rows;
      gained = model.gained;
    }
    ASSERT_EQ(CommittedRows(), committed) << "program " << program;
    ASSERT_EQ(RowsGained(), gained) << "program " << program;
  }
}

}  // namespace
}  // namespace cairn
