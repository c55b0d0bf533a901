// What a change of the dictionary makes of the foreign keys: computed first, then written in the
// batch of the change. Private to the catalog.
//
// The records after a change follow from those before and from what happens to names. Three rules
// hold after each change, whatever it was (Finish):
// - what is intended for a table that does not exist vanishes;
// - so does a foreign key without its child, unless the table that had the child's name was only
//   put aside, or a copy is about to take the name;
// - the guards of a table follow from the records that name it, and from those of the name to which
//   it has a claim.
//
// ALTER TABLE that copies makes a copy (`db.#sql-alter...`), which has intents and a claim to the
// name of the table; puts the table aside (`db.#sql-backup...`), which gives that a claim; and lets
// the copy take the place. What the copy's intents changed then becomes intents of the table that
// was put aside, the other way round: should that come back, it finds what it had.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/catalog/foreign_key_index.h"
#include "engine/catalog/foreign_keys.h"

namespace cairn {

// Adds the tables whose places copies with these intents are to take.
void AddReplaced(const std::vector<ForeignKeyRecord>& records, std::set<std::string>* tables);

// Not thread-safe.
class ForeignKeyPlan {
 public:
  using Exists = std::function<bool(std::string_view)>;

  // Of a change that names these tables, old names and new. `known`, which outlives this and stays
  // as it is until the plan has been made, has all foreign keys; `exists` tells whether there is a
  // table, a quarantined one counted, before the change.
  ForeignKeyPlan(const ForeignKeyIndex& known, const std::set<std::string>& tables,
                 const ForeignKeyNames& names, Exists exists)
      : known_(known),
        before_(known.Concerning(tables)),
        after_(before_),
        names_(names),
        exists_(std::move(exists)) {}

  // No foreign key is concerned or comes: all the rest does nothing then.
  bool is_idle() const { return before_.empty() && after_.empty(); }

  // What happens, in order.
  void Create(const std::string& name);
  void Drop(const std::string& name);
  void Change(std::string_view name) { touched_.emplace(name); }  // Its definition.
  void Add(uint32_t number, ForeignKeyRecord record) { after_[number] = std::move(record); }
  // Errors: kNotFound, also where it is not an active one of this child.
  Status Remove(uint32_t number, const std::string& child);
  // How many numbers a renaming may need, and the renaming with as many from `first_number` on.
  uint32_t NumbersToRename(const std::string& from, const std::string& to) const;
  void Rename(const std::string& from, const std::string& to, uint32_t first_number);
  // `renamed` has old and new names, without regard to case.
  void RenameColumns(std::string_view table, const std::map<std::string, std::string>& renamed);

  // Ends the change. Errors: kAlreadyExists (two constraints of a database would have one name).
  Status Finish();
  // The same of what a start has read, however it is.
  void FinishAtStart();

  // Afterwards: those that may be concerned.
  const ForeignKeyRecords& before() const { return before_; }
  const ForeignKeyRecords& after() const { return after_; }
  bool changes_records() const { return before_ != after_; }
  // The tables that the change was told of.
  const std::set<std::string, std::less<>>& touched() const { return touched_; }
  // Whether a definition that a foreign key names has changed, or a foreign key has.
  bool concerns_foreign_keys() const;
  // kForeignKeyGuards of a table; any may be asked for.
  uint32_t Guards(std::string_view table) const;
  // The names of tables whose guards may have changed, and those that the change was told of.
  std::set<std::string> Concerned() const;

 private:
  uint32_t OwnGuards(std::string_view table) const;
  std::set<std::string> NamesOfChanged() const;
  Status CheckName(uint32_t number, const ForeignKeyRecord& record) const;
  bool ExistsNow(std::string_view name) const;
  bool IsNamed(std::string_view name) const;
  // A table but `except` that had the name and was put aside.
  std::optional<std::string> ClaimantOf(std::string_view name, std::string_view except) const;
  void MoveChild(ForeignKeyRecord* record, const std::string& from, const std::string& to) const;
  void MoveAll(const std::string& from, const std::string& to);
  void MovePlace(const std::string& from, const std::string& to);
  void PutAside(const std::string& from, const std::string& to);
  void TakePlace(const std::string& from, const std::string& to);
  enum class Undo : uint8_t { kNo, kYes };
  void CarryOut(const std::string& table, const std::string& place, Undo undo);
  void Evict(const std::string& name, const std::string& newcomer);
  bool HasHeir(std::string_view name) const;
  void RemoveOrphans();
  Status CheckNames() const;
  bool WillDrop(const ForeignKeyRecord& record, uint32_t other) const;

  const ForeignKeyIndex& known_;
  ForeignKeyRecords before_;
  ForeignKeyRecords after_;
  const ForeignKeyNames& names_;
  Exists exists_;
  std::map<std::string, bool, std::less<>> exists_after_;  // Where the change says so.
  std::set<std::string, std::less<>> touched_;
  uint32_t next_number_ = 0;
  // Of after_: guards without claims, and the names to which tables have claims.
  std::map<std::string, uint32_t, std::less<>> guards_;
  std::multimap<std::string, std::string, std::less<>> claims_;
};

}  // namespace cairn
