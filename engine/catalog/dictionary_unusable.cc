// Tables that turn out to be unusable when they are opened.
#include <algorithm>
#include <utility>

#include "engine/catalog/dictionary.h"

namespace cairn {

void Dictionary::LogQuarantine(const std::string& name, const std::string& reason) const {
  database_->log().Write(Severity::kError,
                         "table " + name + " is quarantined: " + reason +
                             ". It cannot be opened until that is repaired; DROP TABLE removes "
                             "it; the other tables are not affected");
}

void Dictionary::NoteUnusable(const std::shared_ptr<const TableDefinition>& table,
                              const std::string& reason) {
  {
    const std::unique_lock lock(map_mutex_);
    UnusableTable& known = unusable_[table->name];
    if (known.table.lock() == table && known.reason == reason) return;  // It was logged.
    known = {table, reason};
  }
  LogQuarantine(table->name, reason);
}

void Dictionary::NoteUsable(const TableDefinition& table) {
  {
    const std::shared_lock lock(map_mutex_);
    if (unusable_.empty()) return;
  }
  const std::unique_lock lock(map_mutex_);
  const auto found = unusable_.find(table.name);
  if (found != unusable_.end()) unusable_.erase(found);
}

// Another definition under the name is another table, or has changed.
std::optional<std::string> Dictionary::WhyUnusable(const TableDefinition& table) const {
  const std::shared_lock lock(map_mutex_);
  const auto found = unusable_.find(table.name);
  if (found == unusable_.end() || found->second.table.lock().get() != &table) return std::nullopt;
  return found->second.reason;
}

size_t Dictionary::UnusableCount() const {
  const std::shared_lock lock(map_mutex_);
  return static_cast<size_t>(
      std::count_if(unusable_.begin(), unusable_.end(), [this](const auto& unusable) {
        const auto found = tables_.find(unusable.first);
        return found != tables_.end() && found->second == unusable.second.table.lock();
      }));
}

}  // namespace cairn
