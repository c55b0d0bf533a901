// Tables of accounts, whose balances have a constant sum in whatever state anybody sees.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/catalog/dictionary.h"
#include "engine/table/table.h"
#include "tests/unit/codec/test_table.h"
#include "tests/unit/concurrency/gate.h"

namespace cairn::testing {

struct Account {
  static constexpr int32_t kNoBranch = -1;

  int32_t id = 0;
  int64_t number = 0;  // Unique.
  std::string owner;
  int64_t balance = 0;
  int32_t branch = kNoBranch;  // Stored while AccountTable::has_branch().
};

// Positions of indexes. The last two are there only while AccountTable::has_more_indexes().
enum : uint32_t {
  kById = 0,
  kByNumber = 1,
  kByOwner = 2,
  kByBalance = 3,
  kByNote = 4,
  kByNumberAgain = 5,
};
// Of columns.
enum : uint32_t { kId = 0, kNumber = 1, kOwner = 2, kBalance = 3, kNote = 4, kBranch = 5 };

// The table `(id INT PRIMARY KEY, number BIGINT UNIQUE, owner VARCHAR(20), balance BIGINT, note
// VARCHAR(60), KEY (owner), KEY (balance))`, at times with `KEY (note), UNIQUE (number)`, and at
// times with `branch INT DEFAULT -1`. The note says what the columns before it say; the branch
// follows from the id in all rows that were written while there was one.
//
// Who reads members holds gate().definition, who changes them holds it alone. One thread changes
// definitions.
class AccountTable {
 public:
  // Its indexes lie in these column families, the primary key's in the first. Fails the test when
  // the table cannot be made.
  AccountTable(Dictionary* dictionary, std::string name, std::vector<std::string> families);

  Gate& gate() const { return gate_; }
  const std::string& name() const { return name_; }
  const std::shared_ptr<const Table>& table() const { return table_; }
  // As long as the table() of the same moment is used, and longer.
  const TestTable& description() const { return Description(has_branch_, has_more_indexes_); }
  bool has_more_indexes() const { return has_more_indexes_; }
  bool has_branch() const { return has_branch_; }
  // The dictionary has another definition.
  void Reopen(const Dictionary& dictionary);

  // ALTER TABLE, which waits until nobody uses the table. Errors: kInterrupted, those of the
  // engine.
  //
  // Adds the indexes while others only read.
  Status AddIndexesAlone(Database* database, Dictionary* dictionary);
  // Adds them while others write, or gives up when it nearly has; `merged` counts the changes that
  // it has taken over from those others.
  enum class End : uint8_t { kPublish, kAbandon };
  Status AddIndexesBesideWriters(Database* database, Dictionary* dictionary, End end,
                                 uint64_t* merged);
  Status RemoveIndexes(Dictionary* dictionary);
  // Adds the column `branch`, or drops it. No row is written.
  Status ToggleBranch(Dictionary* dictionary);

  static Row RowOf(const TestTable& description, const Account& account);
  static Account AccountIn(const TestTable& description, const Record& record);
  static int32_t IdIn(const Record& record);
  static int64_t BalanceIn(const Record& record);
  static int32_t BranchOf(int32_t id);
  // Whether the note and the branch say what the rest of the row says.
  static bool IsWhole(const TestTable& description, const Record& record);

 private:
  using Altered = std::shared_ptr<const Table>;

  const TestTable& Description(bool has_branch, bool has_more_indexes) const {
    return descriptions_[has_branch ? 1 : 0][has_more_indexes ? 1 : 0];
  }
  std::vector<NewIndex> MoreIndexes() const;
  Result<Altered> OpenWith(const std::vector<IndexDefinition>& added, Database* database) const;
  // The table as it is, for a change of it.
  Dictionary::TableChange Unchanged() const;
  // Nobody uses the table.
  Status Change(Dictionary* dictionary, const Dictionary::TableChange& change);

  const std::string name_;
  const std::vector<std::string> families_;
  std::array<std::array<TestTable, 2>, 2> descriptions_;
  mutable Gate gate_;
  bool has_more_indexes_ = false;
  bool has_branch_ = false;
  std::shared_ptr<const Table> table_;
};

}  // namespace cairn::testing
