// The server's definition of a table that the statement does not have open: the other side of a
// foreign key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/table/table.h"

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
  TABLE* table() { return table_.get(); }

 private:
  // A share for this object alone.
  struct OwnShare;

  void Close();
  TABLE_SHARE* OpenShare(THD* thd, std::string_view dictionary_name);

  std::unique_ptr<OwnShare> own_share_;
  TABLE_SHARE* share_ = nullptr;
  std::unique_ptr<TABLE> table_;
};

// What a metadata lock on a table is for.
enum class DefinitionLock {
  kHold,   // Nobody changes the definition, to the end of the statement.
  kFence,  // Nobody writes to the table either.
  kRead,   // Its rows are looked at in the transaction.
  kWrite,  // They are changed in it.
};

// Waits for the session's lock_wait_timeout. False: refused, which the server has reported.
bool LockDefinition(THD* thd, std::string_view dictionary_name, DefinitionLock lock);
// Why LockDefinition was refused: kDeadlock, kInterrupted.
Status RefusedLock(THD* thd);

// The table, with its definition held (kHold). Null: there is none. Errors: kDeadlock,
// kInterrupted, kNotFound (the server cannot read its definition), those of Table::Open.
Result<std::shared_ptr<const Table>> OpenOther(THD* thd, std::string_view dictionary_name);

// The same for a caller that has a metadata lock on it.
Result<std::shared_ptr<const Table>> OpenLocked(THD* thd, std::string_view dictionary_name);

}  // namespace cairn
