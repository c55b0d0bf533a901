// Tables of accounts, whose balances have a constant sum in whatever state anybody sees.
#pragma once

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
  int32_t id = 0;
  int64_t number = 0;  // Unique.
  std::string owner;
  int64_t balance = 0;

  bool operator==(const Account&) const = default;
};

// Positions of indexes. kByNote is there only while AccountTable::has_note_index().
enum : uint32_t { kById = 0, kByNumber = 1, kByOwner = 2, kByBalance = 3, kByNote = 4 };
// Of columns.
enum : uint32_t { kId = 0, kNumber = 1, kOwner = 2, kBalance = 3, kNote = 4 };

// The table `(id INT PRIMARY KEY, number BIGINT UNIQUE, owner VARCHAR(20), balance BIGINT, note
// VARCHAR(60), KEY (owner), KEY (balance))`, at times with KEY (note). The note says what the other
// columns say.
//
// Who reads members holds gate().definition, who changes them holds it alone.
class AccountTable {
 public:
  // Its indexes lie in these column families, the primary key's in the first. Fails the test when
  // the table cannot be made.
  AccountTable(Dictionary* dictionary, std::string name, std::vector<std::string> families);

  Gate& gate() const { return gate_; }
  const std::string& name() const { return name_; }
  const std::shared_ptr<const Table>& table() const { return table_; }
  // As long as the table() of the same moment is used, and longer.
  const TestTable& description() const { return has_note_index_ ? with_note_ : without_note_; }
  bool has_note_index() const { return has_note_index_; }

  // Builds KEY (note), or removes it. Errors: kLockTimeout where somebody has locked rows.
  Status ToggleNoteIndex(Database* database, Dictionary* dictionary);
  // The dictionary has another definition.
  void Reopen(const Dictionary& dictionary);

  static Row RowOf(const Account& account);
  static Account AccountIn(const Record& record);
  static int32_t IdIn(const Record& record);
  static int64_t BalanceIn(const Record& record);
  // Whether the note says what the rest of the row says.
  static bool IsWhole(const Record& record);

 private:
  Status BuildNoteIndex(Database* database, Dictionary* dictionary,
                        Dictionary::TableChange* change) const;

  const std::string name_;
  const std::vector<std::string> families_;
  TestTable without_note_;
  TestTable with_note_;
  mutable Gate gate_;
  bool has_note_index_ = false;
  std::shared_ptr<const Table> table_;
};

}  // namespace cairn::testing
