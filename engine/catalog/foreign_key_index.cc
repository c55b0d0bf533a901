#include "engine/catalog/foreign_key_index.h"

#include <memory>

namespace cairn {
namespace {

std::pair<std::string, std::string> PlaceOfName(std::string_view database,
                                                std::string_view folded) {
  return {std::string(database), std::string(folded)};
}

std::string PlaceInTable(const ForeignKeyRecord& record) {
  return std::string(DatabaseOfTable(record.child)).append("/").append(record.name);
}

template <typename Map, typename Key, typename Member>
void RemoveFrom(Map* map, const Key& key, const Member& member) {
  const auto found = map->find(key);
  if (found == map->end()) return;
  found->second.erase(member);
  if (found->second.empty()) map->erase(found);
}

}  // namespace

void ForeignKeyIndex::Put(uint32_t number, const ForeignKeyRecord& record) {
  ForeignKey made{number, record};
  if (const auto before = all_.find(number); before != all_.end()) {
    made.counters = before->second->counters;
    Remove(number);
  }
  const auto key = std::make_shared<const ForeignKey>(std::move(made));
  const std::string folded = names_.fold(record.name);
  all_.emplace(number, key);
  const std::pair place(PlaceInTable(record), number);
  by_child_[record.child].emplace(place, key);
  if (!record.parent.empty()) by_parent_[record.parent].emplace(place, key);
  if (record.is_constraint()) {
    by_name_[PlaceOfName(DatabaseOfTable(record.child), folded)].insert(number);
  }
  if (record.state != ForeignKeyState::kActive) unsettled_.insert(number);
}

void ForeignKeyIndex::Remove(uint32_t number) {
  const auto found = all_.find(number);
  if (found == all_.end()) return;
  const ForeignKeyRecord& record = found->second->record;
  const std::string folded = names_.fold(record.name);
  const std::pair place(PlaceInTable(record), number);
  RemoveFrom(&by_child_, record.child, place);
  RemoveFrom(&by_parent_, record.parent, place);
  RemoveFrom(&by_name_, PlaceOfName(DatabaseOfTable(record.child), folded), number);
  unsettled_.erase(number);
  all_.erase(found);
}

const ForeignKeyIndex::OfTable& ForeignKeyIndex::Find(const ByTable& tables,
                                                      std::string_view table) {
  static const OfTable none;
  const auto found = tables.find(table);
  return found == tables.end() ? none : found->second;
}

const std::set<uint32_t>& ForeignKeyIndex::OfName(std::string_view database,
                                                  std::string_view folded) const {
  static const std::set<uint32_t> none;
  const auto found = by_name_.find(PlaceOfName(database, folded));
  return found == by_name_.end() ? none : found->second;
}

ForeignKeyRecords ForeignKeyIndex::Concerning(std::set<std::string> tables) const {
  ForeignKeyRecords records;
  bool grown = true;
  while (grown) {
    grown = false;
    for (const uint32_t number : unsettled_) {
      const ForeignKeyRecord& record = all_.at(number)->record;
      records.emplace(number, record);
      if (!IsClaim(record.state)) continue;
      if (!tables.contains(record.child) && !tables.contains(record.parent)) continue;
      grown |= tables.insert(record.child).second;
      grown |= tables.insert(record.parent).second;
    }
  }
  for (const uint32_t number : unsettled_) {
    const ForeignKeyRecord& record = all_.at(number)->record;
    if (record.state != ForeignKeyState::kToDrop) continue;
    const auto other = all_.find(record.other);
    if (other != all_.end()) records.emplace(record.other, other->second->record);
  }
  for (const std::string& table : tables) {
    for (const OfTable* const side : {&OfChild(table), &OfParent(table)}) {
      for (const auto& [place, key] : *side) records.emplace(key->number, key->record);
    }
  }
  return records;
}

}  // namespace cairn
