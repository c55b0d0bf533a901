#include "mariadb/bulk_loads.h"

#include <utility>

#include "mariadb/engine.h"
#include "mariadb/error.h"
#include "mariadb/server_headers.h"
#include "mariadb/variables.h"

namespace cairn {
namespace {

// Names of the dictionary end in "#P#partition" and "#SP#subpartition".
std::string_view WithoutPartition(std::string_view name) {
  return name.substr(0, name.find("#P#"));
}

}  // namespace

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
  loads_[name] = load;
  return load;
}

Status BulkLoads::Finish() {
  Status first;
  for (const auto& [name, load] : std::exchange(loads_, {})) {
    Status finished = load->Finish();
    if (first.ok()) first = std::move(finished);
  }
  table_.clear();
  return first;
}

int ReportBulkLoadError(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOutOfOrder:
      my_printf_error(ER_KEYS_OUT_OF_ORDER,
                      "Rows must be inserted in primary key order during bulk load operation",
                      MYF(0));
      break;
    case StatusCode::kOverlap:
      my_printf_error(ER_OVERLAPPING_KEYS,
                      "Rows inserted during bulk load must not overlap existing rows", MYF(0));
      break;
    case StatusCode::kDuplicateKey:
      my_printf_error(ER_DUP_ENTRY, "Failed to insert the record: the key already exists", MYF(0));
      break;
    default:
      HandlerError(status);  // Logs damage.
      my_printf_error(ER_UNKNOWN_ERROR, "bulk load error: %s", MYF(0), status.ToString().c_str());
  }
  return kErrorBulkLoad;
}

}  // namespace cairn
