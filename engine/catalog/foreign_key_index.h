// The records of foreign keys by the names of tables and constraints, so that a change of a table
// costs what its own foreign keys cost, however many others there are. Private to the catalog.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/catalog/foreign_keys.h"

namespace cairn {

// Not thread-safe. Tables are "db.table".
class ForeignKeyIndex {
 public:
  using Pointer = ForeignKeys::Pointer;
  // Of one table, in whatever state, in the order of "db/name" of the constraint, byte by byte as
  // InnoDB's are, then of their numbers.
  using OfTable = std::map<std::pair<std::string, uint32_t>, Pointer>;

  // Outlives this.
  explicit ForeignKeyIndex(const ForeignKeyNames* names) : names_(*names) {}

  // In the place of the one that has the number, whose counters stay.
  void Put(uint32_t number, const ForeignKeyRecord& record);
  void Remove(uint32_t number);

  // By number, in whatever state.
  const std::map<uint32_t, Pointer>& all() const { return all_; }
  const OfTable& OfChild(std::string_view table) const { return Find(by_child_, table); }
  const OfTable& OfParent(std::string_view table) const { return Find(by_parent_, table); }
  // The numbers of those that are not active.
  const std::set<uint32_t>& unsettled() const { return unsettled_; }
  // The numbers of constraints of this name, those that are to come counted.
  const std::set<uint32_t>& OfName(std::string_view database, std::string_view folded) const;
  // All that name one of the tables, or the tables that take their places and whose places they
  // take; and all that are not active, with what those are to drop.
  ForeignKeyRecords Concerning(std::set<std::string> tables) const;

 private:
  using ByTable = std::map<std::string, OfTable, std::less<>>;

  static const OfTable& Find(const ByTable& tables, std::string_view table);

  const ForeignKeyNames& names_;
  std::map<uint32_t, Pointer> all_;
  ByTable by_child_;
  ByTable by_parent_;
  std::map<std::pair<std::string, std::string>, std::set<uint32_t>> by_name_;
  std::set<uint32_t> unsettled_;
};

}  // namespace cairn
