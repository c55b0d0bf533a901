// The server's definition of a table that the statement does not have open: the other side of a
// foreign key.
#pragma once

#include <memory>
#include <string_view>

struct TABLE;
struct TABLE_SHARE;
class THD;

namespace cairn {

// Used by one thread, for as long as nobody can change the table: the caller has a metadata lock on
// it.
class OtherTable {
 public:
  OtherTable();
  ~OtherTable();
  OtherTable(const OtherTable&) = delete;
  OtherTable& operator=(const OtherTable&) = delete;

  // Reads the definition of the table with this name in the dictionary; false when the server has
  // none or cannot read it, about which nothing is reported. No handler is opened.
  bool Open(THD* thd, std::string_view dictionary_name);
  // Valid until this object goes; its records have the columns' default values. Null before Open()
  // and after one that failed.
  const TABLE* table() const { return table_.get(); }

 private:
  void Close();

  TABLE_SHARE* share_ = nullptr;
  std::unique_ptr<TABLE> table_;
};

}  // namespace cairn
