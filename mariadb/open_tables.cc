#include "mariadb/open_tables.h"

#include <algorithm>
#include <utility>

namespace cairn {

std::shared_ptr<OpenTable> OpenTables::Add(std::string dictionary_name) {
  auto table = std::make_shared<OpenTable>(std::move(dictionary_name));
  std::lock_guard lock(mutex_);
  // Closed tables are taken out when they may be half of all.
  if (tables_.size() >= 2 * cleared_at_ + 16) {
    std::erase_if(tables_, [](const std::weak_ptr<OpenTable>& each) { return each.expired(); });
    cleared_at_ = tables_.size();
  }
  tables_.push_back(table);
  return table;
}

std::vector<std::shared_ptr<const OpenTable>> OpenTables::List() const {
  std::vector<std::shared_ptr<const OpenTable>> open;
  {
    std::lock_guard lock(mutex_);
    for (const std::weak_ptr<OpenTable>& each : tables_) {
      if (std::shared_ptr<const OpenTable> table = each.lock()) open.push_back(std::move(table));
    }
  }
  std::sort(open.begin(), open.end(),
            [](const auto& a, const auto& b) { return a->name < b->name; });
  return open;
}

}  // namespace cairn
