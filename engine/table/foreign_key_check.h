// The checks of foreign keys that restrict: no child without its parent.
//
// A value that a foreign key uses has a lock of its own, a key of the system family under which
// nothing is ever written (docs/on-disk-format.md, Foreign keys): children hold it in shared mode,
// who takes a parent away holds it exclusively, to the end of their transactions. So a parent that
// a child has found stays, and a child that somebody is about to add is waited for, at any
// isolation level and without locks on gaps. Whether a row exists is asked of what is committed
// last and what the transaction itself has written, never of a snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/foreign_keys.h"
#include "engine/codec/foreign_key_search.h"
#include "engine/codec/foreign_key_value.h"
#include "engine/locks/interruptible_mutex.h"
#include "engine/metrics/memory_account.h"
#include "engine/table/table.h"
#include "engine/txn/transaction.h"

namespace cairn {

// How rows are looked for: what is committed last, and what the transaction itself has written.
inline constexpr Transaction::View kForeignKeyView = Transaction::View::kLatest;

// A foreign key as one of its tables sees it. Immutable.
struct BoundForeignKey {
  std::shared_ptr<const ForeignKey> key;
  // This table: the columns, in the order of the foreign key, and the position of an index that
  // they lead.
  ForeignKeyColumns columns;
  uint32_t index = 0;
  // The table on the other side, which may be this one, the same of it, and how to find its rows by
  // a record of this table. Null: it is missing or does not fit, and the rest is empty.
  std::shared_ptr<const Table> other;
  ForeignKeyColumns other_columns;
  uint32_t other_index = 0;
  std::optional<ForeignKeySearch> search;
};

// The foreign keys of one table, by position of its index, then by name. Immutable; shared by all
// handlers that have it open.
struct BoundForeignKeys {
  uint64_t generation = 0;  // ForeignKeys::generation() from before they were bound.
  std::vector<BoundForeignKey> as_child;
  std::vector<BoundForeignKey> as_parent;
  // Whether all tables could be opened that there are. What is missing may be found next time.
  bool is_complete = true;
  std::unique_ptr<const MemoryHeld> memory;  // What they take, told to the accounts; may be null.
};

// Counts one for the foreign key, which outlives it, if the thread waits for a lock while it lives.
class CountedWait {
 public:
  explicit CountedWait(const ForeignKey& key)
      : counters_(*key.counters), waits_before_(LockWaitsOfThread()) {}
  ~CountedWait() {
    if (LockWaitsOfThread() != waits_before_) ForeignKeyCounters::Count(&counters_.lock_waits);
  }
  CountedWait(const CountedWait&) = delete;
  CountedWait& operator=(const CountedWait&) = delete;

 private:
  ForeignKeyCounters& counters_;
  const uint64_t waits_before_;
};

// Used by one handler. Errors of all checks: kNoReferencedRow, kRowIsReferenced (failed() says of
// which foreign key), kLockTimeout, kDeadlock, kLockLimit, kInterrupted, kCorruption, kIoError.
class ForeignKeyChecks {
 public:
  using Keys = std::shared_ptr<const BoundForeignKeys>;
  // These are the table's from now on; null: it has none.
  void Bind(Keys keys);
  const Keys& keys() const { return keys_; }
  // It has some, but they cannot be bound: whatever is to be checked has this error.
  void RefuseAll(Status reason);
  // A child's statement keeps nobody from changing its parents' definitions: where `known` has
  // another generation than the keys, `rebind` makes them anew. Needed before anything is checked
  // by keys of a child; `known` outlives this. Errors of `rebind` are those of the checks.
  void RebindWith(const ForeignKeys* known, std::function<Result<Keys>()> rebind) {
    known_ = known;
    rebind_ = std::move(rebind);
  }
  // Whether the rows that follow are checked.
  void Enforce(bool enforce) {
    enforced_ = enforce;
    active_ = enforced_ && bound_;
  }
  bool active() const { return active_; }
  // Whether something follows in children, other than a refusal, when a row is deleted or changed:
  // then ForeignKeyActions asks instead of CheckChildren.
  bool has_actions(bool deletes) const {
    return active_ && (deletes ? acts_on_delete_ : acts_on_update_);
  }
  // An action of this foreign key writes the rows that follow: its parent is not looked for.
  void Except(uint32_t number) { excepted_ = number; }
  bool is_bound() const { return bound_; }

  // The row that another one replaces.
  struct Replaced {
    const uint8_t* record = nullptr;  // Null: there is none.
    std::string_view key = {};        // Its primary key, index number first.
    bool has_same_entry = false;      // In the index that is looked at.
  };
  // A row is about to be written, whether rows are checked or not: `old_record` null for one that
  // is inserted, `new_record` for one that goes. Only while is_bound().
  void NoteWrite(Transaction* transaction, const TableIndex& primary, const uint8_t* old_record,
                 const uint8_t* new_record) const;

  // The same of a row that is not checked, only while is_bound(): sessions that check wait for it
  // as for any other. A value that somebody may take away is held as by a child, one that goes as
  // by a parent; nothing is looked for. Nothing is held where no rows are locked, or very many are.
  Status HoldValues(Transaction* transaction, const uint8_t* old_record, const uint8_t* new_record);
  // Many rows are written: what HoldValues() locks need not be locked one by one.
  void ClaimHeldValues(Transaction* transaction) const;

  // The following only while active(), before the row is written.
  //
  // Whether rows are checked by the index at this position.
  bool UsesIndex(uint32_t index) const;
  // Whether the row has the parents that it needs by foreign keys of this index. Nothing is looked
  // for by foreign keys of which neither the columns nor the entry change.
  Status CheckParents(Transaction* transaction, uint32_t index, const uint8_t* record,
                      const Replaced& replaced);
  // Whether a row may go (`new_record` null) or be replaced by the new one.
  Status CheckChildren(Transaction* transaction, const uint8_t* record, const uint8_t* new_record);

  // The same by one foreign key, whose columns have no NULL in the row.
  Status CheckChildrenBy(Transaction* transaction, const BoundForeignKey& key,
                         const uint8_t* record);
  // The children of the row are about to be changed: none comes from now on.
  Status LockParentValue(Transaction* transaction, const BoundForeignKey& key,
                         const uint8_t* record) {
    return LockValue(transaction, key, record, LockMode::kExclusive);
  }
  // They are about to get the value of this record of the parent, which has no NULL: whoever takes
  // it away from another parent that has it too waits, and meets them.
  Status LockNewParentValue(Transaction* transaction, const BoundForeignKey& key,
                            const uint8_t* record) {
    return LockValue(transaction, key, record, LockMode::kShared);
  }
  // Whether the child can be looked at. Errors: kMetadataMismatch.
  static Status RequireOther(const BoundForeignKey& key);

  // Whether the parent of a row is there, as far as is committed, or written by the transaction.
  // Locks nothing. True for a row with NULL.
  Result<bool> HasParent(Transaction* transaction, const BoundForeignKey& key,
                         const uint8_t* record);

  // Reads see what the view shows, from now on, and not what is committed last.
  void ReadAt(Transaction::View view) { view_ = view; }

  // Valid after kNoReferencedRow, kRowIsReferenced, kForeignKeyDepth and kForeignDuplicateKey.
  const ForeignKey& failed() const { return *failed_; }
  // The record that was refused, of the child for want of a parent, else of the parent; null: none
  // is known. Valid until the next row is written.
  const uint8_t* failed_record() const { return failed_record_; }
  // Whether it is a row that actions have come to, in whatever table, and not one of the handler's.
  bool failed_elsewhere() const { return failed_elsewhere_; }
  const std::shared_ptr<const ForeignKey>& failed_key() const { return failed_; }
  void SetFailed(std::shared_ptr<const ForeignKey> key, const uint8_t* record = nullptr) {
    failed_ = std::move(key);
    failed_record_ = record;
    failed_elsewhere_ = false;
  }
  // A row that actions have come to was refused, of which `other` tells.
  void SetFailedAs(const ForeignKeyChecks& other) {
    failed_ = other.failed_;
    failed_record_ = other.failed_record_;
    failed_elsewhere_ = true;
  }

 private:
  Status Refuse(StatusCode code, const BoundForeignKey& key, const uint8_t* record);
  void MakeLockKey(const BoundForeignKey& key, const uint8_t* record);
  Status LockValue(Transaction* transaction, const BoundForeignKey& key, const uint8_t* record,
                   LockMode mode);
  Result<bool> CheckParent(Transaction* transaction, const BoundForeignKey& key,
                           const uint8_t* record, std::string_view leaving);
  Result<bool> IsKnown(Transaction* transaction, const BoundForeignKey& key);
  Result<bool> FindParent(Transaction* transaction, const BoundForeignKey& key,
                          const uint8_t* record, std::string_view leaving);
  Result<bool> Rebind();
  Result<bool> ParentExists(Transaction* transaction, const BoundForeignKey& key,
                            const uint8_t* record, std::string_view leaving);
  Result<bool> FindChild(Transaction* transaction, const BoundForeignKey& key,
                         const uint8_t* record, bool* changed);
  Result<bool> HasValue(Transaction* transaction, const BoundForeignKey& key, const uint8_t* record,
                        std::string_view entry);
  Result<bool> ChildStays(Transaction* transaction, const BoundForeignKey& key,
                          std::string_view entry);

  // Where entries are to be compared with their rows: those of the table that was looked at last.
  struct WholeRow {
    std::shared_ptr<const Table> table;
    std::unique_ptr<const DecodePlan> plan;
    std::vector<uint8_t> record;
  };

  Keys keys_;
  Status unbound_;
  const ForeignKeys* known_ = nullptr;
  std::function<Result<Keys>()> rebind_;
  bool enforced_ = true;
  bool bound_ = false;   // Kept, as each row asks.
  bool active_ = false;  // The same.
  bool acts_on_delete_ = false;
  bool acts_on_update_ = false;
  uint32_t excepted_ = 0;  // No foreign key has this number.
  Transaction::View view_ = kForeignKeyView;
  std::shared_ptr<const ForeignKey> failed_;
  const uint8_t* failed_record_ = nullptr;
  bool failed_elsewhere_ = false;
  // Reused from row to row.
  std::string lock_key_;
  std::string prefix_;
  std::string entry_;
  std::string row_key_;
  WholeRow row_;
};

// Sets `*key` to the primary key, index number first, of the row whose entry in an index of the
// table this is. Errors: kCorruption.
Status RowKeyOf(const Table& table, const TableIndex& index, std::string_view entry,
                std::string* key);

// Whether a row of `child` lacks its parent by a foreign key as the child sees it; nobody writes to
// the two tables. `record` has room for a row. Errors: kInterrupted, kCorruption, kIoError.
Result<bool> HasOrphan(Database* database, const Table& child, const BoundForeignKey& key,
                       uint8_t* record);

// The rows of a child that lack their parent.
struct Orphans {
  uint64_t count = 0;
  std::vector<uint8_t> first;  // A record of the child; empty: there are none.
};
// Those that the transaction's snapshot shows. `record` has room for a row. Errors:
// kDefinitionTooNew (the parent has another definition since), kInterrupted, kCorruption, kIoError.
Result<Orphans> FindOrphans(Transaction* transaction, const Table& child,
                            const BoundForeignKey& key, uint8_t* record);

}  // namespace cairn
