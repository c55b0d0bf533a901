#include "mariadb/bulk_loads.h"

#include <utility>

#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "mariadb/session.h"
#include "mariadb/variables.h"

namespace cairn {
namespace {

// Names of the dictionary end in "#P#partition" and "#SP#subpartition".
std::string_view WithoutPartition(std::string_view name) {
  return name.substr(0, name.find("#P#"));
}

}  // namespace

void RunningLoads::Add(const std::shared_ptr<BulkLoad>& load, const BulkLoads* owner) {
  const std::lock_guard guard(mutex_);
  std::erase_if(entries_, [](const Entry& entry) { return entry.load.expired(); });
  entries_.push_back({load, owner});
}

Status RunningLoads::FinishOf(std::string_view table, const BulkLoads& asking) {
  std::vector<std::pair<std::shared_ptr<BulkLoad>, const BulkLoads*>> all;
  {
    const std::lock_guard guard(mutex_);
    for (const Entry& entry : entries_) {
      if (auto load = entry.load.lock()) all.emplace_back(std::move(load), entry.owner);
    }
  }
  Status first;
  for (const auto& [load, owner] : all) {
    const std::string_view name = load->table()->definition().name;
    if (name != table && WithoutPartition(name) != table) continue;
    Status finished = load->Finish();
    if (owner == &asking && first.ok()) first = std::move(finished);
  }
  return first;
}

Result<std::shared_ptr<BulkLoad>> BulkLoads::For(THD* thd,
                                                 const std::shared_ptr<const Table>& table) {
  const std::string& name = table->definition().name;
  const auto found = loads_.find(name);
  if (found != loads_.end() && found->second->table() == table && !found->second->finished()) {
    return found->second;
  }
  if (WithoutPartition(name) != table_) {
    CAIRN_RETURN_IF_ERROR(Finish());
    table_ = WithoutPartition(name);
  } else if (found != loads_.end()) {
    // The table was opened anew, or another session has finished the load.
    Status before = found->second->Finish();
    if (lost_.ok()) lost_ = std::move(before);
  }
  Engine* const engine = RunningEngine();
  auto load = std::make_shared<BulkLoad>(&engine->database(), &engine->dictionary(), table,
                                         SessionBulkLoadSettings(thd));
  engine->loads().Add(load, this);
  loads_[name] = load;
  table_count_ = 1;
  return load;
}

Status FinishLoadsOf(THD* thd, std::string_view table) {
  return RunningEngine()->loads().FinishOf(table, Session::Of(thd).bulk_loads());
}

Status BulkLoads::Finish() {
  Status first = std::exchange(lost_, Status());
  for (const auto& [name, load] : std::exchange(loads_, {})) {
    Status finished = load->Finish();
    if (first.ok()) first = std::move(finished);
  }
  table_.clear();
  table_count_ = 0;
  return first;
}

}  // namespace cairn
