// The values of an AUTO_INCREMENT column, as one handler gets them and notes them.
#pragma once

#include <cstdint>

#include "engine/base/status.h"
#include "engine/catalog/dictionary.h"
#include "engine/txn/prepared_locks.h"
#include "engine/txn/transaction.h"

namespace cairn {

// The largest value that a row of the table has, which only whoever knows the column's type can
// read.
class LargestStoredValue {
 public:
  virtual ~LargestStoredValue() = default;
  // Of the rows that are committed; 0: there is none above it. Errors: those of a read.
  virtual Result<uint64_t> Read() = 0;
};

// A table has one counter (TableCounters::next_auto_increment), which hands out each value once:
// the value of a row that fails is lost. Values that statements give themselves raise it. It is in
// the dictionary as of the last commit or rollback.
//
// Belongs to one handler, as do the values that were handed out to it.
class AutoIncrement {
 public:
  // What the column can hold. Values above `largest` are handed out as `beyond`, which the server
  // refuses as out of range.
  struct Type {
    uint64_t largest = UINT64_MAX;
    uint64_t beyond = UINT64_MAX;
  };
  // The values offset, offset + increment, ... are handed out, where the counter has come to them.
  struct Steps {
    uint64_t offset = 1;
    uint64_t increment = 1;
  };
  // `count` of them in a row.
  struct Values {
    uint64_t first = 0;
    uint64_t count = 1;
  };

  // kPrimaryKey: the column is the whole primary key, which a value from the counter is no row's,
  // as long as nobody chose it himself.
  enum class Role : uint8_t { kColumn, kPrimaryKey };

  // The table has the column, or none. It outlives this object's use.
  void Bind(const TableDefinition* table, Role role) {
    table_ = table;
    role_ = role;
    ForgetHandedOut();
  }
  bool is_primary_key() const { return role_ == Role::kPrimaryKey; }

  // Whether the counter is known, which takes a look at the data once after a start.
  bool is_loaded() const {
    return counters().next_auto_increment.load(std::memory_order_acquire) != 0;
  }
  // Finds the next value: the stored one or, in a table that has none, the one behind the largest
  // of its rows. `locks` tells whether transactions are prepared since before the start, whose rows
  // are not among those. Errors: kCorruption, kIoError; those of `rows` where nothing is stored.
  Status Load(const Dictionary& dictionary, const PreparedLocks& locks, LargestStoredValue* rows);
  // What is handed out next. After Load().
  uint64_t next() const { return counters().next_auto_increment.load(std::memory_order_relaxed); }

  // Takes up to `wanted` values from the counter, one at least; fewer at the end of the type. When
  // none is left the counter stays, and the one value is `type.beyond`, or the largest number.
  // After Load().
  Values HandOut(const Type& type, const Steps& steps, uint64_t wanted);
  // Whether `value` was handed out to this handler and no row has got it yet; now one has.
  bool TakeHandedOut(uint64_t value);
  // Rows that follow get values of their own.
  void ForgetHandedOut() {
    first_handed_out_ = 1;
    last_handed_out_ = 0;
  }

  // A row with this value was written by `transaction`: the counter goes on behind it, in the
  // dictionary once that has ended. After Load().
  void NoteWritten(uint64_t value, Transaction* transaction);
  // A statement has chosen the value of a row itself; called before its key is locked, so that
  // whoever is handed out a value knows whether a row may have it. After Load().
  void NoteGiven(uint64_t value) { counters().RaiseLargestGivenValue(value); }

 private:
  TableCounters& counters() const { return *table_->counters; }

  const TableDefinition* table_ = nullptr;
  Role role_ = Role::kColumn;
  // The values that no row has got yet.
  uint64_t first_handed_out_ = 1;
  uint64_t last_handed_out_ = 0;
};

}  // namespace cairn
