// The foreign keys of the database, in memory: which there are, of which tables, under which names.
//
// Dictionary owns them and alone changes them, in the batches in which it changes tables. A foreign
// key names tables and not their indexes, so that it stays while a table is copied or made anew.
// One whose parent does not exist is *dangling*: it waits for a table of that name.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/codec/foreign_key_record.h"

namespace cairn {

// What a foreign key has cost since the start.
struct ForeignKeyCounters {
  std::atomic<uint64_t> parent_checks{0};   // Rows of the child that needed their parent.
  std::atomic<uint64_t> parent_lookups{0};  // Of them those for which it was looked for.
  std::atomic<uint64_t> child_lookups{0};   // Rows of the parent for which children were.
  std::atomic<uint64_t> rows_followed{0};   // Rows of the child that were changed with a parent.
  std::atomic<uint64_t> refusals{0};        // Rows of either that were refused.
  std::atomic<uint64_t> lock_waits{0};      // Locks on values and on rows of either, waited for.

  static void Count(std::atomic<uint64_t>* counter) {
    counter->fetch_add(1, std::memory_order_relaxed);
  }
};

struct ForeignKey {
  uint32_t number = 0;
  ForeignKeyRecord record{};
  // Shared by all states of the foreign key. Never null.
  std::shared_ptr<ForeignKeyCounters> counters = std::make_shared<ForeignKeyCounters>();
};

using ForeignKeyRecords = std::map<uint32_t, ForeignKeyRecord>;  // By number.

// Letters A to Z as small ones.
std::string FoldAscii(std::string_view name);

// What the server knows of names and the engine does not. Called while the dictionary changes, with
// its mutex held: they may not call it. The defaults are right for names of ASCII letters.
struct ForeignKeyNames {
  // A UTF-8 name of a constraint or a column, so that names which differ by case alone are equal.
  std::string (*fold)(std::string_view name) = FoldAscii;
  // The UTF-8 name of a table that the dictionary has as "db.table".
  std::string (*table_text)(std::string_view dictionary_name) = nullptr;

  std::string TableText(std::string_view dictionary_name) const;
};

// "db" of "db.table".
std::string_view DatabaseOfTable(std::string_view dictionary_name);

// Whether the server has made the name for a statement: "db.#sql...".
bool IsServerMade(std::string_view dictionary_name);

// What the name of a constraint starts with that is made from its child's: "<table>_ibfk_".
std::string GeneratedNameStart(std::string_view table_text);

// The n of a name like "<table>_ibfk_<n>" without regard to case; 0: it is none of `table`'s.
uint64_t GeneratedNumber(const ForeignKeyNames& names, std::string_view constraint,
                         std::string_view table);

class ForeignKeyIndex;

// Thread-safe. What is returned stays valid.
class ForeignKeys {
 public:
  using Pointer = std::shared_ptr<const ForeignKey>;

  ~ForeignKeys();

  // Active ones, in the order of "db/name", byte by byte. `table` is "db.table".
  std::vector<Pointer> OfChild(std::string_view table) const;
  std::vector<Pointer> OfParent(std::string_view table) const;
  bool IsParent(std::string_view table) const noexcept;
  // What is intended for a table of the server's own name, by number.
  std::vector<Pointer> IntentsOf(std::string_view table) const;
  // All, in whatever state, by number.
  std::vector<Pointer> All() const;
  // An active one, without regard to the case of `constraint`; null: none. `database` is as in
  // "db.table".
  Pointer FindByName(std::string_view database, std::string_view constraint) const;
  // The largest n of constraints `<table>_ibfk_<n>` of a child, those that it is to get counted; 0:
  // none.
  uint64_t LargestGeneratedNumber(std::string_view child) const;
  // The tables that had the name, and may come back to it.
  std::vector<std::string> PutAsideFrom(std::string_view table) const;

  // Rises after a change of any definition that a foreign key names, and of foreign keys. Whoever
  // reads it first and definitions then sees by an equal number that they are the present ones.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  const ForeignKeyNames& names() const { return names_; }

 private:
  friend class Dictionary;

  explicit ForeignKeys(const ForeignKeyNames& names);

  // Those of the first become those of the second; others stay.
  void Publish(const ForeignKeyRecords& before, const ForeignKeyRecords& after);
  void RaiseGeneration() { generation_.fetch_add(1, std::memory_order_acq_rel); }

  const ForeignKeyNames names_;
  mutable std::shared_mutex mutex_;
  // Guarded by mutex_, and changes with Dictionary's change_mutex_ held alone.
  const std::unique_ptr<ForeignKeyIndex> index_;
  std::atomic<uint64_t> generation_{1};
};

}  // namespace cairn
