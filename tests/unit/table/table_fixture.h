// A table in an in-memory database, for the tests of table/.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/codec/column_set.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/table/cursor.h"
#include "engine/table/table.h"
#include "engine/table/table_writer.h"
#include "tests/unit/codec/test_collations.h"
#include "tests/unit/codec/test_table.h"
#include "tests/unit/store/memory_database.h"

namespace cairn {

// A session that is killed: after `looks` looks it says so.
class Killer final : public WaitObserver {
 public:
  explicit Killer(int looks) : looks_left_(looks) {}
  bool Interrupted() override { return looks_left_-- <= 0; }
  void WaitBegins() override {}
  void WaitEnds() override {}

 private:
  int looks_left_;
};

// What CHECK TABLE finds; fails the test when it cannot look.
std::vector<std::string> ProblemsOf(const Table& table, Database* database,
                                    const cairn::testing::TestTable& description);

// The table `t (id INT PRIMARY KEY, a VARCHAR(20) latin1_swedish_ci NULL, b INT NULL, c VARCHAR(30)
// utf8mb4_general_ci, KEY (a), UNIQUE KEY (b))`, or the same with a hidden primary key. The
// parameter is the column family that holds its indexes.
class TableFixture : public ::testing::Test {
 public:
  enum class Key { kPrimary, kText, kHidden };        // kText: the primary key is `c`.
  enum : uint32_t { kById = 0, kByB = 1, kByA = 2 };  // With a primary key.
  enum : uint32_t { kHiddenByB = 0, kHiddenByA = 1, kHiddenKey = 2 };

 protected:
  explicit TableFixture(std::string family = "default", Key key = Key::kPrimary);

  static TransactionSettings Explicit(IsolationLevel isolation);
  static TransactionSettings Autocommit() { return TransactionSettings(); }

  // Rows are {id, a, b, c}.
  Status Insert(Transaction& transaction, const cairn::testing::Row& row);
  // Inserts in a transaction of its own; fails the test when that fails.
  void InsertCommitted(const cairn::testing::Row& row);

  // The ids of all rows through an index, in key order or against it.
  std::vector<int> Ids(Transaction& transaction, uint32_t index, bool backward = false);
  int IdOf(const cairn::testing::Record& record) const;

  std::vector<std::string> Problems() const {
    return ProblemsOf(table(), database_.get(), description_);
  }

  const Table& table() const { return *table_; }
  ColumnSet AllColumns() const { return ColumnSet(4, true); }
  ColumnSet OnlyId() const {
    ColumnSet only(4);
    only[0] = true;
    return only;
  }

  MemoryDisk disk_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Dictionary> dictionary_;
  cairn::testing::TestTable description_;
  std::shared_ptr<const Table> table_;
  std::unique_ptr<TableWriter> writer_;
};

}  // namespace cairn
