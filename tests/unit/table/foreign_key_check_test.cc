// Two transactions and a foreign key: every interleaving in which a child might lose its parent. A
// lock that must be waited for is refused after a moment; once the other has ended, the same is
// done again.
#include "engine/table/foreign_key_check.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "engine/locks/range_lock_table.h"
#include "engine/table/foreign_key_binding.h"
#include "tests/unit/table/table_fixture.h"

namespace cairn {
namespace {

using cairn::testing::Record;
using cairn::testing::Row;
using cairn::testing::TestTable;

// A table and a writer that checks its foreign keys.
struct CheckedTable {
  TestTable description;
  std::shared_ptr<const Table> table;
  std::unique_ptr<TableWriter> writer;
};

// p (id INT PRIMARY KEY, u INT NULL UNIQUE, n INT NULL, KEY (n)) and c (id INT PRIMARY KEY, p INT
// NULL, KEY (p)), whose p references the column of p that a test chooses. p has (1, 10, 100) and
// (2, 20, 200). The parameters: an isolation level, and whether there are range locks.
class ForeignKeyCheckTest : public ::testing::TestWithParam<std::tuple<IsolationLevel, bool>> {
 protected:
  ForeignKeyCheckTest() {
    DatabaseOptions options = disk_.Options();
    const auto mutexes = MakeInterruptibleMutexFactory();
    options.transaction.custom_mutex_factory = mutexes;
    database_ = std::move(*Database::Open(std::move(options), &disk_.log()));
    if (std::get<1>(GetParam())) {
      database_->UseRangeLocks(std::make_unique<RangeLockTable>(mutexes));
    }
    dictionary_ = std::move(*Dictionary::Load(database_.get()));
    parent_.description.Int("id").Int("u").Nullable().Int("n").Nullable();
    parent_.description.PrimaryKey(256, {"id"}).UniqueKey(257, {"u"}).Key(258, {"n"});
    child_.description.Int("id").Int("p").Nullable();
    child_.description.PrimaryKey(256, {"id"}).Key(257, {"p"});
    Create("db.p", &parent_);
    Create("db.c", &child_);
    Reference("id");
    Transaction filler(database_.get());
    Start(&filler);
    for (const Row& row : {Row{1, 10, 100}, Row{2, 20, 200}}) {
      EXPECT_TRUE(Insert(&filler, parent_, row).ok());
    }
    EXPECT_TRUE(filler.Commit(Durability::kSync).ok());
    one_.emplace(database_.get());
    two_.emplace(database_.get());
    Start(&*one_);
    Start(&*two_);
  }

  void Create(const std::string& name, CheckedTable* made) {
    std::vector<NewIndex> indexes;
    for (const IndexLayout& index : made->description.indexes()) {
      indexes.emplace_back().kind = index.kind;
    }
    const auto definition = dictionary_->CreateTable(name, indexes, std::nullopt);
    ASSERT_TRUE(definition.ok()) << definition.status().ToString();
    made->table =
        *Table::Open(*definition, made->description.layout(), made->description.indexes());
    made->writer = std::make_unique<TableWriter>(database_.get(), made->table.get());
  }

  // The child references this column of the parent.
  void Reference(const std::string& column) {
    auto key = std::make_shared<ForeignKey>();
    key->number = 300;
    key->record.child = "db.c";
    key->record.parent = "db.p";
    auto of_child = std::make_shared<BoundForeignKeys>();
    of_child->generation = dictionary_->foreign_keys().generation();
    of_child->as_child.push_back(Bind(key, child_, "p", parent_, column));
    child_.writer->foreign_keys().Bind(of_child);
    child_.writer->foreign_keys().RebindWith(&dictionary_->foreign_keys(), [of_child] {
      return Result<ForeignKeyChecks::Keys>(of_child);
    });
    auto of_parent = std::make_shared<BoundForeignKeys>();
    of_parent->as_parent.push_back(Bind(key, parent_, column, child_, "p"));
    parent_.writer->foreign_keys().Bind(of_parent);
  }
  static BoundForeignKey Bind(const std::shared_ptr<const ForeignKey>& key, const CheckedTable& own,
                              const std::string& column, const CheckedTable& other,
                              const std::string& other_column) {
    const ForeignKeyBinding side = BindForeignKeyColumns(*own.table, {column});
    const ForeignKeyBinding other_side = BindForeignKeyColumns(*other.table, {other_column});
    EXPECT_TRUE(side.ok() && other_side.ok());
    BoundForeignKey bound;
    bound.key = key;
    bound.columns = *ForeignKeyColumns::Make(own.table->layout(), side.columns);
    bound.index = side.index;
    bound.other = other.table;
    bound.other_columns = *ForeignKeyColumns::Make(other.table->layout(), other_side.columns);
    bound.other_index = other_side.index;
    bound.search = *ForeignKeySearch::Make(
        {own.table->layout(), side.columns}, {other.table->layout(), other_side.columns},
        other.table->primary().layout(), other.table->index(other_side.index).layout());
    return bound;
  }

  static void Start(Transaction* transaction) {
    TransactionSettings settings;
    settings.isolation = std::get<0>(GetParam());
    settings.autocommit = false;
    settings.lock_wait_timeout_ms = 20;
    transaction->Start(settings);
  }

  static std::string KeyOf(const CheckedTable& table, const Record& record) {
    std::string key;
    std::string unpack_info;
    table.table->primary().codec->EncodeKey(record.data(), 0, &key, &unpack_info);
    return key;
  }
  static Status Lock(Transaction* transaction, const CheckedTable& table, const Record& record) {
    return transaction->Lock(table.table->primary().family(), KeyOf(table, record),
                             LockMode::kExclusive);
  }
  static Status Insert(Transaction* transaction, const CheckedTable& table, const Row& row) {
    const Record record(table.description, row);
    return table.writer->Insert(transaction, record.data());
  }
  static Status Update(Transaction* transaction, const CheckedTable& table, const Row& old_row,
                       const Row& new_row) {
    const Record old_record(table.description, old_row);
    const Record new_record(table.description, new_row);
    CAIRN_RETURN_IF_ERROR(Lock(transaction, table, old_record));
    return table.writer->Update(transaction, old_record.data(), new_record.data(), 0);
  }
  static Status Delete(Transaction* transaction, const CheckedTable& table, const Row& row) {
    const Record record(table.description, row);
    CAIRN_RETURN_IF_ERROR(Lock(transaction, table, record));
    return table.writer->Delete(transaction, record.data(), 0);
  }

  // How many locks a child takes.
  uint64_t LocksOf(const Row& child) {
    const uint64_t before = one_->lock_count();
    EXPECT_EQ(Insert(&*one_, child_, child).code(), StatusCode::kOk);
    return one_->lock_count() - before;
  }
  void Enforce(bool enforce) {
    child_.writer->foreign_keys().Enforce(enforce);
    parent_.writer->foreign_keys().Enforce(enforce);
  }

  // What `second` says while the first transaction is open, after its commit, and after its
  // rollback.
  struct Answers {
    StatusCode meanwhile;
    StatusCode after_commit;
    StatusCode after_rollback;
    bool operator==(const Answers&) const = default;
    friend std::ostream& operator<<(std::ostream& to, const Answers& answers) {
      return to << ToString(answers.meanwhile) << ", " << ToString(answers.after_commit) << ", "
                << ToString(answers.after_rollback);
    }
  };
  template <typename First, typename Second>
  Answers Interleave(First first, Second second) {
    Answers answers{};
    if (!one_->started()) Start(&*one_);
    EXPECT_EQ(first(&*one_).code(), StatusCode::kOk);
    answers.meanwhile = Try(second);
    EXPECT_TRUE(one_->Rollback().ok());
    answers.after_rollback = Try(second);
    Start(&*one_);
    EXPECT_EQ(first(&*one_).code(), StatusCode::kOk);
    EXPECT_EQ(Try(second), answers.meanwhile);
    EXPECT_TRUE(one_->Commit(Durability::kSync).ok());
    answers.after_commit = Try(second);
    return answers;
  }
  // In a transaction that leaves nothing.
  template <typename Second>
  StatusCode Try(Second second) {
    two_->BeginStatement();
    const StatusCode code = second(&*two_).code();
    EXPECT_TRUE(two_->Rollback().ok());
    Start(&*two_);
    return code;
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  CheckedTable parent_;
  CheckedTable child_;
  std::optional<Transaction> one_;
  std::optional<Transaction> two_;
};

constexpr StatusCode kOk = StatusCode::kOk;
constexpr StatusCode kWaits = StatusCode::kLockTimeout;
constexpr StatusCode kNoParent = StatusCode::kNoReferencedRow;
constexpr StatusCode kHasChild = StatusCode::kRowIsReferenced;

TEST_P(ForeignKeyCheckTest, AChildNeedsItsParentAndKeepsIt) {
  EXPECT_EQ(Insert(&*one_, child_, {1, 3}).code(), kNoParent);
  EXPECT_EQ(child_.writer->foreign_keys().failed().number, 300u);
  EXPECT_EQ(Insert(&*one_, child_, {1, nullptr}).code(), kOk);
  EXPECT_EQ(Insert(&*one_, child_, {2, 2}).code(), kOk);
  EXPECT_EQ(Update(&*one_, child_, {2, 2}, {2, 3}).code(), kNoParent);
  EXPECT_EQ(Delete(&*one_, parent_, {2, 20, 200}).code(), kHasChild);
  EXPECT_EQ(Update(&*one_, parent_, {2, 20, 200}, {3, 20, 200}).code(), kHasChild);
  EXPECT_EQ(Update(&*one_, parent_, {2, 20, 200}, {2, 21, nullptr}).code(), kOk);
  EXPECT_EQ(Update(&*one_, child_, {2, 2}, {2, 1}).code(), kOk);
  EXPECT_EQ(Delete(&*one_, parent_, {2, 21, nullptr}).code(), kOk);
  EXPECT_EQ(Insert(&*one_, child_, {3, 2}).code(), kNoParent)
      << "it is gone for its own transaction";
  EXPECT_EQ(Delete(&*one_, child_, {2, 1}).code(), kOk);
  EXPECT_EQ(Delete(&*one_, parent_, {1, 10, 100}).code(), kOk);
}

TEST_P(ForeignKeyCheckTest, NothingIsCheckedWhereThatIsNotEnforced) {
  Enforce(false);
  EXPECT_EQ(Insert(&*one_, child_, {1, 3}).code(), kOk);
  EXPECT_EQ(Insert(&*one_, child_, {2, 2}).code(), kOk);
  EXPECT_EQ(Delete(&*one_, parent_, {2, 20, 200}).code(), kOk);
}

TEST_P(ForeignKeyCheckTest, AParentIsKeptForAChildThatMayCome) {
  const Answers expected{kWaits, kHasChild, kOk};
  for (const char* const column : {"id", "u", "n"}) {
    Reference(column);
    const int value = column[0] == 'i' ? 1 : column[0] == 'u' ? 10 : 100;
    const auto found = Interleave(
        [&](Transaction* first) {
          return Insert(first, child_, {value, value});
        },
        [&](Transaction* second) {
          return Delete(second, parent_, {1, 10, 100});
        });
    EXPECT_EQ(found, expected) << column;
    Transaction cleaner(database_.get());
    Start(&cleaner);
    ASSERT_EQ(Delete(&cleaner, child_, {value, value}).code(), kOk);
    ASSERT_TRUE(cleaner.Commit(Durability::kSync).ok());
  }
}

TEST_P(ForeignKeyCheckTest, AChildWaitsForAParentThatMayGo) {
  for (const char* const column : {"id", "u", "n"}) {
    Reference(column);
    const int value = column[0] == 'i' ? 1 : column[0] == 'u' ? 10 : 100;
    const auto found = Interleave(
        [&](Transaction* first) {
          return Delete(first, parent_, {1, 10, 100});
        },
        [&](Transaction* second) {
          return Insert(second, child_, {1, value});
        });
    EXPECT_EQ(found, (Answers{kWaits, kNoParent, kOk}));
    Transaction filler(database_.get());
    Start(&filler);
    ASSERT_EQ(Insert(&filler, parent_, {1, 10, 100}).code(), kOk);
    ASSERT_TRUE(filler.Commit(Durability::kSync).ok());
  }
}

TEST_P(ForeignKeyCheckTest, AChildWaitsForAParentThatMayComeByAUniqueKey) {
  const auto comes = [&](Transaction* first) { return Insert(first, parent_, {3, 30, 300}); };
  const auto found = Interleave(comes, [&](Transaction* second) {
    return Insert(second, child_, {1, 3});
  });
  EXPECT_EQ(found, (Answers{kWaits, kOk, kNoParent}));
  Reference("u");
  const auto moves = [&](Transaction* first) {
    return Update(first, parent_, {2, 20, 200}, {2, 40, 200});
  };
  const auto by_unique = Interleave(moves, [&](Transaction* second) {
    return Insert(second, child_, {1, 40});
  });
  EXPECT_EQ(by_unique, (Answers{kWaits, kOk, kNoParent}));
}

TEST_P(ForeignKeyCheckTest, AParentThatMayComeByAnotherKeyIsNoneYet) {
  Reference("n");
  const auto found = Interleave(
      [&](Transaction* first) {
        return Insert(first, parent_, {3, 30, 300});
      },
      [&](Transaction* second) {
        return Insert(second, child_, {1, 300});
      });
  EXPECT_EQ(found, (Answers{kNoParent, kOk, kNoParent}));
}

TEST_P(ForeignKeyCheckTest, AParentWaitsForAChildThatMayGo) {
  Transaction filler(database_.get());
  Start(&filler);
  ASSERT_EQ(Insert(&filler, child_, {1, 1}).code(), kOk);
  ASSERT_EQ(Insert(&filler, child_, {2, 2}).code(), kOk);
  ASSERT_TRUE(filler.Commit(Durability::kSync).ok());
  const auto moved = Interleave(
      [&](Transaction* first) {
        return Update(first, child_, {1, 1}, {1, nullptr});
      },
      [&](Transaction* second) {
        return Delete(second, parent_, {1, 10, 100});
      });
  EXPECT_EQ(moved, (Answers{kWaits, kOk, kHasChild}));
  const auto deleted = Interleave(
      [&](Transaction* first) {
        return Delete(first, child_, {2, 2});
      },
      [&](Transaction* second) {
        return Update(second, parent_, {2, 20, 200}, {4, 20, 200});
      });
  EXPECT_EQ(deleted, (Answers{kWaits, kOk, kHasChild}));
}

TEST_P(ForeignKeyCheckTest, SnapshotsAreNotAsked) {
  one_->EnsureSnapshot();
  ASSERT_EQ(Insert(&*two_, parent_, {3, 30, 300}).code(), kOk);
  ASSERT_EQ(Insert(&*two_, child_, {1, 1}).code(), kOk);
  ASSERT_EQ(Delete(&*two_, parent_, {2, 20, 200}).code(), kOk);
  ASSERT_TRUE(two_->Commit(Durability::kSync).ok());
  EXPECT_EQ(Insert(&*one_, child_, {2, 3}).code(), kOk);
  EXPECT_EQ(Insert(&*one_, child_, {3, 2}).code(), kNoParent);
  EXPECT_EQ(Delete(&*one_, parent_, {1, 10, 100}).code(), kHasChild);
}

TEST_P(ForeignKeyCheckTest, AParentIsLockedOnceAndThatOfTheTransactionItselfNotAtAll) {
  const uint64_t own = LocksOf({1, nullptr});
  EXPECT_EQ(LocksOf({2, 2}), own + 1);
  EXPECT_EQ(LocksOf({3, 2}), own);
  ASSERT_EQ(Insert(&*one_, parent_, {7, nullptr, nullptr}).code(), kOk);
  EXPECT_EQ(LocksOf({4, 7}), own);
  ASSERT_EQ(Update(&*one_, parent_, {1, 10, 100}, {1, 11, 100}).code(), kOk);
  EXPECT_EQ(LocksOf({5, 1}), own);
}

TEST_P(ForeignKeyCheckTest, AParentThatTheChildsTransactionHasWrittenStays) {
  const Answers expected{kWaits, kHasChild, kOk};
  EXPECT_EQ(Interleave(
                [&](Transaction* first) {
                  const Status updated = Update(first, parent_, {1, 10, 100}, {1, 11, 100});
                  return updated.ok() ? Insert(first, child_, {1, 1}) : updated;
                },
                [&](Transaction* second) {
                  return Delete(second, parent_, {1, 10, 100});
                }),
            expected);
}

TEST_P(ForeignKeyCheckTest, WhatWasFoundIsForgottenWhenItGoes) {
  for (const char* const column : {"id", "u", "n"}) {
    SCOPED_TRACE(column);
    Reference(column);
    const int value = column[0] == 'i' ? 2 : column[0] == 'u' ? 20 : 200;
    const auto try_others = [&] {
      EXPECT_EQ(Insert(&*one_, child_, {7, value}).code(), kOk) << "found";
      Enforce(false);
    };
    // Deleted where nothing is checked.
    try_others();
    ASSERT_EQ(Delete(&*one_, parent_, {2, 20, 200}).code(), kOk);
    Enforce(true);
    EXPECT_EQ(Insert(&*one_, child_, {8, value}).code(), kNoParent);
    ASSERT_TRUE(one_->Rollback().ok());
    Start(&*one_);
    // Updated there.
    try_others();
    ASSERT_EQ(Update(&*one_, parent_, {2, 20, 200}, {3, 30, 300}).code(), kOk);
    Enforce(true);
    EXPECT_EQ(Insert(&*one_, child_, {8, value}).code(), kNoParent);
    EXPECT_EQ(Insert(&*one_, child_, {9, value / 2 * 3}).code(), kOk);
    ASSERT_TRUE(one_->Rollback().ok());
    Start(&*one_);
    // Deleted where that is checked.
    EXPECT_EQ(Insert(&*one_, child_, {7, value}).code(), kOk);
    EXPECT_EQ(Delete(&*one_, child_, {7, value}).code(), kOk);
    EXPECT_EQ(Delete(&*one_, parent_, {2, 20, 200}).code(), kOk);
    EXPECT_EQ(Insert(&*one_, child_, {8, value}).code(), kNoParent);
    ASSERT_TRUE(one_->Rollback().ok());
    Start(&*one_);
  }
}

TEST_P(ForeignKeyCheckTest, WhatWasFoundIsForgottenWithASavepointAndAtTheEnd) {
  const Savepoint before = one_->SetSavepoint();
  ASSERT_EQ(Insert(&*one_, parent_, {7, 70, 700}).code(), kOk);
  for (const char* const column : {"id", "u", "n"}) {
    Reference(column);
    const int value = column[0] == 'i' ? 7 : column[0] == 'u' ? 70 : 700;
    EXPECT_EQ(Insert(&*one_, child_, {value, value}).code(), kOk);
    EXPECT_EQ(Insert(&*one_, child_, {value + 1, value}).code(), kOk);
  }
  ASSERT_TRUE(one_->RollbackToSavepoint(before).ok());
  for (const char* const column : {"id", "u", "n"}) {
    Reference(column);
    const int value = column[0] == 'i' ? 7 : column[0] == 'u' ? 70 : 700;
    EXPECT_EQ(Insert(&*one_, child_, {value, value}).code(), kNoParent);
  }
  Reference("id");
  EXPECT_EQ(Insert(&*one_, child_, {1, 1}).code(), kOk);
  ASSERT_TRUE(one_->Rollback().ok());
  ASSERT_EQ(Delete(&*two_, parent_, {1, 10, 100}).code(), kOk);
  ASSERT_TRUE(two_->Commit(Durability::kSync).ok());
  Start(&*one_);
  EXPECT_EQ(Insert(&*one_, child_, {1, 1}).code(), kNoParent);
}

TEST_P(ForeignKeyCheckTest, WhatWasFoundByOtherDefinitionsIsLookedForAgain) {
  const uint64_t own = LocksOf({1, nullptr});
  EXPECT_EQ(LocksOf({2, 2}), own + 1);
  ASSERT_EQ(Delete(&*two_, parent_, {1, 10, 100}).code(), kOk);
  FoundParents& found = one_->found_parents();
  const uint64_t generation = dictionary_->foreign_keys().generation();
  found.Add(301, "value", generation + 1);
  EXPECT_TRUE(found.Has(301, "value", generation + 1));
  EXPECT_FALSE(found.Has(301, "value", generation));
  EXPECT_FALSE(found.Has(302, "value", generation + 1));
  EXPECT_FALSE(found.Has(301, "values", generation + 1));
  found.Add(301, std::string(52, 'x'), generation + 1);
  EXPECT_FALSE(found.Has(301, std::string(52, 'x'), generation + 1)) << "too long to be kept";
  // Nothing is left of what was found before, and the lock on the value is there already.
  const uint64_t reads = database_->work().Total(Work::kPointReads);
  EXPECT_EQ(LocksOf({3, 2}), own);
  EXPECT_GT(database_->work().Total(Work::kPointReads), reads);
}

TEST_P(ForeignKeyCheckTest, OrphansAreFound) {
  std::vector<uint8_t> record(child_.table->layout().record_bytes);
  const auto key = std::make_shared<ForeignKey>();
  const BoundForeignKey bound = Bind(key, child_, "p", parent_, "id");
  child_.writer->foreign_keys().Enforce(false);
  ASSERT_EQ(Insert(&*one_, child_, {1, 1}).code(), kOk);
  ASSERT_EQ(Insert(&*one_, child_, {2, nullptr}).code(), kOk);
  ASSERT_TRUE(one_->Commit(Durability::kSync).ok());
  const auto none = HasOrphan(database_.get(), *child_.table, bound, record.data());
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_FALSE(*none);
  Start(&*one_);
  ASSERT_EQ(Insert(&*one_, child_, {3, 3}).code(), kOk);
  ASSERT_TRUE(one_->Commit(Durability::kSync).ok());
  EXPECT_TRUE(*HasOrphan(database_.get(), *child_.table, bound, record.data()));
}

INSTANTIATE_TEST_SUITE_P(Levels, ForeignKeyCheckTest,
                         ::testing::Combine(::testing::Values(IsolationLevel::kReadCommitted,
                                                              IsolationLevel::kRepeatableRead,
                                                              IsolationLevel::kSerializable),
                                            ::testing::Bool()));

}  // namespace
}  // namespace cairn
