// A client that changes definitions: it builds and removes indexes, adds and drops a column, makes
// a table, loads, empties, renames and drops it.
#pragma once

#include <cstdint>
#include <string>

#include "tests/unit/concurrency/client.h"

namespace cairn::testing {

class Builder final : public Client {
 public:
  Builder(Bank* bank, unsigned number);

 private:
  void Work() override;
  // Adds indexes in one of the ways that there are, or removes them.
  Status ChangeIndexes(AccountTable* table);
  void MakeTable();
  void OpenTable();
  // kRowsAtOnce rows more, as a statement that claims the table and as a bulk load.
  void InsertRows();
  void LoadRows();
  void ChangeTable();
  void DropTable();
  Record NextRow();

  TestTable description_;
  std::string name_;
  int tables_ = 0;
  int32_t rows_ = 0;
};

}  // namespace cairn::testing
