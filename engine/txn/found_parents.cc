#include "engine/txn/found_parents.h"

#include <algorithm>
#include <functional>

namespace cairn {

bool FoundParents::Entry::Holds(uint32_t of, std::string_view wanted) const {
  return number == of && std::string_view(value.data(), bytes) == wanted;
}

size_t FoundParents::PlaceOf(uint32_t number, std::string_view value) {
  return (std::hash<std::string_view>()(value) + number) % kEntries;
}

bool FoundParents::Has(uint32_t number, std::string_view value, uint64_t generation) const {
  if (entries_ == nullptr || generation != generation_) return false;
  const Entry& entry = (*entries_)[PlaceOf(number, value)];
  return entry.round == round_ && entry.Holds(number, value);
}

void FoundParents::Add(uint32_t number, std::string_view value, uint64_t generation) {
  if (value.size() > Entry::kMostBytes) return;
  if (generation != generation_) Forget();
  generation_ = generation;
  if (entries_ == nullptr) entries_ = std::make_unique<Entries>();
  Entry& entry = (*entries_)[PlaceOf(number, value)];
  entry.round = round_;
  entry.number = number;
  entry.bytes = static_cast<uint8_t>(value.size());
  std::copy(value.begin(), value.end(), entry.value.begin());
}

void FoundParents::NoteWritten(uint32_t index_number) {
  if (!HasWritten(index_number)) written_.push_back(index_number);
}

bool FoundParents::HasWritten(uint32_t index_number) const {
  return std::find(written_.begin(), written_.end(), index_number) != written_.end();
}

}  // namespace cairn
