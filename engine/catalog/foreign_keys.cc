#include "engine/catalog/foreign_keys.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <tuple>

namespace cairn {
namespace {

constexpr std::string_view kGeneratedInfix = "_ibfk_";

template <typename Map, typename Key>
typename Map::mapped_type FindOrEmpty(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

}  // namespace

std::string FoldAscii(std::string_view name) {
  std::string folded(name);
  for (char& byte : folded) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return folded;
}

std::string ForeignKeyNames::TableText(std::string_view dictionary_name) const {
  if (table_text != nullptr) return table_text(dictionary_name);
  return std::string(dictionary_name.substr(dictionary_name.find('.') + 1));
}

std::string_view DatabaseOfTable(std::string_view dictionary_name) {
  return dictionary_name.substr(0, dictionary_name.find('.'));
}

bool IsServerMade(std::string_view dictionary_name) {
  return dictionary_name.substr(dictionary_name.find('.') + 1).starts_with("#sql");
}

uint64_t GeneratedNumber(const ForeignKeyNames& names, std::string_view constraint,
                         std::string_view table) {
  const std::string folded = names.fold(constraint);
  const std::string start = names.fold(names.TableText(table)).append(kGeneratedInfix);
  if (!folded.starts_with(start)) return 0;
  const std::string_view digits = std::string_view(folded).substr(start.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

std::shared_ptr<const ForeignKeys::State> ForeignKeys::Get() const {
  const std::shared_lock lock(mutex_);
  return state_;
}

void ForeignKeys::Publish(ForeignKeyRecords records) {
  auto state = std::make_shared<State>();
  std::map<std::pair<std::string, uint32_t>, Pointer> by_folded_name;
  std::map<uint32_t, std::shared_ptr<ForeignKeyCounters>> counters;
  for (const Pointer& known : Get()->all) counters.emplace(known->number, known->counters);
  for (const auto& [number, record] : records) {
    ForeignKey made{number, record};
    if (const auto found = counters.find(number); found != counters.end()) {
      made.counters = found->second;
    }
    auto foreign_key = std::make_shared<const ForeignKey>(std::move(made));
    state->all.push_back(foreign_key);
    if (record.state != ForeignKeyState::kActive) {
      state->intents[record.child].push_back(std::move(foreign_key));
      continue;
    }
    const std::string folded = names_.fold(record.name);
    state->by_name.emplace(std::pair(std::string(DatabaseOfTable(record.child)), folded),
                           foreign_key);
    by_folded_name.emplace(std::pair(folded, number), std::move(foreign_key));
  }
  for (const auto& [name, foreign_key] : by_folded_name) {
    state->by_child[foreign_key->record.child].push_back(foreign_key);
    state->by_parent[foreign_key->record.parent].push_back(foreign_key);
  }
  state->records = std::move(records);
  const std::unique_lock lock(mutex_);
  state_ = std::move(state);
}

std::vector<ForeignKeys::Pointer> ForeignKeys::OfChild(std::string_view table) const {
  return FindOrEmpty(Get()->by_child, table);
}

std::vector<ForeignKeys::Pointer> ForeignKeys::OfParent(std::string_view table) const {
  return FindOrEmpty(Get()->by_parent, table);
}

bool ForeignKeys::IsParent(std::string_view table) const noexcept {
  const auto state = Get();
  const auto found = state->by_parent.find(table);
  return found != state->by_parent.end() && !found->second.empty();
}

std::vector<ForeignKeys::Pointer> ForeignKeys::IntentsOf(std::string_view table) const {
  return FindOrEmpty(Get()->intents, table);
}

std::vector<ForeignKeys::Pointer> ForeignKeys::All() const { return Get()->all; }

ForeignKeys::Pointer ForeignKeys::FindByName(std::string_view database,
                                             std::string_view constraint) const {
  return FindOrEmpty(Get()->by_name, std::pair(std::string(database), names_.fold(constraint)));
}

uint64_t ForeignKeys::LargestGeneratedNumber(std::string_view child) const {
  const std::shared_ptr<const State> state = Get();
  uint64_t largest = 0;
  const auto count = [&](const ForeignKeyRecord& record) {
    largest = std::max(largest, GeneratedNumber(names_, record.name, child));
  };
  for (const auto& [number, record] : state->records) {
    if (!record.is_constraint()) continue;
    if (record.child == child) count(record);
    // What a copy or a table that was put aside may bring to the name.
    for (const Pointer& intent : FindOrEmpty(state->intents, record.child)) {
      if (IsClaim(intent->record.state) && intent->record.parent == child) count(record);
    }
  }
  return largest;
}

}  // namespace cairn
