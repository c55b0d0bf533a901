#include "engine/catalog/foreign_key_plan.h"

#include <algorithm>
#include <iterator>

#include "engine/codec/dictionary_record.h"

namespace cairn {
namespace {

bool IsPartitionEntry(std::string_view name) { return name.find("#P#") != std::string_view::npos; }

bool IsActive(const ForeignKeyRecord& record) { return record.state == ForeignKeyState::kActive; }

ForeignKeyRecord Claim(const std::string& table, const std::string& place) {
  ForeignKeyRecord record;
  record.state = ForeignKeyState::kPutAside;
  record.child = table;
  record.parent = place;
  return record;
}

ForeignKeyRecord IntentToDrop(const std::string& table, uint32_t number) {
  ForeignKeyRecord record;
  record.state = ForeignKeyState::kToDrop;
  record.child = table;
  record.other = number;
  return record;
}

}  // namespace

void AddReplaced(const std::vector<ForeignKeyRecord>& records, std::set<std::string>* tables) {
  for (const ForeignKeyRecord& record : records) {
    if (record.state == ForeignKeyState::kReplaces) tables->insert(record.parent);
  }
}

void ForeignKeyPlan::Create(const std::string& name) {
  if (!IsPartitionEntry(name)) Evict(name, name);
  exists_after_[name] = true;
  touched_.insert(name);
}

void ForeignKeyPlan::Drop(const std::string& name) {
  exists_after_[name] = false;
  touched_.insert(name);
  const auto claimant = ClaimantOf(name, name);
  if (!claimant.has_value() || IsServerMade(*claimant)) return;
  // ALTER TABLE ... RENAME gives up: the table that was there before is at its own name still.
  MovePlace(name, *claimant);
  CarryOut(*claimant, name, Undo::kNo);
}

Status ForeignKeyPlan::Remove(uint32_t number, const std::string& child) {
  const auto found = after_.find(number);
  if (found == after_.end() || !IsActive(found->second) || found->second.child != child) {
    return Status(StatusCode::kNotFound,
                  "table " + child + " has no foreign key " + std::to_string(number));
  }
  after_.erase(found);
  return Status();
}

uint32_t ForeignKeyPlan::NumbersToRename(const std::string& from, const std::string& to) const {
  if (!IsNamed(from) && !IsNamed(to)) return 0;
  uint32_t count = 1;  // A claim.
  for (const auto& [number, record] : after_) {
    count += record.state == ForeignKeyState::kToAdd && record.child == from;
  }
  return count;
}

void ForeignKeyPlan::Rename(const std::string& from, const std::string& to, uint32_t first_number) {
  next_number_ = first_number;
  exists_after_[from] = false;
  exists_after_[to] = true;
  touched_.insert({from, to});
  if (IsPartitionEntry(from) || IsPartitionEntry(to)) return;
  if (IsServerMade(to)) {
    if (IsServerMade(from)) {
      MoveAll(from, to);
    } else {
      PutAside(from, to);
    }
  } else if (IsServerMade(from)) {
    TakePlace(from, to);
  } else {
    Evict(to, from);
    MoveAll(from, to);
  }
}

void ForeignKeyPlan::RenameColumns(std::string_view table,
                                   const std::map<std::string, std::string>& renamed) {
  std::map<std::string, std::string> by_folded_name;
  for (const auto& [from, to] : renamed) by_folded_name.emplace(names_.fold(from), to);
  const auto rename = [&](std::string* column) {
    const auto found = by_folded_name.find(names_.fold(*column));
    if (found != by_folded_name.end()) *column = found->second;
  };
  for (auto& [number, record] : after_) {
    for (ForeignKeyRecord::ColumnPair& pair : record.columns) {
      if (record.child == table) rename(&pair.child);
      if (record.parent == table) rename(&pair.parent);
    }
  }
}

void ForeignKeyPlan::FinishAtStart() {
  RemoveOrphans();
  for (const auto& [number, record] : after_) {
    if (IsClaim(record.state)) claims_.emplace(record.child, record.parent);
    if (!record.is_constraint()) continue;
    guards_[record.child] |= kFeatureForeignKeyChild;
    guards_[record.parent] |= kFeatureForeignKeyParent;
  }
}

Status ForeignKeyPlan::Finish() {
  FinishAtStart();
  return CheckNames();
}

bool ForeignKeyPlan::concerns_foreign_keys() const {
  if (changes_records()) return true;
  // The records are as they were before.
  return std::any_of(touched_.begin(), touched_.end(),
                     [this](const std::string& name) { return Guards(name) != 0; });
}

// Without claims.
uint32_t ForeignKeyPlan::OwnGuards(std::string_view table) const {
  const auto found = guards_.find(table);
  uint32_t guards = found == guards_.end() ? 0 : found->second;
  const auto others = [this](const auto& entry) {
    return entry.second->record.is_constraint() && !before_.contains(entry.second->number);
  };
  const auto& as_child = known_.OfChild(table);
  if (std::any_of(as_child.begin(), as_child.end(), others)) guards |= kFeatureForeignKeyChild;
  const auto& as_parent = known_.OfParent(table);
  if (std::any_of(as_parent.begin(), as_parent.end(), others)) guards |= kFeatureForeignKeyParent;
  return guards;
}

uint32_t ForeignKeyPlan::Guards(std::string_view table) const {
  uint32_t guards = OwnGuards(table);
  const auto [begin, end] = claims_.equal_range(table);
  for (auto claim = begin; claim != end; ++claim) guards |= OwnGuards(claim->second);
  return guards;
}

// What they named before, and what they name.
std::set<std::string> ForeignKeyPlan::NamesOfChanged() const {
  std::set<std::string> names;
  for (const auto& [number, record] : before_) {
    const auto after = after_.find(number);
    if (after == after_.end() || after->second != record) {
      names.insert({record.child, record.parent});
    }
  }
  for (const auto& [number, record] : after_) {
    const auto before = before_.find(number);
    if (before == before_.end() || before->second != record) {
      names.insert({record.child, record.parent});
    }
  }
  names.erase(std::string());
  return names;
}

std::set<std::string> ForeignKeyPlan::Concerned() const {
  std::set<std::string> names = NamesOfChanged();
  names.insert(touched_.begin(), touched_.end());
  std::set<std::string> claimants;
  for (const auto& [claimant, place] : claims_) {
    if (names.contains(place)) claimants.insert(claimant);
  }
  names.merge(claimants);
  return names;
}

bool ForeignKeyPlan::ExistsNow(std::string_view name) const {
  const auto known = exists_after_.find(name);
  return known == exists_after_.end() ? exists_(name) : known->second;
}

bool ForeignKeyPlan::IsNamed(std::string_view name) const {
  return std::any_of(after_.begin(), after_.end(), [name](const auto& entry) {
    return entry.second.child == name || entry.second.parent == name;
  });
}

std::optional<std::string> ForeignKeyPlan::ClaimantOf(std::string_view name,
                                                      std::string_view except) const {
  for (const auto& [number, record] : after_) {
    if (record.state == ForeignKeyState::kPutAside && record.parent == name &&
        record.child != except && ExistsNow(record.child)) {
      return record.child;
    }
  }
  return std::nullopt;
}

// A name that was made of the child's follows it, and so does one that starts like those.
void ForeignKeyPlan::MoveChild(ForeignKeyRecord* record, const std::string& from,
                               const std::string& to) const {
  const std::string start = GeneratedNameStart(names_.TableText(from));
  if (from != to && record->is_constraint() && record->name.size() > start.size() &&
      record->name.starts_with(start)) {
    record->name = GeneratedNameStart(names_.TableText(to)) + record->name.substr(start.size());
  }
  record->child = to;
}

void ForeignKeyPlan::MoveAll(const std::string& from, const std::string& to) {
  for (auto& [number, record] : after_) {
    if (record.child == from) MoveChild(&record, from, to);
    if (record.parent == from) record.parent = to;
  }
}

// Moves what is said of a name, and leaves what is intended for the table that has it.
void ForeignKeyPlan::MovePlace(const std::string& from, const std::string& to) {
  for (auto& [number, record] : after_) {
    if (record.child == from && IsActive(record)) MoveChild(&record, from, to);
    if (record.parent == from) record.parent = to;
  }
}

// Foreign keys stay at the name. Intents of the table itself are those of a statement that is over.
void ForeignKeyPlan::PutAside(const std::string& from, const std::string& to) {
  const bool is_named = IsNamed(from);
  std::erase_if(after_, [&from](const auto& entry) {
    return entry.second.child == from && !IsActive(entry.second);
  });
  if (is_named) after_[next_number_++] = Claim(to, from);
}

void ForeignKeyPlan::TakePlace(const std::string& from, const std::string& to) {
  std::string place = to;
  for (const auto& [number, record] : after_) {
    if (!IsClaim(record.state) || record.child != from) continue;
    place = record.parent;
    break;
  }
  // Without a claim it has what waits at the name: a foreign key too many is seen, one less is not.
  if (place != to) {
    Evict(to, from);
    MovePlace(place, to);
    // Nothing was put aside: the table at the other name gets all back if this one is dropped.
    if (ExistsNow(place)) after_[next_number_++] = Claim(place, to);
  }
  MoveAll(from, to);
  CarryOut(to, place, Undo::kYes);
}

// The intents of a table that has come to its name. `place`: the name that they were meant for.
void ForeignKeyPlan::CarryOut(const std::string& table, const std::string& place, Undo undo) {
  const auto claimant = undo == Undo::kYes ? ClaimantOf(table, table) : std::nullopt;
  std::vector<uint32_t> intents;
  for (const auto& [number, record] : after_) {
    if (record.child == table && !IsActive(record)) intents.push_back(number);
  }
  for (const uint32_t number : intents) {
    ForeignKeyRecord& intent = after_.at(number);
    if (intent.state == ForeignKeyState::kToAdd) {
      intent.state = ForeignKeyState::kActive;
      MoveChild(&intent, place, table);
      if (claimant.has_value()) after_[next_number_++] = IntentToDrop(*claimant, number);
      continue;
    }
    const auto other = after_.find(intent.other);
    if (intent.state == ForeignKeyState::kToDrop && other != after_.end()) {
      if (claimant.has_value()) {
        other->second.state = ForeignKeyState::kToAdd;
        other->second.child = *claimant;
      } else {
        after_.erase(other);
      }
    }
    after_.erase(number);
  }
}

// Another table comes to a name at which foreign keys wait for their child: they go to that.
void ForeignKeyPlan::Evict(const std::string& name, const std::string& newcomer) {
  if (exists_(name)) return;
  const auto claimant = ClaimantOf(name, newcomer);
  for (auto entry = after_.begin(); entry != after_.end();) {
    ForeignKeyRecord& record = entry->second;
    const bool waits = record.child == name && IsActive(record);
    const bool is_claim = claimant.has_value() && record.child == *claimant &&
                          IsClaim(record.state) && record.parent == name;
    if (waits && claimant.has_value()) record.child = *claimant;
    const bool goes = is_claim || (waits && !claimant.has_value());
    entry = goes ? after_.erase(entry) : std::next(entry);
  }
  if (claimant.has_value() && !IsServerMade(*claimant)) CarryOut(*claimant, name, Undo::kNo);
}

// Whether a table that was put aside, or a copy, is to have what is said of the name. Recovery of
// an ALTER TABLE drops the old table before it gives the name to the copy.
bool ForeignKeyPlan::HasHeir(std::string_view name) const {
  if (ClaimantOf(name, name).has_value()) return true;
  if (IsServerMade(name)) return false;
  return std::any_of(after_.begin(), after_.end(), [&](const auto& entry) {
    const ForeignKeyRecord& record = entry.second;
    return record.state == ForeignKeyState::kReplaces && record.parent == name &&
           IsServerMade(record.child) && ExistsNow(record.child);
  });
}

void ForeignKeyPlan::RemoveOrphans() {
  std::erase_if(after_, [this](const auto& entry) {
    return !IsActive(entry.second) && !ExistsNow(entry.second.child);
  });
  std::erase_if(after_, [this](const auto& entry) {
    const ForeignKeyRecord& record = entry.second;
    return IsActive(record) && !ExistsNow(record.child) && !HasHeir(record.child);
  });
  std::erase_if(after_, [this](const auto& entry) {
    const ForeignKeyRecord& record = entry.second;
    return record.state == ForeignKeyState::kToDrop && !after_.contains(record.other);
  });
}

// Whether the table that is to get `record` is to lose the other.
bool ForeignKeyPlan::WillDrop(const ForeignKeyRecord& record, uint32_t other) const {
  if (record.state != ForeignKeyState::kToAdd) return false;
  return std::any_of(after_.begin(), after_.end(), [&](const auto& entry) {
    return entry.second.state == ForeignKeyState::kToDrop && entry.second.other == other &&
           entry.second.child == record.child;
  });
}

// Whether `record` may have its name. Names that were equal before may stay: nothing else would
// change any more.
Status ForeignKeyPlan::CheckName(uint32_t number, const ForeignKeyRecord& record) const {
  const std::string database(DatabaseOfTable(record.child));
  const std::string folded = names_.fold(record.name);
  const auto taken = [&] {
    return Status(StatusCode::kAlreadyExists,
                  "constraint " + record.name + " of database " + database);
  };
  for (const auto& [other_number, other] : after_) {
    if (other_number == number || !other.is_constraint()) continue;
    if (DatabaseOfTable(other.child) != database || names_.fold(other.name) != folded) continue;
    if (!WillDrop(record, other_number) && !WillDrop(other, number)) return taken();
  }
  for (const uint32_t other_number : known_.OfName(database, folded)) {
    if (before_.contains(other_number)) continue;
    if (!WillDrop(record, other_number)) return taken();
  }
  return Status();
}

Status ForeignKeyPlan::CheckNames() const {
  for (const auto& [number, record] : after_) {
    const auto before = before_.find(number);
    const bool had_name = before != before_.end() && before->second.name == record.name &&
                          before->second.child == record.child &&
                          before->second.state == record.state;
    if (!record.is_constraint() || had_name) continue;
    CAIRN_RETURN_IF_ERROR(CheckName(number, record));
  }
  return Status();
}

}  // namespace cairn
