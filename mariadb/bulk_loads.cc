#include "mariadb/bulk_loads.h"

#include <utility>

#include "mariadb/engine.h"
#include "mariadb/server_headers.h"
#include "mariadb/variables.h"

namespace cairn {
namespace {

// Names of the dictionary end in "#P#partition" and "#SP#subpartition".
std::string_view WithoutPartition(std::string_view name) {
  return name.substr(0, name.find("#P#"));
}

}  // namespace

void RunningLoads::Add(const std::shared_ptr<BulkLoad>& load) {
  const std::lock_guard guard(mutex_);
  std::erase_if(loads_, [](const std::weak_ptr<BulkLoad>& kept) { return kept.expired(); });
  loads_.push_back(load);
}

Status RunningLoads::FinishOf(std::string_view table) {
  std::vector<std::shared_ptr<BulkLoad>> found;
  {
    const std::lock_guard guard(mutex_);
    for (const std::weak_ptr<BulkLoad>& kept : loads_) {
      auto load = kept.lock();
      if (load == nullptr) continue;
      const std::string_view name = load->table()->definition().name;
      if (name == table || WithoutPartition(name) == table) found.push_back(std::move(load));
    }
  }
  Status first;
  for (const auto& load : found) {
    Status finished = load->Finish();
    if (first.ok()) first = std::move(finished);
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
    // The table was opened anew, or another session made it close: the rows so far are in it.
    CAIRN_RETURN_IF_ERROR(found->second->Finish());
  }
  Engine* const engine = RunningEngine();
  auto load = std::make_shared<BulkLoad>(&engine->database(), &engine->dictionary(), table,
                                         SessionBulkLoadSettings(thd));
  engine->loads().Add(load);
  loads_[name] = load;
  table_count_ = 1;
  return load;
}

Status BulkLoads::Finish() {
  Status first;
  for (const auto& [name, load] : std::exchange(loads_, {})) {
    Status finished = load->Finish();
    if (first.ok()) first = std::move(finished);
  }
  table_.clear();
  table_count_ = 0;
  return first;
}

}  // namespace cairn
