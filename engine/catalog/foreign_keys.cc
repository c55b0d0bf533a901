#include "engine/catalog/foreign_keys.h"

#include <algorithm>
#include <charconv>
#include <mutex>

#include "engine/catalog/foreign_key_index.h"

namespace cairn {
namespace {

// The active ones.
std::vector<ForeignKeys::Pointer> ActiveOf(const ForeignKeyIndex::OfTable& keys) {
  std::vector<ForeignKeys::Pointer> active;
  for (const auto& [place, key] : keys) {
    if (key->record.state == ForeignKeyState::kActive) active.push_back(key);
  }
  return active;
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

std::string GeneratedNameStart(std::string_view table_text) {
  return std::string(table_text).append("_ibfk_");
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
  const std::string start = GeneratedNameStart(names.fold(names.TableText(table)));
  if (!folded.starts_with(start)) return 0;
  const std::string_view digits = std::string_view(folded).substr(start.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

ForeignKeys::ForeignKeys(const ForeignKeyNames& names)
    : names_(names), index_(std::make_unique<ForeignKeyIndex>(&names_)) {}

ForeignKeys::~ForeignKeys() = default;

void ForeignKeys::Publish(const ForeignKeyRecords& before, const ForeignKeyRecords& after) {
  const std::unique_lock lock(mutex_);
  for (const auto& [number, record] : before) {
    if (!after.contains(number)) index_->Remove(number);
  }
  for (const auto& [number, record] : after) {
    const auto known = before.find(number);
    if (known == before.end() || known->second != record) index_->Put(number, record);
  }
}

std::vector<ForeignKeys::Pointer> ForeignKeys::OfChild(std::string_view table) const {
  const std::shared_lock lock(mutex_);
  return ActiveOf(index_->OfChild(table));
}

std::vector<ForeignKeys::Pointer> ForeignKeys::OfParent(std::string_view table) const {
  const std::shared_lock lock(mutex_);
  return ActiveOf(index_->OfParent(table));
}

bool ForeignKeys::IsParent(std::string_view table) const noexcept {
  const std::shared_lock lock(mutex_);
  const auto& keys = index_->OfParent(table);
  return std::any_of(keys.begin(), keys.end(), [](const auto& entry) {
    return entry.second->record.state == ForeignKeyState::kActive;
  });
}

std::vector<ForeignKeys::Pointer> ForeignKeys::IntentsOf(std::string_view table) const {
  const std::shared_lock lock(mutex_);
  std::vector<Pointer> intents;
  for (const uint32_t number : index_->unsettled()) {
    const Pointer& key = index_->all().at(number);
    if (key->record.child == table) intents.push_back(key);
  }
  return intents;
}

std::vector<ForeignKeys::Pointer> ForeignKeys::All() const {
  const std::shared_lock lock(mutex_);
  std::vector<Pointer> all;
  all.reserve(index_->all().size());
  for (const auto& [number, key] : index_->all()) all.push_back(key);
  return all;
}

ForeignKeys::Pointer ForeignKeys::FindByName(std::string_view database,
                                             std::string_view constraint) const {
  const std::shared_lock lock(mutex_);
  for (const uint32_t number : index_->OfName(database, names_.fold(constraint))) {
    const Pointer& key = index_->all().at(number);
    if (key->record.state == ForeignKeyState::kActive) return key;
  }
  return nullptr;
}

uint64_t ForeignKeys::LargestGeneratedNumber(std::string_view child) const {
  const std::shared_lock lock(mutex_);
  uint64_t largest = 0;
  const auto count = [&](const ForeignKeyIndex::OfTable& keys) {
    for (const auto& [place, key] : keys) {
      if (!key->record.is_constraint()) continue;
      largest = std::max(largest, GeneratedNumber(names_, key->record.name, child));
    }
  };
  count(index_->OfChild(child));
  // What a copy or a table that was put aside may bring to the name.
  for (const auto& [place, key] : index_->OfParent(child)) {
    if (IsClaim(key->record.state)) count(index_->OfChild(key->record.child));
  }
  return largest;
}

std::vector<std::string> ForeignKeys::PutAsideFrom(std::string_view table) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> tables;
  for (const auto& [place, key] : index_->OfParent(table)) {
    if (key->record.state == ForeignKeyState::kPutAside) tables.push_back(key->record.child);
  }
  return tables;
}

}  // namespace cairn
